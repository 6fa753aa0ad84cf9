/** Who has which GPU host: runs whose jobs want the same ones, servers of weights beside them, and what is left of either. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPgGpuHosts } from '../../activities/ledger/gpu-hosts.js';
import { createPgJobs } from '../../activities/ledger/jobs.js';
import { createPgServings } from '../../activities/ledger/servings.js';
import type { GpuHosts } from '../../core/serving/gpu-hosts.js';
import type { Servings } from '../../core/serving/servings.js';
import type { Jobs } from '../../core/verl/job.js';
import { VLLM } from '../../temporal.config.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claim } from './fixtures.js';

let db: TestDatabase;
let hosts: GpuHosts;
let jobs: Jobs;
let servings: Servings;
let [a, b, c] = ['', '', ''];
let names = 0;

beforeAll(async () => {
  db = await startTestDatabase();
  hosts = createPgGpuHosts(db.pool);
  jobs = createPgJobs(db.pool);
  servings = createPgServings(db.pool);
});
afterAll(() => db.stop());
beforeEach(() => {
  names += 1;
  [a, b, c] = [`a${names}`, `b${names}`, `c${names}`];
});

/** A run on these hosts, the first of which starts its job. */
async function run(name: string, ...on: readonly string[]): Promise<string> {
  const id = `train/${name}${names}`;
  const trainer = { kind: 'verl', hosts: on.map((host) => ({ name: host, gpus: [0] })) };
  await db.ledger.claimCampaign(claim(id, { kind: 'train', tasks: [], trainer }));
  return id;
}

const process = (host: string, serving: string) => ({
  ...{ id: `${host}-${serving}`, serving, host, port: 1, launch: 'x', log: 'x' },
  expiresAt: '2999-01-01T00:00:00Z',
});

async function serve(host: string, name: string): Promise<void> {
  const spec = { weights: { folder: '/m', weightVersion: name }, settings: VLLM, hosts: [] };
  await servings.want(name, spec, 'eval/night', new Date(Date.now() + 600_000));
  await servings.takeServing(name, host);
  await servings.intendServer(process(host, name));
}

test('a run has all its hosts or waits for the first that somebody else has, and keeps those before it', async () => {
  await serve(b, `weights${names}`);
  const mine = await run('mine', c, b, a);
  expect(await hosts.takeHosts(mine)).toEqual({
    host: b,
    words: `a server of weights${names}, which eval/night needs, has the GPUs of ${b}`,
  });
  expect((await hosts.jobs()).get(a)).toBe(`the job of ${mine} has the GPUs of ${a}`);
  expect((await hosts.jobs()).get(c)).toBeUndefined();
  // Nobody else gets what it has, and what it has not got is free.
  await expect(serve(a, `late${names}`)).rejects.toMatchObject({ code: 'host_busy', retry: false });
  await serve(c, `other${names}`);
  await servings.serverEnded(`${b}-weights${names}`, 'ended');
  expect(await hosts.takeHosts(mine)).toMatchObject({ host: c });
  await servings.serverEnded(`${c}-other${names}`, 'ended');
  expect(await hosts.takeHosts(mine)).toBeUndefined();
  for (const host of [a, b, c]) {
    await expect(serve(host, `${host}-late`)).rejects.toThrow(`the job of ${mine} has the GPUs of ${host}`);
  }
});

test('runs that want the same hosts in another order: each gets them, never two at once, none waits for ever', async () => {
  const runs = await Promise.all([
    run('one', a, b, c),
    run('two', c, b, a),
    run('three', b, a),
    run('four', c, a),
  ]);
  const having = new Map<string, string>();
  const has = async (id: string): Promise<void> => {
    while (await hosts.takeHosts(id)) await new Promise((done) => setTimeout(done, 2));
    const { config } = (await db.ledger.campaign(id))!;
    const mine = (config as { trainer: { hosts: { name: string }[] } }).trainer.hosts.map(({ name }) => name);
    for (const host of mine) {
      expect(having.get(host)).toBeUndefined();
      having.set(host, id);
    }
    await jobs.intendServer(process(mine[0]!, id));
    await new Promise((done) => setTimeout(done, 5));
    for (const host of mine) having.delete(host);
    await jobs.serverEnded(`${mine[0]!}-${id}`, 'ended');
    await hosts.releaseHosts(id);
  };
  await Promise.all(
    runs.map(async (id) => {
      await has(id);
      await db.ledger.setCampaignState(id, 'done');
    }),
  );
  expect(having.size).toBe(0);
});

test('a server and a job that come at the same moment: one of them has the host', async () => {
  for (let round = 0; round < 20; round += 1) {
    const [lead, other] = [`l${names}-${round}`, `o${names}-${round}`];
    const mine = await run(`race-${round}-`, lead, other);
    const both = await Promise.allSettled([
      jobs.intendServer(process(lead, mine)),
      serve(other, `weights${names}-${round}`),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  }
});

describe('what is left', () => {
  test('a run that has paused has its hosts until the process of its job has ended', async () => {
    const mine = await run('mine', a, b);
    await hosts.takeHosts(mine);
    await jobs.intendServer(process(a, mine));
    await servings.hostSeen(a, 'm:1');
    await db.ledger.setCampaignState(mine, 'paused');
    await hosts.releaseHosts(mine);
    const other = await run('other', b);
    expect(await hosts.takeHosts(other)).toMatchObject({ host: b });
    await jobs.serverEnded(`${a}-${mine}`, 'reaped');
    expect(await hosts.takeHosts(other)).toBeUndefined();
    // And the one that waits now is the first.
    await db.ledger.setCampaignState(mine, 'running');
    expect(await hosts.takeHosts(mine)).toEqual({
      host: b,
      words: `the job of ${other} has the GPUs of ${b}`,
    });
  });

  test.each(['stopped', 'failed', 'done'] as const)(
    'a run that is %s has none, whatever its workflow could not say any more',
    async (state) => {
      const mine = await run('mine', a, b);
      await hosts.takeHosts(mine);
      await db.ledger.noteOnCampaign(mine, {}, state);
      expect((await hosts.jobs()).get(b)).toBeUndefined();
      expect(await hosts.takeHosts(await run('other', b))).toBeUndefined();
    },
  );

  test('a job on a host that is gone keeps its own host, and the others as long as its run is under way', async () => {
    const mine = await run('mine', a, b);
    await jobs.intendServer(process(a, mine));
    await servings.hostSeen(a, 'm:1');
    await db.pool.query("UPDATE gpu_hosts SET seen_at = now() - interval '1 hour' WHERE name = $1", [a]);
    const other = await run('other', b);
    expect(await hosts.takeHosts(other)).toMatchObject({ host: b });
    await db.ledger.setCampaignState(mine, 'stopped');
    expect(await hosts.takeHosts(other)).toBeUndefined();
    expect((await hosts.jobs()).get(a)).toContain(mine);
    expect([...(await hosts.jobs()).keys()]).toEqual(expect.arrayContaining([a, b]));
  });
});
