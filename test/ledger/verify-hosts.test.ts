/** `verify ledger` on GPU hosts: what is in order violates nothing, and each thing that is not is named. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPgJobs } from '../../activities/ledger/jobs.js';
import { createPgServings } from '../../activities/ledger/servings.js';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { VLLM } from '../../temporal.config.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claim, digest, manifest } from './fixtures.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

const RUN = 'train/big';
const EVAL = 'eval/night';
const trainer = {
  ...{ kind: 'verl', restarts: 5, checkpoints: '/c/big' },
  hosts: [
    { name: 'g1', gpus: [0] },
    { name: 'g2', gpus: [0] },
  ],
};
const spec = { weights: { folder: '/m', weightVersion: 'x' }, settings: VLLM, hosts: [] };
const process = (id: string, serving: string, host: string) => ({
  ...{ id, serving, host, port: 1, launch: 'x', log: 'x' },
  expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
});

/** A job on g1 and g2, and weights on g3 that an evaluation needs. */
beforeEach(async () => {
  await db.pool.query('TRUNCATE campaigns, servings, gpu_hosts CASCADE');
  await db.ledger.claimCampaign(claim(RUN, { kind: 'train', tasks: [], trainer }));
  await createPgJobs(db.pool).intendServer(process('job-1', RUN, 'g1'));
  await db.ledger.noteOnCampaign(RUN, { gpuHosts: ['g1', 'g2'], job: { restarts: 5 } });
  const saved = { run: RUN, step: 5, path: '/c/big/global_step_5', manifest: manifest(RUN, 5, digest('b')) };
  await db.ledger.putCheckpoint(saved);
  await db.ledger.claimCampaign(claim(EVAL, { kind: 'eval', tasks: [], repeat: 1 }));
  const servings = createPgServings(db.pool);
  await servings.want('weights', spec, EVAL, new Date(Date.now() + 3_600_000));
  await servings.takeServing('weights', 'g3');
  await servings.intendServer(process('server-1', 'weights', 'g3'));
});

async function broken(damage?: string, campaign?: string): Promise<Record<string, readonly string[]>> {
  if (damage) await db.pool.query(damage);
  const scope = campaign === undefined ? {} : { campaign };
  const { violations } = await verifyLedger({ pool: db.pool, ledger: db.ledger, ...scope });
  return Object.fromEntries(violations.map(({ invariant, keys }) => [invariant, keys]));
}

const LONG_AGO = "now() - interval '1 hour'";

test('what is in order violates nothing, and says how much was looked at', async () => {
  const { violations, checked } = await verifyLedger({ pool: db.pool, ledger: db.ledger });
  expect(violations).toEqual([]);
  expect(checked).toMatchObject({ servings: 3, jobs: 5 });
  const other = await verifyLedger({ pool: db.pool, ledger: db.ledger, campaign: 'train/other' });
  expect(other.checked).toMatchObject({ servings: 0, jobs: 1 });
});

describe('servings and servers', () => {
  test.each([
    [
      'nobody needs it any more, and nobody ended it',
      `DELETE FROM serving_leases; UPDATE servings SET state = 'ready', changed_at = ${LONG_AGO}`,
      'weights: ready, and nobody needs it',
    ],
    [
      'its campaign has ended, and still counts',
      `UPDATE campaigns SET state = 'stopped', ended_at = ${LONG_AGO} WHERE id = '${EVAL}'`,
      `weights: needed by ${EVAL}, which is stopped`,
    ],
    [
      'its serving has failed, and its server was forgotten',
      `UPDATE servings SET state = 'failed', changed_at = ${LONG_AGO}`,
      'server-1 on g3: weights is failed, and its server has not ended',
    ],
    [
      'its serving has moved, and its server was forgotten',
      `UPDATE servings SET host = 'g4', changed_at = ${LONG_AGO}`,
      'server-1 on g3: weights is wanted, elsewhere, and its server has not ended',
    ],
    [
      'nobody keeps a server',
      `UPDATE servers SET expires_at = ${LONG_AGO}`,
      'server-1 on g3: weights is wanted, and its server has not ended',
    ],
  ])('%s', async (_what, damage, key) => {
    expect(await broken(damage)).toEqual({ servings: [key] });
    expect(await broken(undefined, RUN)).toEqual({});
  });

  test('an end that is a moment old is none', async () => {
    expect(await broken("UPDATE servings SET state = 'stopped', changed_at = now()")).toEqual({});
    expect(
      await broken(`UPDATE campaigns SET state = 'done', ended_at = now() WHERE id = '${EVAL}'`),
    ).toEqual({});
  });
});

describe('jobs', () => {
  const another = (id: string, run: string, host: string) =>
    `INSERT INTO jobs (id, run, host, launch, log) VALUES ('${id}', '${run}', '${host}', 'x', 'x')`;

  test.each([
    ['two of a run', another('job-2', RUN, 'g1'), `${RUN}: 2 jobs at once`],
    [
      'started again more often than it may be',
      `UPDATE campaigns SET result = jsonb_set(result, '{job,restarts}', '6') WHERE id = '${RUN}'`,
      `${RUN}: started again 6 times, of 5`,
    ],
    [
      'its run is over',
      `UPDATE campaigns SET state = 'failed', ended_at = ${LONG_AGO} WHERE id = '${RUN}'`,
      `job-1: ${RUN} is failed, and its job has not ended`,
    ],
    [
      'a server on a host of it',
      "UPDATE servers SET host = 'g2'; UPDATE servings SET host = 'g2'",
      `server-1 on g2: a server of weights beside the job of ${RUN}`,
    ],
    [
      'a checkpoint elsewhere',
      "UPDATE checkpoints SET path = '/c/other/global_step_5'",
      `/c/other/global_step_5: recorded for step 5 of ${RUN}`,
    ],
    [
      'a checkpoint of another step',
      "UPDATE checkpoints SET path = '/c/big/global_step_6'",
      `/c/big/global_step_6: recorded for step 5 of ${RUN}`,
    ],
  ])('%s', async (_what, damage, key) => {
    expect(await broken(damage)).toEqual({ jobs: [key] });
    expect(await broken(undefined, EVAL)).toEqual({});
  });

  test('two of one checkpoint folder', async () => {
    const hosts = [{ name: 'g8', gpus: [0] }];
    await db.ledger.claimCampaign(
      claim('train/copy', { kind: 'train', tasks: [], trainer: { ...trainer, hosts } }),
    );
    expect(await broken(another('job-2', 'train/copy', 'g8'))).toEqual({
      jobs: [`/c/big: jobs of ${RUN}, train/copy`],
    });
  });
});
