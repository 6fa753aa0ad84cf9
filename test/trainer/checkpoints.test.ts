/** Checkpoints on disk: verified without a trainer, passed over with a word when damaged, pruned by rule. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createTrainerActivities, type TrainerActivities } from '../../activities/trainer/activities.js';
import { verifyCheckpoint } from '../../activities/trainer/checkpoint-files.js';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { copyCheckpoint, damages } from '../../activities/trainer/conformance/damage.js';
import { superfluous } from '../../activities/trainer/retention.js';
import { encodeBatch } from '../../core/batch.js';
import type { CheckpointRow, FinishTry } from '../../core/ledger.js';
import { UPDATE_PLAN } from '../../temporal.config.js';
import { inProcess } from '../in-process.js';
import { begin, claim, clean, planned, stepRow } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { withVariables } from '../variables.js';
import { type RunningTrainer, startTrainer } from './server.js';

let db: TestDatabase;
let trainer: RunningTrainer;
let folder: string;
let activities: TrainerActivities;
let run: string;
let runs = 0;

beforeAll(async () => {
  [db, trainer] = await Promise.all([startTestDatabase(), startTrainer()]);
  folder = await mkdtemp(path.join(tmpdir(), 'checkpoints '));
  activities = createTrainerActivities({
    ledger: db.ledger,
    artifacts: createLocalArtifacts(path.join(folder, 'artifacts')),
    trainer: createTrainerClient({ url: trainer.url }),
    checkpoints: path.join(folder, 'checkpoints'),
  });
});
afterAll(async () => {
  await trainer.end('SIGTERM');
  await db.stop();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  run = `train/saved-${++runs}`;
});

/** Steps 1 to `steps`, each updated and saved. */
async function train(steps: number, keep?: { last: number; every: number }): Promise<void> {
  const config = {
    ...{
      kind: 'train',
      from: 'base',
      plan: { ...UPDATE_PLAN, learningRate: 1e-3, mismatch: 'none' },
      steps: 50,
      saveEvery: 1,
    },
    ...(keep ? { keep } : {}),
  };
  await db.ledger.claimCampaign(claim(run, config));
  for (let step = 1; step <= steps; step++) {
    const ids = Int32Array.from({ length: 12 }, (_, i) => 260 + ((i * 7 + step) % 100));
    const sampled = Uint8Array.from({ length: 12 }, (_, i) => (i > 3 ? 1 : 0));
    const logprobs = Float32Array.from({ length: 12 }, (_, i) => (i > 3 ? -1 : 0));
    const episodes = [1, -1].map((advantage) => ({
      key: `k ${advantage}`,
      ids,
      sampled,
      logprobs,
      advantage,
    }));
    const bytes = encodeBatch({ run, step, weightVersion: 'sha256:0', episodes });
    const batchDigest = await createLocalArtifacts(path.join(folder, 'artifacts')).put(bytes);
    await db.ledger.putStep(stepRow(run, step, { state: 'sampled', batchDigest }));
    await perform(activities.applyUpdate, run, step, batchDigest);
    await perform(activities.saveCheckpoint, run, step);
  }
}

function perform<A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> {
  return new MockActivityEnvironment().run(activity, ...args);
}

async function rows(): Promise<readonly CheckpointRow[]> {
  return db.ledger.checkpoints(run);
}

/** Steps whose files are there, and that the ledger says are. */
async function present(): Promise<number[]> {
  const kept = (await rows()).filter(({ pruned }) => !pruned);
  expect((await rows()).map((row) => existsSync(row.path))).toEqual(
    (await rows()).map(({ pruned }) => !pruned),
  );
  return kept.map(({ step }) => step).toSorted((a, b) => a - b);
}

test('an intact checkpoint verifies without a trainer; every kind of damage is found and named', async () => {
  await train(2);
  const [newest, older] = await rows();
  expect(await verifyCheckpoint(newest!.path, newest!.manifest)).toMatchObject({ problems: [], notes: [] });
  for (const { what, spoil } of damages(newest!.manifest, older!.path)) {
    const dir = path.join(folder, 'spoilt');
    await copyCheckpoint(newest!.path, dir);
    await spoil(dir);
    const { problems } = await verifyCheckpoint(dir, newest!.manifest);
    expect([what, problems.length > 0, problems.every((line) => line.startsWith(dir))]).toEqual([
      what,
      true,
      true,
    ]);
    await rm(dir, { recursive: true });
  }
  const extra = path.join(folder, 'extra');
  await copyCheckpoint(newest!.path, extra);
  await writeFile(path.join(extra, 'stranger'), 'x');
  expect((await verifyCheckpoint(extra)).problems).toEqual([
    `${path.join(extra, 'stranger')}: expected nothing, found a file that is not in the manifest`,
  ]);
  await writeFile(path.join(extra, 'manifest.json'), '{"format": 3, "files": [{"name": "../x"}]}');
  expect((await verifyCheckpoint(extra)).problems).toContainEqual(
    expect.stringContaining('format: expected 1, found 3'),
  );
  expect((await verifyCheckpoint('/nowhere')).problems).toHaveLength(1);
});

