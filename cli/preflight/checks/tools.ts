/** The tool servers really answer a session: a backend is made, set to a task's start state, and given back. */
import { randomBytes } from 'node:crypto';
import { Fault, UsageError } from '../../../core/faults.js';
import { asFinding, skipped, unless } from '../../../core/preflight.js';
import { hostName } from '../../../infra/host-name.js';
import { homeFolder } from '../../../infra/setup/root.mjs';
import { sandboxDrivers } from '../../../workers/drivers.js';
import { isolationOf } from '../../../workers/environment.js';
import type { Asked, Check } from '../asked.js';

const SESSION_MS = 120_000;
const FIX = 'Run one by itself to see more: steadfast suite check, or docs/thinkingbox.md.';

export const tools: Check = {
  name: 'tool servers',
  async run(asked) {
    const known = new Set((await asked.suite.tasks()).map(({ id }) => id));
    const task = asked.config.tasks.find((id) => known.has(id));
    if (task === undefined) return skipped('no task of the pool is known to the suite');
    try {
      const { count, isolation } = await session(asked, task);
      return unless([], `${count} tools in a session of ${task} (${isolation})`);
    } catch (error) {
      if (error instanceof UsageError) return unless([asFinding(error, FIX)], '');
      if (!(error instanceof Fault)) throw error;
      const place = `tool servers of ${asked.suite.name}`;
      const found = error.message.split('\n')[0]!.slice(0, 300);
      return unless([{ place, expected: `a session of ${task}`, found, fix: FIX }], '');
    }
  },
};

async function session({ suite, env, signal }: Asked, id: string) {
  const task = await suite.load(id);
  const driver = sandboxDrivers(homeFolder(), isolationOf(env.STEADFAST_ISOLATION))(suite.isolation);
  const sandbox = await driver.create({
    name: `preflight-${randomBytes(6).toString('hex')}`,
    servers: task.servers,
    signal,
    // Should this process be killed in the middle, whoever sweeps the host ends what is left.
    expiresAt: new Date(Date.now() + SESSION_MS).toISOString(),
    labels: { worker: `${hostName(env)}:${process.pid}` },
  });
  try {
    await task.init(sandbox.tools, signal);
    const visible = await task.visibleTools(sandbox.tools, signal);
    await task.effects(sandbox.tools, signal);
    return { count: visible.length, isolation: driver.isolation };
  } finally {
    await task.end?.(sandbox.tools, signal).catch(() => undefined);
    await sandbox.release();
  }
}
