/**
 * Batches that refer to token records, with the real ledger, artifacts, activities and trainer: they do what batches
 * that hold the tokens do, both may occur in one run, and a record that is lost is named and can come back.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { Configurations } from '../../activities/campaign/deps.js';
import { createTrainingActivities } from '../../activities/campaign/training.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { createTrainerActivities } from '../../activities/trainer/activities.js';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { replayStep } from '../../activities/trainer/replay-step.js';
import type { ArtifactStore } from '../../core/artifacts.js';
import type { BatchFormat } from '../../core/batch.js';
import type { EpisodeTokens } from '../../core/policy.js';
import { decodeMetadata, decodeTensors, encodeTensors, type TensorArray } from '../../core/safetensors.js';
import { encodeTokens } from '../../core/tokens.js';
import type { Trainer } from '../../core/trainer.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claimRun, GROUPS, MEMBERS, type Recorded, sampleStep } from './recorded-steps.js';
import { type RunningTrainer, startTrainer } from './server.js';

const signal = new AbortController().signal;
const LIMIT_MS = 180_000;

let db: TestDatabase;
let server: RunningTrainer;
let trainer: Trainer;
let folder: string;
let artifacts: ArtifactStore;
let training: ReturnType<typeof createTrainingActivities>;
let activities: ReturnType<typeof createTrainerActivities>;
/** Of two steps whose batches hold their tokens. */
let expected: Awaited<ReturnType<typeof reportsOf>>;

beforeAll(async () => {
  [db, server] = await Promise.all([startTestDatabase(), startTrainer()]);
  folder = await mkdtemp(path.join(tmpdir(), 'token records '));
  artifacts = createLocalArtifacts(path.join(folder, 'artifacts'));
  trainer = createTrainerClient({ url: server.url });
  const deps = { ledger: db.ledger, artifacts, reports: folder, suite: async () => createDeskbench() };
  training = createTrainingActivities(deps, new Configurations(db.ledger));
  activities = createTrainerActivities({
    ...{ ledger: db.ledger, artifacts, trainer },
    checkpoints: path.join(folder, 'checkpoints'),
  });
  await train('train/whole', [2, 2]);
  expected = await reportsOf('train/whole');
  expect(expected).toMatchObject([{ skipped: false }, { skipped: false }]);
}, LIMIT_MS);
afterAll(async () => {
  await server.end('SIGTERM');
  await db.stop();
  await rm(folder, { recursive: true });
});

/** As a worker runs it, heartbeats and cancellation included. */
function perform<A extends unknown[], R>(activity: (...args: A) => Promise<R>, ...args: A): Promise<R> {
  return new MockActivityEnvironment().run(activity, ...args);
}

interface Built {
  readonly episodes: readonly Recorded[];
  readonly batchDigest: string;
}

/** As the workflow does it: what the trainer reads decides how the batch is built. `format`: of a worker from before. */
async function build(
  run: string,
  step: number,
  { format, encode }: { format?: BatchFormat; encode?: (tokens: EpisodeTokens) => Uint8Array } = {},
): Promise<Built> {
  const episodes = await sampleStep({ ledger: db.ledger, artifacts }, training, run, step, encode);
  const { batchFormat } = await perform(activities.readyTrainer, run, step);
  const built = await training.buildBatch(run, step, format ?? batchFormat);
  expect(built.episodes).toBe(GROUPS * MEMBERS);
  return { episodes, batchDigest: built.batchDigest };
}

/** The first step of a run, with records that no other run has: one of them will be lost. */
function buildApart(run: string, format?: BatchFormat): Promise<Built> {
  const encode = (tokens: EpisodeTokens) =>
    encodeTensors({
      tensors: decodeTensors(encodeTokens(tokens)).tensors,
      metadata: { format: '2', run },
    });
  return build(run, 1, { encode, ...(format ? { format } : {}) });
}

async function update(run: string, number: number, batchDigest: string) {
  await perform(activities.applyUpdate, run, number, batchDigest);
  await perform(activities.publish, run, number);
  await perform(activities.checkSampler, run, number);
  await training.finishStep(run, number, {
    sampling: 0,
    batch: 0,
    update: 0,
    publish: 0,
    verify: 0,
    checkpoint: 0,
  });
}

