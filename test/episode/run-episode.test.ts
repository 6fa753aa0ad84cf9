/** One try with a real ledger, real artifacts and a real MCP server; Temporal's part in its own activity environment. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createEpisodeActivities } from '../../activities/episode/activities.js';
import { type EpisodeRunner, runTry } from '../../activities/episode/run-episode.js';
import type { Trajectory } from '../../activities/episode/trajectory.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import type { AttemptsConfig } from '../../core/campaign.js';
import { Fault, UsageError } from '../../core/faults.js';
import { attemptKey } from '../../core/keys.js';
import { type ParityReport, parityNote } from '../../core/parity.js';
import type { Policy } from '../../core/policy.js';
import type { Suite, Task } from '../../core/suite.js';
import { EPISODE_LIMITS, SAMPLING } from '../../temporal.config.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { type Line, script } from './fixtures/scripted.js';
import { shelfTask } from './fixtures/shelf-task.js';

const EVAL = 'eval/shelf';
const PROVEN: ParityReport = {
  ...{ endpoint: 'http://host/v1', way: 'tokenize' as const, probes: 6, tokens: 100 },
  controlLike: [{ text: '</think>', ours: 4, theirs: 1 }],
};
const PUT: Line = { call: [['put', { id: 'a', count: 2 }]] };
const DONE: Line = { say: 'done <DONE>' };
/** As long as keys get: ThinkingBox ids are long. */
const TASK = `shelf_of_a_very_long_case_file_name.py:${'test_put_'.repeat(10)}`;

let database: TestDatabase;
let runner: EpisodeRunner;
let slot = 0;

beforeAll(async () => {
  database = await startTestDatabase();
  const artifacts = createLocalArtifacts(await mkdtemp(join(tmpdir(), 'episodes-')));
  const nobody = createChatModel({
    kind: 'user',
    baseUrl: 'http://127.0.0.1:9/v1',
    model: 'm',
    apiKeyEnv: null,
  });
  runner = {
    ledger: database.ledger,
    artifacts,
    suite: async () => suite(shelfTask()),
    driver: createInlineDriver,
    policy: async () => script([PUT, DONE]),
    people: () => ({ user: nobody, judge: nobody }),
    host: 'h',
    worker: 'w',
  };
  const row = {
    id: EVAL,
    kind: 'eval',
    config: config(),
    fingerprint: 'sha256:f',
    suite: 'shelf',
    suiteDigest: 'sha256:s',
    parent: null,
  } as const;
  await database.ledger.claimCampaign(row);
});
afterAll(() => database.stop());

function suite(task: Task): Suite {
  return {
    name: 'shelf',
    digest: 'sha256:s',
    isolation: 'inline',
    tasks: async () => [task.ref],
    load: async () => task,
    close: async () => {},
  };
}

