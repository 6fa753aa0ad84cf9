/**
 * A worker that is killed with its hands full, and an engine that is stopped, killed or frozen in the middle of a
 * campaign: whole stack, real engine. Every episode ends clean, no fault becomes a score, nothing is left.
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { launch } from '../../../cli/run/launch.js';
import { attemptsConfig } from '../../../cli/run/resolve.js';
import { sweepOnce } from '../../../cli/run/sweep-once.js';
import type { RunFile } from '../../../core/schemas/run-file.js';
import { gone } from '../../../infra/setup/process.mjs';
import { readState } from '../../../infra/stack/info.js';
import { killStack } from '../../../infra/stack/stop.js';
import { createDeskbench } from '../../../suites/deskbench/suite.js';
import { until } from '../../e2e/until.js';
import { LONG } from '../../long.js';
import { discard, killHard, processOf, temporaryHome } from '../../setup/harness.js';
import { type DeskStack, engineWithDesks, startDeskStack } from './desk-stack.js';
import { heldModel } from './held-model.js';
import type { OwnEngine } from './own-engine.js';

const NOTHING = { containers: [], networks: [], volumes: [], folders: [] };
const PLAYED = `SELECT s.name FROM sandboxes s JOIN tries t ON t.id = s.try_id JOIN attempts a ON a.id = t.attempt_id
  WHERE a.campaign = $1 AND s.state = 'created' AND t.state = 'running'`;
/** Shorter than any clock of an episode. */
const FROZEN_MS = 10_000;
/** Above what `until` waits for: its message says what did not happen. */
const LIMIT_MS = 240_000;
vi.setConfig({ testTimeout: LIMIT_MS, hookTimeout: LIMIT_MS });

const home = temporaryHome();
const found = await engineWithDesks(home);
if ('why' in found) process.stderr.write(`tests of faults of a Docker engine are skipped: ${found.why}\n`);

describe.skipIf('why' in found)('faults', () => {
  const { engine } = found as { readonly engine: OwnEngine };
  let stack: DeskStack;

  beforeAll(async () => {
    // However small the machine is: guests of the desks take a tenth of what they may.
    process.env.STEADFAST_SLOTS = '24';
    stack = await startDeskStack(engine.settings, home);
  });
  afterAll(async () => {
    try {
      await stack?.close();
      await discard(home);
    } finally {
      await engine.stop();
    }
  });

  /** Starts so many episodes of different tasks. */
  async function begin(name: string, episodes: number, lanes: number, file: RunFile): Promise<string> {
    const suite = createDeskbench();
    const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').slice(0, episodes);
    const benchmark = { repeat: 1 };
    const ids = tasks.map(({ id }) => id);
    const config = await attemptsConfig('eval', { ...file, benchmark }, suite, ids);
    return (await launch(stack.context, name, config, lanes)).id;
  }
  const running = async (): Promise<string[]> => (await stack.engine.listContainers()).map(({ Id }) => Id);
  /** Names of sandboxes of a campaign whose episodes are being played just now. */
  const played = async (id: string): Promise<readonly string[]> =>
    (await stack.database.query<{ name: string }>(PLAYED, [id])).rows.map(({ name }) => name);
  /** Others may be starting at that moment, or be over. */
  const underWay = (id: string) => until('an open sandbox', async () => (await played(id)).length > 0);
  const done = async (id: string) => {
    const ledger = await stack.context.ledger();
    await until(`end of ${id}`, async () => (await ledger.campaign(id))?.state === 'done');
    return ledger.counts(id);
  };
  /** Until no sandbox is open but those that wait for an episode. */
  const clear = () =>
    until('nothing open', async () => {
      const found = await stack.verify();
      const open = found.intended + found.created;
      return open === found.waiting && found.living === found.waiting && found.problems.length === 0 && found;
    });
  /** Every episode has passed, in the end; else shows what befell the tries. */
  async function allPassed(id: string, planned: number): Promise<void> {
    const { clean, passed, exhausted } = await done(id);
    const tries = await stack.database.query(
      "SELECT fault_code, fault_message, count(*) FROM tries WHERE state = 'system_error' GROUP BY 1, 2",
    );
    const expected = { clean: planned, passed: planned, exhausted: 0 };
    expect({ clean, passed, exhausted }, JSON.stringify(tries.rows, null, 1)).toEqual(expected);
  }
  const slow: RunFile = { model: { kind: 'scripted', errorRate: 0, turnDelayMs: 1_500 } };

  test('kill -9 of a worker with 20 open sandboxes: its successor ends them all', async () => {
    const { model, file } = await held();
    const id = await begin('killed', 20, 20, file);
    await until('20 open sandboxes', async () => model.waiting() === 20);
    const before = await running();
    expect(before.length).toBeGreaterThanOrEqual(20);

    await killHard(processOf(readState(home)!, 'worker-sandbox'));
    await until('the end of all of them', async () => {
      const now = new Set((await stack.engine.listContainers({ all: true })).map(({ Id }) => Id));
      return !before.some((each) => now.has(each));
    });
    model.open();
    expect(await done(id)).toMatchObject({ planned: 20, clean: 20, exhausted: 0 });
    expect((await clear()).reaped).toBeGreaterThanOrEqual(20);
    await model.stop();
  });

  test.skipIf(!LONG).each([
    ['stopped and started again', 'SIGTERM'],
    ['killed and started again', 'SIGKILL'],
  ] as const)('an engine that is %s', async (name, signal) => {
    const id = await begin(name.replaceAll(' ', '-'), 8, 4, slow);
    await underWay(id);
    await engine.down(signal);
    await engine.up();
    await allPassed(id, 8);
    await clear();
  });

  test.skipIf(!LONG)('an engine that hangs', async () => {
    const id = await begin('frozen', 8, 4, slow);
    await underWay(id);
    engine.freeze();
    await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
    engine.thaw();
    await allPassed(id, 8);
    await clear();
  });

  test('a stack that is killed for good: a sweep without its ledger ends what it had open', async () => {
    const { model, file } = await held();
    await begin('left', 4, 4, file);
    await until('open sandboxes', async () => model.waiting() === 4);
    const { supervisor, processes } = readState(home)!;
    killStack({ home });
    await Promise.all([supervisor, ...processes].map((each) => gone(each, 30_000)));
    expect((await stack.left()).containers.length).toBeGreaterThanOrEqual(4);
    // What a killed worker had asked for a moment before is still made by the engine, for the sweep after it.
    await until('the end of all that it had open', async () => {
      const { problems } = await sweepOnce({ home, env: process.env });
      expect(problems).toEqual([]);
      return isDeepStrictEqual(await stack.left(), NOTHING);
    });
    await model.stop();
  });
});

/** A model that answers nobody yet, and a run file whose episodes are over with its first answer. */
async function held() {
  const model = await heldModel();
  const chat = { kind: 'chat', baseUrl: model.baseUrl, model: 'held', apiKeyEnv: null } as const;
  const file: RunFile = { model: { ...chat, stream: false }, limits: { userTurns: 1 } };
  return { model, file };
}