const reportsOf = async (run: string) =>
  (await db.ledger.operations(run)).map(({ report }) => {
    const { op: _op, batchDigest: _batch, seconds: _seconds, ...figures } = report!;
    return figures;
  });

/** A step each. */
async function train(run: string, formats: readonly (BatchFormat | undefined)[]): Promise<void> {
  await claimRun(db.ledger, run);
  for (const [index, format] of formats.entries()) {
    const { batchDigest } = await build(run, index + 1, format ? { format } : {});
    expect(await formatOf(batchDigest)).toBe(String(format ?? 3));
    await update(run, index + 1, batchDigest);
  }
}

/** A trainer that holds nothing of the run. */
const loseSession = () => trainer.open('train/somebody-else', undefined, signal);

const formatOf = async (digest: string) => decodeMetadata(await artifacts.get(digest)).format;

async function replayed(run: string, number: number) {
  const { config } = (await db.ledger.campaign(run))!;
  const row = (await db.ledger.steps(run)).find((each) => each.step === number)!;
  const operation = (await db.ledger.operations(run)).find((each) => each.step === number)!;
  const scratch = path.join(folder, 'scratch');
  return replayStep(
    { ledger: db.ledger, artifacts, trainer, config: config as never, scratch, refuseLost: true },
    row,
    operation,
    signal,
  );
}

test(
  'the same episodes give the same reports and weights, by reference or not, and a run may have both',
  async () => {
    const formats: Record<string, (BatchFormat | undefined)[]> = {
      'train/referred': [undefined, undefined],
      'train/upgraded': [2, undefined],
      'train/went-back': [3, 2],
    };
    for (const [run, asked] of Object.entries(formats)) await train(run, asked);
    for (const run of Object.keys(formats)) {
      expect([run, await reportsOf(run)]).toEqual([run, expected]);
      // Brought back from nothing by its recorded batches.
      await loseSession();
      const { weightVersion } = await perform(activities.readyTrainer, run, 3);
      expect(weightVersion).toBe(expected[1]!.weightDigest);
      for (const number of [1, 2]) expect(await replayed(run, number)).toMatchObject({ identical: true });
    }
    const { violations, checked } = await verifyLedger({ pool: db.pool, ledger: db.ledger, artifacts });
    expect(violations).toEqual([]);
    expect(checked.batches).toBe(8);
  },
  LIMIT_MS,
);

test(
  'records of the first format are used as they are',
  async () => {
    await claimRun(db.ledger, 'train/old-records');
    const { batchDigest } = await build('train/old-records', 1, { encode: firstFormat });
    expect(await formatOf(batchDigest)).toBe('3');
    await update('train/old-records', 1, batchDigest);
    expect(await reportsOf('train/old-records')).toEqual(expected.slice(0, 1));
  },
  LIMIT_MS,
);

test(
  'a record that is lost before the update changes nothing, is named, and the same update goes on when it is back',
  async () => {
    const run = 'train/lost-before';
    await claimRun(db.ledger, run);
    const { batchDigest, episodes } = await buildApart(run);
    const { key, record } = episodes[5]!;
    const file = artifacts.path(record);
    const bytes = await readFile(file);
    const before = await trainer.state(signal);
    for (const [code, lose] of [
      ['missing', () => rm(file)],
      ['corrupt', () => writeFile(file, bytes.subarray(1))],
      ['corrupt', () => writeFile(file, '')],
    ] as const) {
      await lose();
      const refused = perform(activities.applyUpdate, run, 1, batchDigest);
      await expect(refused).rejects.toMatchObject({ type: `artifacts:${code}`, nonRetryable: true });
      for (const said of [key, record, file, 'Put the file back', 'skip a step']) {
        await expect(refused).rejects.toThrow(said);
      }
      expect(await trainer.state(signal)).toEqual(before);
      expect((await db.ledger.operations(run)).map(({ state }) => state)).toEqual(['failed']);
      // Who builds the batch, or checks the sampler with it, meets the same.
      await expect(training.buildBatch(run, 1, 3)).rejects.toThrow(key);
      await writeFile(file, bytes);
    }
    await update(run, 1, batchDigest);
    expect(await reportsOf(run)).toEqual(expected.slice(0, 1));
  },
  LIMIT_MS,
);