function config(): AttemptsConfig {
  const common = {
    suite: 'shelf',
    suiteDigest: 'sha256:s',
    tasks: [TASK],
    seed: 1,
    sampling: SAMPLING,
    limits: EPISODE_LIMITS,
  };
  const model = { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const;
  return { ...common, kind: 'eval', model, repeat: 1, maxTries: 3, exhaustedAsFailed: false };
}

async function planned() {
  slot += 1;
  const key = attemptKey(EVAL, TASK, String(slot));
  await database.ledger.planAttempts(EVAL, [
    { key, taskId: TASK, slot: String(slot), domain: 'd', template: 't', seed: '1' },
  ]);
  const input = {
    key,
    taskId: TASK,
    suite: 'shelf',
    tryNumber: 1,
    lastTry: 3,
    seed: '1',
    model: config().model,
  };
  return { ...input, weightVersion: null, sampling: SAMPLING, limits: EPISODE_LIMITS };
}

const options = () => ({ activityAttempt: 1, signal: new AbortController().signal });
const attempt = async (key: string) => (await database.ledger.attempts(EVAL)).find((row) => row.key === key);

describe('a try', () => {
  test.each(['its release fails', 'its start and what should take it back fail'])(
    'a sandbox that may still be there stays open in the ledger, and is told: %s',
    async (how) => {
      const left: string[] = [];
      const inner = createInlineDriver();
      const busy = () => Promise.reject(new Error('busy'));
      const create = async (request: Parameters<typeof inner.create>[0]) => {
        if (how !== 'its release fails') return busy();
        return { ...(await inner.create(request)), release: busy };
      };
      const driver = () => ({ ...inner, create, reap: busy });
      const leftBehind = ({ name }: { readonly name: string }) => left.push(name);
      const input = await planned();
      await runTry({ ...runner, driver, leftBehind, host: 'busy' }, input, options());
      const row = await database.pool.query(
        'SELECT s.name, s.state FROM sandboxes s JOIN tries t ON t.id = s.try_id JOIN attempts a ON a.id = t.attempt_id WHERE a.key = $1',
        [input.key],
      );
      expect(row.rows).toEqual([{ name: left[0], state: expect.stringMatching(/^(intended|created)$/) }]);
    },
  );

  test('clean: outcome, trajectory, sandbox; the same again runs nothing', async () => {
    const input = await planned();
    const summary = await runTry(runner, input, options());
    expect(summary).toMatchObject({ outcome: 'passed', reward: 1, termination: 'done', sampledTokens: 10 });
    expect(JSON.stringify(summary).length).toBeLessThanOrEqual(512);
    const row = await attempt(input.key);
    expect(row).toMatchObject({ state: 'clean', passed: true, tries: 1 });
    const document = JSON.parse(
      new TextDecoder().decode(await runner.artifacts.get(row!.trajectory!)),
    ) as Trajectory;
    expect(document).toMatchObject({
      format: 1,
      key: input.key,
      verdict: { passed: true },
      fault: null,
      effects: { shelf: { a: 2 } },
    });
    expect(document.messages).toHaveLength(5);
    const never = async (): Promise<Policy> => Promise.reject(new Error('asked again'));
    expect(await runTry({ ...runner, policy: never }, input, options())).toMatchObject({
      reused: true,
      outcome: 'passed',
    });
    expect(await database.ledger.openSandboxes('h', [])).toEqual([]);
  });

  test('a fault is data: recorded, not scored, and exhausted only by the last try', async () => {
    const input = await planned();
    const down = {
      ...runner,
      policy: async () => script([PUT, { fail: async () => Promise.reject(new Error('down')) }]),
    };
    const first = await runTry(down, input, options());
    expect(first).toMatchObject({ outcome: 'system_error', fault: 'policy', retry: true });
    expect(first).not.toHaveProperty('reward');
    expect((await attempt(input.key))?.state).toBe('pending');
    await runTry(down, { ...input, tryNumber: 3 }, options());
    expect(await attempt(input.key)).toMatchObject({ state: 'exhausted', reward: null });
  });

  test('what another try cannot help exhausts at once', async () => {
    const input = await planned();
    const gone = {
      ...runner,
      suite: async () => ({
        ...suite(shelfTask()),
        load: async () => Promise.reject(new Fault('suite', 'gone')),
      }),
    };
    expect(await runTry(gone, input, options())).toMatchObject({ fault: 'suite', retry: false });
    expect((await attempt(input.key))?.state).toBe('exhausted');
  });

  test('of two tries that end, the first counts, and both say so', async () => {
    const input = await planned();
    let slow: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      slow = resolve;
    });
    const graded = shelfTask({
      grade: async () => gate.then(() => ({ passed: false, reward: 0, reasons: ['late'], judged: [] })),
    });
    const zombie = runTry({ ...runner, suite: async () => suite(graded) }, input, options());
    expect(await runTry(runner, { ...input, tryNumber: 2 }, options())).toMatchObject({ outcome: 'passed' });
    slow?.();
    expect(await zombie).toMatchObject({ outcome: 'passed', reused: true });
    expect(await attempt(input.key)).toMatchObject({ passed: true });
  });

  test('what another execution of the same try has ended is not told as clean, but run again', async () => {
    const input = await planned();
    let slow: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      slow = resolve;
    });
    let graded: (() => void) | undefined;
    const atGrade = new Promise<void>((resolve) => {
      graded = resolve;
    });
    const task = shelfTask({
      grade: async () => {
        graded?.();
        await gate;
        return { passed: true, reward: 1, reasons: [], judged: [] };
      },
    });
    const mine = runTry({ ...runner, suite: async () => suite(task) }, input, options());
    await atGrade;
    // After a reset of the workflow the old worker still has the try of that number, and is told to stop.
    const stopped = new AbortController();
    stopped.abort(new Error('reset'));
    const old = runTry(runner, input, { ...options(), signal: stopped.signal });
    await expect(old).rejects.toMatchObject({ kind: 'cancelled' });
    slow?.();
    await expect(mine).rejects.toMatchObject({ kind: 'ledger', code: 'conflict', retry: true });
    expect(await attempt(input.key)).toMatchObject({ state: 'pending', reward: null });
    expect(await runTry(runner, input, { ...options(), activityAttempt: 2 })).toMatchObject({
      outcome: 'passed',
    });
    expect(await attempt(input.key)).toMatchObject({ state: 'clean', passed: true });
  });

  test('an artifact store that fails scores nothing', async () => {
    const input = await planned();
    const full = {
      ...runner.artifacts,
      put: async () => Promise.reject(new Fault('artifacts', 'disk full', { retry: false })),
    };
    await expect(runTry({ ...runner, artifacts: full }, input, options())).rejects.toMatchObject({
      kind: 'artifacts',
    });
    expect((await attempt(input.key))?.state).toBe('pending');
  });
});

