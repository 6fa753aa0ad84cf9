/**
 * The real client and activities, the real ledger and trainer, and between them a network that loses, repeats, cuts
 * and delays: every update is applied once, and the ledger says what the trainer says.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createTrainerActivities, type TrainerActivities } from '../../activities/trainer/activities.js';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { encodeBatch } from '../../core/batch.js';
import { stepId } from '../../core/keys.js';
import { UPDATE_PLAN } from '../../temporal.config.js';
import { type FaultProxy, startFaultProxy } from '../faults/proxy.js';
import { claim, stepRow } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { type RunningTrainer, startTrainer } from './server.js';

const signal = new AbortController().signal;
/** The batches' log-probabilities are invented: no trainer would agree with them. */
const PLAN = { ...UPDATE_PLAN, learningRate: 1e-3, mismatch: 'none' as const };

let db: TestDatabase;
let trainer: RunningTrainer;
let folder: string;
let proxy: FaultProxy;
let activities: TrainerActivities;
let direct: TrainerActivities;
let run: string;
let runs = 0;
let batch: string;
/** Weights after one undisturbed update. */
let expected: string;

beforeAll(async () => {
  [db, trainer] = await Promise.all([startTestDatabase(), startTrainer()]);
  folder = await mkdtemp(path.join(tmpdir(), 'trainer faults '));
  direct = activitiesAt(trainer.url);
  await freshRun();
  expected = (await perform(direct.applyUpdate, run, 1, batch)).weightDigest;
});
afterAll(async () => {
  await trainer.end('SIGTERM');
  await db.stop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  proxy = await startFaultProxy(trainer.url, { seed: 3 });
  activities = activitiesAt(proxy.url);
  await freshRun();
});
afterEach(() => proxy.close());

function activitiesAt(url: string): TrainerActivities {
  return createTrainerActivities({
    ledger: db.ledger,
    artifacts: createLocalArtifacts(path.join(folder, 'artifacts')),
    trainer: createTrainerClient({ url }),
    checkpoints: path.join(folder, 'checkpoints'),
  });
}

/** A run of its own whose first step is sampled, in ledger and trainer. */
async function freshRun(): Promise<void> {
  run = `train/faults-${++runs}`;
  await db.ledger.claimCampaign(
    claim(run, { kind: 'train', from: 'base', plan: PLAN, steps: 4, saveEvery: 1 }),
  );
  const episodes = Array.from({ length: 6 }, (_, n) => {
    const length = 20 + n;
    const ids = Int32Array.from({ length }, (_, i) => 260 + ((i * 31 + n * 17) % 190));
    const sampled = Uint8Array.from({ length }, (_, i) => (i > 4 && i % 3 > 0 ? 1 : 0));
    const logprobs = Float32Array.from({ length }, (_, i) => (sampled[i] ? -0.5 : 0));
    return { key: `task · 0.0.${n}`, ids, sampled, logprobs, advantage: n - 2.5 };
  });
  const bytes = encodeBatch({ run: 'train/faults', step: 1, weightVersion: 'sha256:0', episodes });
  batch = await createLocalArtifacts(path.join(folder, 'artifacts')).put(bytes);
  await putStep(1);
}

async function putStep(step: number): Promise<void> {
  await db.ledger.putStep(stepRow(run, step, { state: 'sampled', batchDigest: batch }));
}

/** As a worker runs it, heartbeats and cancellation included. */
function perform<A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> {
  return new MockActivityEnvironment().run(activity, ...args);
}