test(
  'a record that is lost later is missed where its batch is applied again, unless the batch holds the tokens',
  async () => {
    const wrong: string[] = [];
    for (const [run, format] of [
      ['train/lost-referred', 3],
      ['train/lost-whole', 2],
    ] as const) {
      await claimRun(db.ledger, run);
      const { batchDigest, episodes } = await buildApart(run, format);
      await update(run, 1, batchDigest);
      await loseSession();
      const { key, record } = episodes[2]!;
      const bytes = await readFile(artifacts.path(record));
      await writeFile(artifacts.path(record), bytes.toReversed());
      const again = perform(activities.readyTrainer, run, 2);
      if (format === 2) await again;
      else {
        await expect(again).rejects.toMatchObject({ type: 'artifacts:corrupt', nonRetryable: true });
        await expect(again).rejects.toThrow(key);
      }
      const { violations } = await verifyLedger({
        ...{ pool: db.pool, ledger: db.ledger, artifacts },
        campaign: run,
      });
      wrong.push(...violations.flatMap(({ invariant, keys }) => keys.map((name) => `${invariant} ${name}`)));
      await writeFile(artifacts.path(record), bytes);
      const { weightVersion } = await perform(activities.readyTrainer, run, 2);
      expect(weightVersion).toBe(expected[0]!.weightDigest);
      expect(wrong.filter((name) => name.startsWith('trajectories') && name.includes(key))).toHaveLength(1);
      const named = wrong.filter((name) => name.startsWith('batches') && name.includes(key));
      expect(named).toHaveLength(format === 3 ? 1 : 0);
    }
  },
  LIMIT_MS,
);

test(
  'an index that is lost is made again from its episodes, and one that cannot be says whose record is gone',
  async () => {
    const run = 'train/lost-index';
    await claimRun(db.ledger, run);
    const { batchDigest, episodes } = await buildApart(run);
    await rm(artifacts.path(batchDigest));
    await perform(activities.applyUpdate, run, 1, batchDigest);
    expect(await artifacts.verify(batchDigest)).toBe('ok');
    await loseSession();
    const { key, record } = episodes[0]!;
    await rm(artifacts.path(batchDigest));
    await rm(artifacts.path(record));
    await expect(perform(activities.readyTrainer, run, 2)).rejects.toThrow(
      new RegExp(
        `batch ${batchDigest} .* is missing.*cannot be made again: the token record of episode ${key} cannot be used: .*${record}`,
      ),
    );
  },
  LIMIT_MS,
);

test(
  'a trainer that says nothing of it, and a workflow from before, get batches that hold their tokens',
  async () => {
    const silent = createTrainerActivities({
      ...{ ledger: db.ledger, artifacts, checkpoints: path.join(folder, 'checkpoints') },
      trainer: {
        ...trainer,
        async capabilities(asked) {
          const { batchFormats: _formats, ...rest } = await trainer.capabilities(asked);
          return rest;
        },
      },
    });
    const run = 'train/silent';
    await claimRun(db.ledger, run);
    await sampleStep({ ledger: db.ledger, artifacts }, training, run, 1);
    const { batchFormat } = await perform(silent.readyTrainer, run, 1);
    expect(batchFormat).toBe(2);
    const { batchDigest } = await training.buildBatch(run, 1, batchFormat);
    expect(await formatOf(batchDigest)).toBe('2');
    expect(await training.buildBatch(run, 1)).toMatchObject({ batchDigest });
  },
  LIMIT_MS,
);

function firstFormat({ ids, sampled, logprobs }: EpisodeTokens): Uint8Array {
  const tensors = new Map<string, TensorArray>([
    ['ids', ids],
    ['sampled', sampled],
    ['logprobs', logprobs],
  ]);
  return encodeTensors({ tensors, metadata: { format: '1' } });
}