test('a restore says which newer checkpoints it passed over, and why', async () => {
  await train(3);
  const [third, second] = await rows();
  await truncate(path.join(third!.path, 'optimizer.safetensors'), 100);
  await rm(path.join(second!.path, 'manifest.json'));
  // Another session took the trainer: the run's weights are gone.
  await createTrainerClient({ url: trainer.url }).open(
    'train/other',
    undefined,
    new AbortController().signal,
  );
  const { weightVersion } = await perform(activities.readyTrainer, run, 4);
  expect(weightVersion).toBe(third!.manifest.weightDigest);
  const [restore, ...more] = await db.ledger.restores(run);
  expect(more).toEqual([]);
  expect(restore).toMatchObject({ wanted: 3, opened: 1 });
  expect(restore!.passedOver).toEqual([
    { step: 3, reason: expect.stringContaining(path.join(third!.path, 'optimizer.safetensors')) as string },
    { step: 2, reason: expect.stringContaining(path.join(second!.path, 'manifest.json')) as string },
  ]);
});

test('retention keeps the newest, every n-th and the last configured step; the ledger forgets nothing', async () => {
  await train(7, { last: 2, every: 3 });
  expect(await present()).toEqual([3, 6, 7]);
  const pruned = (await rows()).filter((row) => row.pruned);
  expect(pruned.map(({ step }) => step)).toEqual([5, 4, 2, 1]);
  expect(pruned[0]!.pruned!.rule).toBe('keeps the last 2 and steps divisible by 3');
  expect(pruned[0]!.manifest.step).toBe(5);
  await db.ledger.claimCampaign(
    claim(`eval/saved-${runs}`, { kind: 'eval', model: { kind: 'trainer', checkpoint: { run, step: 5 } } }),
  );
  await expect(perform(activities.serveModel, `eval/saved-${runs}`)).rejects.toThrow(
    /the checkpoint of step 5 was pruned at .*: keeps the last 2 and steps divisible by 3/,
  );
  await perform(activities.saveCheckpoint, run, 7);
  expect(await present()).toEqual([3, 6, 7]);
});

test('a checkpoint that an unfinished campaign uses stays until that ends', async () => {
  await train(1, { last: 1, every: 0 });
  const evaluation = `eval/uses-${runs}`;
  const model = { kind: 'trainer', checkpoint: { run, step: 1 } };
  await db.ledger.claimCampaign(claim(evaluation, { kind: 'eval', model }));
  await train(3, { last: 1, every: 0 });
  expect(await present()).toEqual([1, 3]);
  await db.ledger.setCampaignState(evaluation, 'failed');
  await perform(activities.saveCheckpoint, run, 3);
  expect(await present()).toEqual([1, 3]);
  await db.ledger.setCampaignState(evaluation, 'done');
  const fork = `train/fork-${runs}`;
  await db.ledger.claimCampaign(claim(fork, { kind: 'train', from: { run, step: 1 } }));
  await perform(activities.saveCheckpoint, run, 3);
  expect(await present()).toEqual([1, 3]);
  await db.ledger.setCampaignState(fork, 'done');
  await perform(activities.saveCheckpoint, run, 3);
  expect(await present()).toEqual([3]);
});