test('a batch beyond the default bound changes nothing, and its step says why', async () => {
  run = `train/off-policy-${runs}`;
  await db.ledger.claimCampaign(
    claim(run, {
      kind: 'train',
      from: 'base',
      plan: { ...PLAN, mismatch: undefined },
      steps: 4,
      saveEvery: 1,
    }),
  );
  await putStep(1);
  const refused = perform(direct.applyUpdate, run, 1, batch);
  await expect(refused).rejects.toMatchObject({ type: 'trainer:off_policy', nonRetryable: true });
  await expect(refused).rejects.toThrow(/off policy: .* nats a token on average \(bound 0\.001\)/);
  const client = createTrainerClient({ url: trainer.url });
  expect((await client.state(signal)).appliedOps).toEqual([]);
  const [step] = await db.ledger.steps(run);
  expect(step).toMatchObject({ state: 'sampled', weightDigest: null });
  expect(step?.metrics).toMatchObject({ mismatchShare: 1 });
  expect(step?.metrics.mismatchMean).toBeGreaterThan(0.1);
  expect((await db.ledger.operations(run)).map(({ state, plan }) => [state, plan])).toEqual([
    ['failed', { ...UPDATE_PLAN, learningRate: 1e-3, mismatch: { meanAbove: 1e-3, shareAbove: 5e-3 } }],
  ]);
  // The same again is refused again: what was recorded is what was sampled.
  await expect(perform(direct.applyUpdate, run, 1, batch)).rejects.toThrow(/off policy/);
});

test('importance weights that the trainer does not have are refused before anything is sampled', async () => {
  const importance = { kind: 'truncated', cap: 2 };
  run = `train/unsupported-${runs}`;
  await db.ledger.claimCampaign(
    claim(run, { kind: 'train', from: 'base', plan: { ...PLAN, importance }, steps: 4, saveEvery: 1 }),
  );
  const old = createTrainerActivities({
    ...{ ledger: db.ledger, artifacts: createLocalArtifacts(path.join(folder, 'artifacts')) },
    trainer: { ...createTrainerClient({ url: trainer.url }), capabilities: async () => ({ kind: 'old' }) },
    checkpoints: path.join(folder, 'checkpoints'),
  });
  const refused = perform(old.readyTrainer, run, 1);
  await expect(refused).rejects.toMatchObject({ type: 'usage', nonRetryable: true });
  await expect(refused).rejects.toThrow(/train\.plan\.importance/);
  await expect(perform(direct.readyTrainer, run, 1)).resolves.toMatchObject({
    weightVersion: expect.stringMatching(/^sha256:/),
  });
});

async function appliedOnce(): Promise<void> {
  const op = `${stepId(run, 1)}/update`;
  const state = await createTrainerClient({ url: trainer.url }).state(signal);
  expect([state.run, state.appliedOps, state.weightDigest]).toEqual([run, [op], expected]);
  expect((await db.ledger.operations(run)).map(({ state, report }) => [state, report?.weightDigest])).toEqual(
    [['done', expected]],
  );
  expect((await db.ledger.steps(run))[0]).toMatchObject({ state: 'updated', weightDigest: expected });
}

test.each([
  ['the reply is lost', [{ fault: 'drop-reply', times: 2 }]],
  ['the reply is cut', [{ fault: 'truncate-reply', times: 2 }]],
  ['the reply is late', [{ fault: 'delay-reply', ms: 200 }]],
  ['the request arrives twice', [{ fault: 'duplicate' }]],
  ['the request arrives late', [{ fault: 'delay-request', ms: 200 }]],
  ['the request never arrives', [{ fault: 'drop-request', times: 2 }]],
  ['the request is cut', [{ fault: 'truncate-request', times: 2 }]],
  ['the connection is reset', [{ fault: 'reset', times: 2 }]],
  [
    'everything happens',
    [
      { fault: 'drop-reply', share: 0.3, times: 2 },
      { fault: 'duplicate', share: 0.4 },
      { fault: 'reset', share: 0.3, times: 2 },
    ],
  ],
] as const)('%s: one update', async (_what, rules) => {
  proxy.plan.set(rules.map((rule) => ({ ...rule, path: '/trainer/update' })));
  const { weightDigest } = await perform(activities.applyUpdate, run, 1, batch);
  expect(weightDigest).toBe(expected);
  expect(proxy.plan.events.length).toBeGreaterThan(0);
  await appliedOnce();
});

