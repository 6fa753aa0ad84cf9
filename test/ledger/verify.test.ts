import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { begin, claim, clean, digest, manifest, member, planned, report, stepRow } from './fixtures.js';

let db: TestDatabase;
let folder: string;
let artifacts: ArtifactStore;
const EVAL = 'eval/v';
const RUN = 'train/v';
const attempts = [0, 1].map((slot) => planned(EVAL, 'a:1', String(slot)));
const [first, second] = attempts.map(({ key }) => key) as [string, string];
let batch: Digest;
let trajectory: Digest;
let tokens: Digest;
const [BASE, W1, W2] = [digest('1'), digest('2'), digest('3')];

async function finished(key: string, passed: boolean): Promise<void> {
  const start = begin(key);
  await db.ledger.beginTry(start);
  await db.ledger.sandboxCreated(start.sandbox.name);
  const result = clean(key, passed);
  await db.ledger.finishTry({ ...result, clean: { ...result.clean!, trajectory } });
  await db.ledger.sandboxEnded(start.sandbox.name, 'released');
}

async function step(number: number, base: Digest, weights: Digest): Promise<void> {
  const op = `${RUN}/step-000${number}/update`;
  const members = [0, 1].map((index) => member(RUN, number, [0, 0, index], 'a:1'));
  const keyed = members.map((row) => ({ ...row, key: `${RUN}/step-000${number} · a:1 · ${row.slot}` }));
  await db.ledger.planAttempts(RUN, keyed);
  for (const { key, member: index } of keyed) await finished(key, index === 0);
  const group = { round: 0, group: 0, taskId: 'a:1', state: 'informative', rewards: [1, 0] } as const;
  await db.ledger.putGroup(RUN, number, group);
  await db.ledger.putStep(stepRow(RUN, number, { state: 'sampled', started: 1, batchDigest: batch }));
  await db.ledger.intendOperation({
    op,
    run: RUN,
    step: number,
    baseDigest: base,
    batchDigest: batch,
    plan: {},
  });
  await db.ledger.operationDone(op, report(op, base, batch, weights));
  await db.ledger.putStep({
    ...stepRow(RUN, number, { state: 'done', started: 1 }),
    metrics: { reward: 0.5 },
  });
  const saved = manifest(RUN, number, weights);
  await db.ledger.putCheckpoint({ run: RUN, step: number, path: `/c/${number}`, manifest: saved });
}

beforeAll(async () => {
  db = await startTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'steadfast-verify-'));
  artifacts = createLocalArtifacts(folder);
  tokens = await artifacts.put(Buffer.from('binary'));
  trajectory = await artifacts.put(Buffer.from(JSON.stringify({ format: 1, tokens })));
  batch = await artifacts.put(Buffer.from('a batch'));
  await db.ledger.claimCampaign(claim(EVAL, { tasks: ['a:1'], repeat: 2 }));
  await db.ledger.planAttempts(EVAL, attempts);
  await finished(first, true);
  await finished(second, false);
  await db.ledger.setCampaignState(EVAL, 'done');
  await db.ledger.claimCampaign(claim(RUN, { from: 'base' }));
  await step(1, BASE, W1);
  await step(2, W1, W2);
  // Damage is done past the constraints that make most of it impossible.
  await db.pool.query(`ALTER TABLE tries DROP CONSTRAINT tries_check; DROP INDEX tries_one_clean`);
  await db.pool.query(`CREATE SCHEMA kept; SELECT 1`);
  for (const table of TABLES) await db.pool.query(`CREATE TABLE kept.${table} AS TABLE public.${table}`);
});
const TABLES = [
  'restores',
  'campaigns',
  'attempts',
  'tries',
  'sandboxes',
  'steps',
  'groups',
  'operations',
  'checkpoints',
];