test('an evaluation of the latest checkpoint stays with what was latest when it began', async () => {
  await train(2, { last: 1, every: 0 });
  const evaluation = `eval/latest-${runs}`;
  const model = { kind: 'trainer', checkpoint: { run, step: 'latest' } };
  await db.ledger.claimCampaign(claim(evaluation, { kind: 'eval', model }));
  const served = await perform(activities.serveModel, evaluation);
  await train(4, { last: 1, every: 0 });
  expect(await present()).toEqual([2, 4]);
  expect(await perform(activities.serveModel, evaluation)).toEqual(served);
  expect((await db.ledger.campaign(evaluation))!.result).toMatchObject({ checkpoint: { run, step: 2 } });

  // Without the note, what was sampled says it.
  const other = `eval/sampled-${runs}`;
  await db.ledger.claimCampaign(claim(other, { kind: 'eval', model }));
  await db.ledger.planAttempts(other, [planned(other, 'a:1', '0')]);
  const key = `${other} · a:1 · 0`;
  await db.ledger.beginTry(begin(key));
  const end = clean(key);
  const { weightVersion } = served;
  await db.ledger.finishTry({
    ...end,
    clean: { ...end.clean, weightVersion } as NonNullable<FinishTry['clean']>,
  });
  expect(await perform(activities.serveModel, other)).toEqual(served);
});

test('a campaign that began with one base is not continued with another', async () => {
  const evaluation = `eval/base-${runs}`;
  const model = { kind: 'trainer', checkpoint: 'base' };
  await db.ledger.claimCampaign(claim(evaluation, { kind: 'eval', model }));
  const served = await perform(activities.serveModel, evaluation);
  expect(await perform(activities.serveModel, evaluation)).toEqual(served);
  const earlier = `sha256:${'0'.repeat(64)}`;
  await db.ledger.noteOnCampaign(evaluation, { base: earlier });
  await expect(perform(activities.serveModel, evaluation)).rejects.toMatchObject({
    message: expect.stringMatching(`base ${earlier}.*${served.weightVersion}`) as string,
    nonRetryable: true,
  });
});

test('nothing is pruned while no checkpoint that would stay verifies', async () => {
  await train(3, { last: 0, every: 0 });
  const { pruneOld } = await import('../../activities/trainer/retention.js');
  const deps = { ledger: db.ledger, folder: path.join(folder, 'checkpoints') };
  const newest = (await rows())[0]!;
  await truncate(path.join(newest.path, 'model.safetensors'), 10);
  expect(await pruneOld(deps, run, { keep: { last: 1, every: 0 }, steps: 50 })).toEqual([]);
  expect(await present()).toEqual([1, 2, 3]);
  expect(await pruneOld(deps, run, { keep: { last: 2, every: 0 }, steps: 50 })).toEqual([1]);
  expect(
    await pruneOld({ ...deps, folder: '/elsewhere' }, run, { keep: { last: 2, every: 0 }, steps: 50 }),
  ).toEqual([1]);
});

test('whatever the rule, the newest and the configured last step stay', () => {
  const steps = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 });
  const keep = fc.record({ last: fc.integer({ min: 0, max: 5 }), every: fc.integer({ min: 0, max: 7 }) });
  fc.assert(
    fc.property(steps, keep, fc.integer({ min: 1, max: 60 }), (saved, rule, lastStep) => {
      const gone = new Set(superfluous(saved, rule, lastStep));
      expect(gone.has(Math.max(...saved)) || gone.has(lastStep)).toBe(false);
      expect(saved.length - gone.size).toBeGreaterThanOrEqual(
        Math.min(saved.length, rule.last || saved.length),
      );
      for (const step of gone) expect(rule.every > 0 && step % rule.every === 0).toBe(false);
    }),
  );
});

test('the command: exit 0 and 1, pruned ones told, unknown steps named', async () => {
  await train(4, { last: 2, every: 0 });
  const command = (...args: string[]) =>
    withVariables({ DATABASE_URL: db.url, TEMPORAL_ADDRESS: '127.0.0.1:9' }, () =>
      inProcess('verify', 'checkpoint', ...args),
    );
  const all = await command('--run', run);
  expect(all.code).toBe(0);
  expect(all.out).toMatch(/step 4.*step 3.*step 2.*pruned at .*keeps the last 2/s);
  const newest = (await rows())[0]!;
  await truncate(path.join(newest.path, 'session.json'), 3);
  const fourth = await command('--run', run, '--step', '4', '--json');
  expect(fourth.code).toBe(1);
  const { checkpoints } = JSON.parse(fourth.out) as { checkpoints: { problems: string[] }[] };
  expect(checkpoints.map(({ problems }) => problems)).toEqual([
    [expect.stringMatching(/session\.json: expected \d+ bytes, found 3/)],
  ]);
  expect((await command('--path', newest.path)).code).toBe(1);
  const unknown = await command('--run', run, '--step', '9');
  expect(unknown.code).toBe(2);
  expect(unknown.err).toMatch(
    /--step: expected a step of train\/saved-\d+ with a checkpoint: 1, 2, 3, 4, found 9/,
  );
});