test('every call of a step meets faults: the step still ends with one update, published and saved', async () => {
  proxy.plan.set([
    { fault: 'drop-reply', share: 0.2 },
    { fault: 'reset', share: 0.1 },
    { fault: 'truncate-reply', share: 0.1 },
    { fault: 'duplicate', share: 0.3 },
  ]);
  await perform(activities.applyUpdate, run, 1, batch);
  expect(await perform(activities.publish, run, 1)).toEqual({ weightVersion: expected });
  await perform(activities.checkSampler, run, 1);
  await perform(activities.saveCheckpoint, run, 1);
  expect(proxy.plan.events.length).toBeGreaterThan(3);
  await appliedOnce();
  expect((await db.ledger.checkpoints(run))[0]!.manifest.weightDigest).toBe(expected);
});

test('a send that outlives its worker changes nothing when it arrives', async () => {
  proxy.plan.set([{ fault: 'delay-request', path: '/trainer/update', ms: 1_500, times: 1 }]);
  const worker = new MockActivityEnvironment();
  const lost = worker.run(activities.applyUpdate, run, 1, batch);
  lost.catch(() => undefined);
  while (proxy.plan.events.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  worker.cancel();
  await expect(lost).rejects.toThrow();
  await perform(direct.applyUpdate, run, 1, batch);
  await putStep(2);
  const second = await perform(direct.applyUpdate, run, 2, batch);
  // Past its arrival: the late send is the first operation, which is known.
  await new Promise((resolve) => setTimeout(resolve, 1_800));
  const state = await createTrainerClient({ url: trainer.url }).state(signal);
  expect([state.step, state.weightDigest]).toEqual([2, second.weightDigest]);
});

test('a worker that takes over attaches to what was sent: it is not sent again', async () => {
  proxy.plan.set([
    { fault: 'delay-reply', path: '/trainer/update', ms: 60_000, times: 1 },
    { fault: 'delay-reply', path: '/trainer/update' },
  ]);
  const worker = new MockActivityEnvironment();
  const lost = worker.run(activities.applyUpdate, run, 1, batch);
  lost.catch(() => undefined);
  const client = createTrainerClient({ url: trainer.url });
  const op = `${stepId(run, 1)}/update`;
  while ((await client.status(run, op, signal)).state !== 'done')
    await new Promise((resolve) => setTimeout(resolve, 20));
  worker.cancel();
  await expect(lost).rejects.toThrow();
  await perform(activities.applyUpdate, run, 1, batch);
  expect(proxy.plan.events).toHaveLength(1);
  await appliedOnce();
});

test('a restore does not hang on the replies of its updates: one that never comes is asked for', async () => {
  await perform(direct.applyUpdate, run, 1, batch);
  await putStep(2);
  // Without a checkpoint: the recorded batch has to be applied again.
  await createTrainerClient({ url: trainer.url }).open('train/other', undefined, signal);
  proxy.plan.set([{ fault: 'drop-reply', path: '/trainer/update' }]);
  expect(await perform(activities.readyTrainer, run, 2)).toMatchObject({ weightVersion: expected });
  expect(proxy.plan.events).toHaveLength(1);
  await appliedOnce();
});

test('a zombie that rolls the session back in the middle of an update is no failure', async () => {
  await perform(direct.applyUpdate, run, 1, batch);
  await putStep(2);
  const reference = await perform(direct.applyUpdate, run, 2, batch);
  // The late save of step 1 brings the trainer back to step 1; the run's next activity brings it forward again.
  await perform(direct.saveCheckpoint, run, 1);
  expect(await perform(direct.publish, run, 2)).toEqual({ weightVersion: reference.weightDigest });
  await putStep(3);
  const [third] = await Promise.allSettled([
    perform(direct.applyUpdate, run, 3, batch),
    perform(direct.saveCheckpoint, run, 1),
  ]);
  // Whoever lost the race may be tried again by Temporal; nothing says "never".
  if (third.status === 'rejected') expect(third.reason).toMatchObject({ nonRetryable: false });
  const settled = await perform(direct.applyUpdate, run, 3, batch);
  const state = await createTrainerClient({ url: trainer.url }).state(signal);
  await perform(direct.publish, run, 3);
  expect(state.appliedOps.length).toBeLessThanOrEqual(3);
  expect((await db.ledger.operations(run)).map(({ report }) => report?.weightDigest)).toEqual([
    expected,
    reference.weightDigest,
    settled.weightDigest,
  ]);
});
