/** Who needs which weights, who keeps them, and who is asked next: the ledger's side, without any server. */
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createPgGpuHosts } from '../../activities/ledger/gpu-hosts.js';
import { createPgServings } from '../../activities/ledger/servings.js';
import { createServingControl, servingName } from '../../activities/serving/control.js';
import type { Servings } from '../../core/serving/servings.js';
import { VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { claim, digest, manifest } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

let db: TestDatabase;
let servings: Servings;
let control: ReturnType<typeof createServingControl>;
let run: string;
let campaign: string;
let name: string;
let runs = 0;

beforeAll(async () => {
  db = await startTestDatabase();
  servings = createPgServings(db.pool);
  control = createServingControl({ ledger: db.ledger, servings, gpuHosts: createPgGpuHosts(db.pool) });
});
afterAll(() => db.stop());
beforeEach(async () => {
  [run, campaign] = [`train/r${++runs}`, `eval/e${runs}`];
  name = servingName({ run, step: 5 }, VLLM);
  await db.ledger.claimCampaign(claim(run, { kind: 'train', tasks: [] }));
  await db.ledger.putCheckpoint({
    run,
    step: 5,
    path: '/c/step-0005',
    manifest: manifest(run, 5, digest('b')),
  });
  const model = { kind: 'served', checkpoint: { run, step: 'latest' }, settings: VLLM, format: 'qwen3_xml' };
  await db.ledger.claimCampaign(claim(campaign, { kind: 'eval', tasks: ['a:1'], repeat: 1, model }));
});

const awaited = () => new MockActivityEnvironment().run(control.awaitServing, campaign);

/** As if nobody had noted anything for so long. */
async function quietFor(interval: string): Promise<void> {
  await db.pool.query(`UPDATE servings SET changed_at = now() - interval '${interval}' WHERE name = $1`, [
    name,
  ]);
}

test('a campaign needs its checkpoint until it says otherwise; latest stays what it was', async () => {
  expect(await control.needServing(campaign)).toEqual({ serving: name });
  const row = (await servings.serving(name))!;
  expect(row).toMatchObject({ state: 'wanted', holders: [campaign] });
  expect(row.spec.weights).toMatchObject({ folder: '/c/step-0005', weightVersion: digest('b') });
  await db.ledger.putCheckpoint({
    run,
    step: 6,
    path: '/c/step-0006',
    manifest: manifest(run, 6, digest('c')),
  });
  expect(await control.needServing(campaign)).toEqual({ serving: name });
  await control.releaseServing(campaign);
  expect((await servings.serving(name))?.holders).toEqual([]);
});

test('ready is what a keeper says from now on', async () => {
  await control.needServing(campaign);
  await servings.takeServing(name, 'h1');
  const ready = { state: 'ready', endpoint: 'http://h1/v1', weightVersion: digest('b') } as const;
  await servings.note(name, ready, 'h1');
  let answer: unknown;
  const waiting = awaited().then((found) => {
    answer = found;
  });
  // A host that is at work on something that is ready says nothing of whether it lives.
  for (let looks = 0; looks < 5; looks++) await servings.atWork(name, 'h1');
  expect(answer).toBeUndefined();
  await until("the keeper's word", async () => {
    await servings.note(name, {}, 'h1');
    return answer !== undefined;
  });
  await waiting;
  expect(answer).toEqual({ weightVersion: digest('b') });
});

test('what nobody works on is to be started again; what has failed fails', async () => {
  await control.needServing(campaign);
  await quietFor('91 seconds');
  expect(await awaited()).toEqual({ idle: true });
  await servings.takeServing(name, 'h1');
  await servings.note(name, { state: 'starting' }, 'h1');
  await quietFor('6 minutes');
  expect(await awaited()).toEqual({ idle: true });
  await control.failServing(name, 'failed', 'no host could');
  await expect(awaited()).rejects.toThrow(`serving ${name} has failed: no host could`);
  await control.needServing(campaign);
  expect((await servings.serving(name))?.state).toBe('wanted');
});

test('a host that a job has is asked last, and who has it is told', async () => {
  const jobs = async () =>
    new Map([
      ['theirs', 'the job of train/x has it'],
      ['another', 'so has y'],
    ]);
  const among = createServingControl({ ledger: db.ledger, servings, gpuHosts: { jobs } });
  await control.needServing(campaign);
  const spec = { ...(await servings.serving(name))!.spec, hosts: ['theirs', 'free'] };
  await servings.want(name, spec, campaign, new Date(Date.now() + 60_000));
  expect(await among.nextHosts(name)).toEqual({
    ...{ closed: false, hosts: ['free', 'theirs'] },
    jobs: { theirs: 'the job of train/x has it' },
  });
});

test('hosts in turn: where it was, those that are free, those that serve something else; none that polls no more', async () => {
  await db.pool.query('DELETE FROM gpu_hosts');
  await control.needServing(campaign);
  expect(await control.nextHosts(name)).toEqual({ closed: false, hosts: [] });
  for (const host of ['gone', 'was', 'free', 'busy']) await servings.hostSeen(host, 'm:1');
  await db.pool.query("UPDATE gpu_hosts SET seen_at = now() - interval '1 hour' WHERE name = 'gone'");
  const spec = (await servings.serving(name))!.spec;
  await servings.want('other', spec, 'x', new Date(Date.now() + 60_000));
  await servings.takeServing('other', 'busy');
  await servings.takeServing(name, 'was');
  expect(await control.nextHosts(name)).toEqual({ closed: false, hosts: ['was', 'free', 'busy'] });
  await servings.want(name, { ...spec, hosts: ['busy', 'free'] }, campaign, new Date(Date.now() + 60_000));
  expect((await control.nextHosts(name)).hosts).toEqual(['free', 'busy']);
  await db.pool.query("UPDATE gpu_hosts SET seen_at = now() - interval '1 hour'");
  await servings.want(name, spec, campaign, new Date(Date.now() + 60_000));
  expect((await control.nextHosts(name)).hosts).toHaveLength(4);
  await servings.giveBack(campaign);
  await db.ledger.setCampaignState(campaign, 'stopped');
  expect(await control.nextHosts(name)).toEqual({ closed: true, hosts: [] });
});