describe('the activity', () => {
  const activities = (changes: Partial<EpisodeRunner> = {}) =>
    createEpisodeActivities({
      ...runner,
      ...changes,
      config: async () => config(),
      parity: async () => PROVEN,
    });
  const ref = (at: number) => ({ campaign: EVAL, task: 0, slot: String(at), tryNumber: 1, lastTry: 3 });

  test('runs by reference', async () => {
    await planned();
    const summary = await new MockActivityEnvironment().run(activities().runEpisode, ref(slot));
    expect(summary).toMatchObject({ outcome: 'passed', key: attemptKey(EVAL, TASK, String(slot)) });
  });

  test('proof of parity is short, and a difference is not tried again', async () => {
    const environment = new MockActivityEnvironment();
    const proved = await environment.run(activities().proveParity, EVAL);
    expect(proved).toEqual({ tokens: 100, controlLike: 1 });
    const noted = parityNote((await database.ledger.campaign(EVAL))?.result);
    expect(noted).toMatchObject({ state: 'proven', ...PROVEN });
    const unasked = createEpisodeActivities({
      ...runner,
      config: async () => config(),
      parity: async () => null,
    });
    await environment.run(unasked.proveParity, EVAL);
    expect(parityNote((await database.ledger.campaign(EVAL))?.result)).toMatchObject({ state: 'skipped' });
    const differing = createEpisodeActivities({
      ...runner,
      config: async () => config(),
      parity: async () => {
        throw new UsageError('token parity', 'our tokens', 'theirs');
      },
    });
    await expect(environment.run(differing.proveParity, EVAL)).rejects.toMatchObject({ nonRetryable: true });
  });

  test('a reference to nothing is not retried', async () => {
    const running = new MockActivityEnvironment().run(activities().runEpisode, { ...ref(1), task: 7 });
    await expect(running).rejects.toMatchObject({ nonRetryable: true });
  });

  test.each([
    ['on request', 'CANCELLED', 'CancelledFailure'],
    ['with its worker', 'WORKER_SHUTDOWN', 'ApplicationFailure'],
  ])('is stopped %s: the request in flight ends, nothing is scored', async (_name, reason, failure) => {
    await planned();
    const environment = new MockActivityEnvironment();
    const policy = async (): Promise<Policy> =>
      script([
        {
          fail: () => {
            environment.cancel(reason as 'CANCELLED');
            return new Promise<never>(() => {});
          },
        },
      ]);
    const running = environment.run(activities({ policy }).runEpisode, ref(slot));
    const error: unknown = await running.catch((thrown: unknown) => thrown);
    expect((error as Error).name).toBe(failure);
    if (reason === 'CANCELLED') expect(error).toBeInstanceOf(CancelledFailure);
    expect((await attempt(attemptKey(EVAL, TASK, String(slot))))?.state).toBe('pending');
    expect(await database.ledger.openSandboxes('h', [])).toEqual([]);
  });
});