/** Every test damages rows; the rows come back afterwards. */
afterEach(async () => {
  // With what refers to them: tables that this test puts no rows in.
  await db.pool.query(`TRUNCATE ${TABLES.join(', ')} CASCADE`);
  await db.pool.query('ALTER TABLE attempts DISABLE TRIGGER ALL; ALTER TABLE tries DISABLE TRIGGER ALL');
  for (const table of TABLES) {
    await db.pool.query(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM kept.${table}`);
  }
});
afterAll(async () => {
  await db.stop();
  await rm(folder, { recursive: true, force: true });
});

async function broken(damage?: string): Promise<Record<string, readonly string[]>> {
  if (damage) await db.pool.query(damage);
  const { violations } = await verifyLedger({ pool: db.pool, ledger: db.ledger, artifacts });
  return Object.fromEntries(violations.map(({ invariant, keys }) => [invariant, keys]));
}

test('a ledger in order violates nothing, and says how much was looked at', async () => {
  const all = await verifyLedger({ pool: db.pool, ledger: db.ledger, artifacts });
  expect(all.violations).toEqual([]);
  expect(all.checked).toEqual({
    ...{ coverage: 2, unique_keys: 6, clean_once: 6, running_once: 0, trajectories: 6, sandboxes: 6 },
    ...{ steps_in_line: 2, lineage: 2, operations: 2, batches: 2, groups: 2, checkpoints: 2 },
    ...{ servings: 0, jobs: 0 },
  });
  const one = await verifyLedger({ pool: db.pool, ledger: db.ledger, campaign: EVAL });
  expect(one.checked).toMatchObject({ clean_once: 2, trajectories: 0, lineage: 0 });
});

test('attempts: unplanned, counted twice, running twice', async () => {
  expect(await broken(`DELETE FROM attempts WHERE key = '${second}'`)).toMatchObject({ coverage: [EVAL] });
  expect(
    await broken(
      `UPDATE tries SET state = 'superseded' WHERE id = (SELECT clean_try FROM attempts WHERE key = '${first}')`,
    ),
  ).toMatchObject({ clean_once: [first] });
  const copy = `INSERT INTO tries (attempt_id, try_number, activity_attempt, state, worker)
    SELECT id, n, 9, 'running', 'w' FROM attempts, generate_series(8, 9) n WHERE key = '${first}'`;
  expect(await broken(copy)).toMatchObject({ running_once: [first] });
});

test('a reward that was changed on one side only', async () => {
  expect(await broken(`UPDATE attempts SET reward = 0.5 WHERE key = '${first}'`)).toEqual({
    clean_once: [first],
  });
});

test('sandboxes that nobody released in time', async () => {
  const forgotten = `UPDATE sandboxes SET state = 'created', ended_at = NULL, expires_at = now() - interval '1 hour'
    WHERE name = (SELECT min(name) FROM sandboxes)`;
  expect(Object.keys(await broken(forgotten))).toEqual(['sandboxes']);
});

test('weights that do not follow from the step before', async () => {
  expect(await broken(`UPDATE steps SET base_digest = '${BASE}' WHERE step = 2`)).toEqual({
    ...{ lineage: [`${RUN}/step-0002`], operations: [`${RUN}/step-0002`] },
  });
});

test('a step that is missing, one that never ended, and a foreign checkpoint', async () => {
  expect(await broken(`DELETE FROM steps WHERE step = 1`)).toEqual({
    steps_in_line: [`${RUN}/step-0002`],
    lineage: [`${RUN}/step-0002`],
    operations: [`${RUN}/step-0001/update`],
  });
});

test('a step that never ended before another, and a checkpoint with other weights', async () => {
  const damage = `UPDATE steps SET state = 'failed' WHERE step = 1;
    UPDATE checkpoints SET manifest = jsonb_set(manifest, '{weightDigest}', '"${BASE}"') WHERE step = 2`;
  expect(await broken(damage)).toEqual({ steps_in_line: [`${RUN}/step-0001`], checkpoints: ['/c/2'] });
});

test('an update without its operation', async () => {
  expect(await broken(`UPDATE operations SET state = 'sent', report = NULL WHERE step = 2`)).toEqual({
    operations: [`${RUN}/step-0002`],
  });
});

test('a group whose rewards are not those of its attempts', async () => {
  expect(await broken(`UPDATE groups SET rewards = '{1,1}' WHERE step = 2`)).toEqual({
    groups: [`${RUN} step 2 group 0.0 a:1`],
  });
});

test('a group that was never recorded', async () => {
  expect(await broken('DELETE FROM groups WHERE step = 1')).toEqual({
    groups: [`${RUN} step 1: 0 groups recorded, 1 started`],
  });
});

test('artifacts that are missing or damaged', async () => {
  await writeFile(artifacts.path(tokens), 'binarx');
  await rm(artifacts.path(batch));
  const found = await broken();
  expect(found.trajectories).toHaveLength(6);
  expect(found.trajectories?.[0]).toBe(`${first}: its tokens ${tokens} are corrupt`);
  expect(found.batches).toEqual(
    [1, 2].map((number) => `${RUN}/step-000${number}/update: ${batch} is missing`),
  );
});
