/**
 * Workers that are killed with their hands full: the supervisor has seen them die, so what they held runs again at
 * once, and nothing waits for heartbeats that will not come.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import { gone } from '../../infra/setup/process.mjs';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { killStack } from '../../infra/stack/stop.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { LONG } from '../long.js';
import { discard, killHard, processOf, temporaryHome } from '../setup/harness.js';
import { until } from './until.js';

const LANES = 4;
let home = '';
let context: StackContext;

beforeAll(async () => {
  home = temporaryHome();
  context = openStack(await startStack({ home }));
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
});

it.each(LONG ? ['its worker', 'everything'] : ['its worker'])(
  '%s is killed: what was in flight is given back',
  async (victim) => {
    const suite = createDeskbench();
    const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
    const file = { model: { kind: 'scripted', errorRate: 0, turnDelayMs: 1_500 } as const };
    const benchmark = { repeat: 1 };
    const config = await attemptsConfig('eval', { ...file, benchmark }, suite, tasks.slice(0, 8));
    const { id } = await launch(context, victim.replace(' ', '-'), config, LANES);
    const ledger = await context.ledger();
    await until('full lanes', async () => (await ledger.progress(id)).running === LANES);

    if (victim === 'everything') {
      const { supervisor, processes } = readState(home)!;
      await context.close();
      killStack({ home });
      await Promise.all([supervisor, ...processes].map((each) => gone(each, 10_000)));
      context = openStack(await startStack({ home }));
    } else {
      await killHard(processOf(readState(home)!, 'worker-sandbox'));
    }

    const reasons = await until('second executions', async () => {
      const client = await context.temporal();
      const { raw } = await client.workflow.getHandle(`${id}/shard-00`).describe();
      const again = (raw.pendingActivities ?? []).filter(({ attempt }) => (attempt ?? 1) > 1);
      return again.length >= 2 && again.map(({ lastFailure }) => lastFailure);
    });
    for (const reason of reasons) {
      expect(reason?.applicationFailureInfo?.type, JSON.stringify(reason)).toBe('WorkerLost');
      expect(reason?.message).toMatch(/^the worker .+:\d+ was lost$/);
    }
    const after = await context.ledger();
    await until('done', async () => (await after.campaign(id))?.state === 'done');
    expect(await after.counts(id)).toMatchObject({ planned: 8, clean: 8, faults: {} });
  },
);
