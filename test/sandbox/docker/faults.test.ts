/**
 * A worker that is killed with its hands full, and an engine that is stopped, killed or frozen in the middle of a
 * campaign: whole stack, real engine. Every episode ends clean, no fault becomes a score, nothing is left.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from '../../../cli/run/launch.js';
import { attemptsConfig } from '../../../cli/run/resolve.js';
import type { RunFile } from '../../../core/schemas/run-file.js';
import { readState } from '../../../infra/stack/info.js';
import { stopStack } from '../../../infra/stack/stop.js';
import { createDeskbench } from '../../../suites/deskbench/suite.js';
import { until } from '../../e2e/until.js';
import { discard, killHard, processOf, temporaryHome } from '../../setup/harness.js';
import { type DeskStack, engineWithDesks, startDeskStack } from './desk-stack.js';
import { heldModel } from './held-model.js';
import type { OwnEngine } from './own-engine.js';

const NOTHING = { containers: [], networks: [], volumes: [], folders: [] };
/** Shorter than any clock of an episode. */
const FROZEN_MS = 10_000;
/** Above what `until` waits for: its message says what did not happen. */
const LIMIT_MS = 240_000;

const home = temporaryHome();
const found = await engineWithDesks(home);
if ('why' in found) process.stderr.write(`tests of faults of a Docker engine are skipped: ${found.why}\n`);

describe.skipIf('why' in found)('faults', () => {
  const { engine } = found as { readonly engine: OwnEngine };
  let stack: DeskStack;

  beforeAll(async () => {
    stack = await startDeskStack(engine.settings, home);
  }, 200_000);
  afterAll(async () => {
    try {
      await stack?.close();
      await discard(home);
    } finally {
      await engine.stop();
    }
  }, LIMIT_MS);

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
  /** Whether so many episodes have begun to talk with their servers. */
  const opened = async (count: number): Promise<boolean> => {
    const { created, waiting } = await stack.verify();
    return created - waiting >= count;
  };
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

  test(
    'kill -9 of a worker with 20 open sandboxes: its successor ends them all',
    async () => {
      const model = await heldModel();
      const chat = { kind: 'chat', baseUrl: model.baseUrl, model: 'held', apiKeyEnv: null } as const;
      const file: RunFile = { model: { ...chat, stream: false }, limits: { userTurns: 1 } };
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
      expect(await done(id)).toMatchObject({ planned: 20, clean: 20, exhausted: 0, faults: {} });
      expect((await clear()).reaped).toBeGreaterThanOrEqual(20);
      await model.stop();
    },
    LIMIT_MS,
  );

  test.each([
    ['stopped and started again', 'SIGTERM'],
    ['killed and started again', 'SIGKILL'],
  ] as const)(
    'an engine that is %s',
    async (name, signal) => {
      const id = await begin(name.replaceAll(' ', '-'), 8, 4, slow);
      await until('open sandboxes', () => opened(4));
      await engine.down(signal);
      await engine.up();
      await allPassed(id, 8);
      await clear();
    },
    LIMIT_MS,
  );

  test(
    'an engine that hangs',
    async () => {
      const id = await begin('frozen', 8, 4, slow);
      await until('open sandboxes', () => opened(4));
      engine.freeze();
      await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
      engine.thaw();
      await allPassed(id, 8);
      await clear();
    },
    LIMIT_MS,
  );

  test(
    'a stack that is stopped leaves nothing',
    async () => {
      await stopStack({ home });
      expect(await stack.left()).toEqual(NOTHING);
    },
    LIMIT_MS,
  );
});
