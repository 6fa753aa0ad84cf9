/** Servings in the ledger: who needs what, where it is, and that nobody notes what is not theirs any more. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPgServings } from '../../activities/ledger/servings.js';
import type { ServingSpec, Servings } from '../../core/serving/servings.js';
import { VLLM } from '../../temporal.config.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claim } from './fixtures.js';

let db: TestDatabase;
let servings: Servings;

beforeAll(async () => {
  db = await startTestDatabase();
  servings = createPgServings(db.pool);
});
afterAll(() => db.stop());

const SPEC: ServingSpec = { weights: { folder: '/m', weightVersion: 'v1' }, settings: VLLM, hosts: [] };
const later = () => new Date(Date.now() + 60_000);
const past = () => new Date(Date.now() - 60_000);

test('a holder counts until its time, a campaign as long as it runs or is paused', async () => {
  await db.ledger.claimCampaign(claim('eval/held'));
  await servings.want('a', SPEC, 'eval/held', past());
  const row = await servings.want('a', SPEC, 'a person', past());
  expect(row).toMatchObject({ name: 'a', state: 'wanted', spec: SPEC, host: null, holders: ['eval/held'] });
  expect(await servings.closeUnneeded('a')).toBe(false);
  await db.ledger.setCampaignState('eval/held', 'paused');
  expect(await servings.closeUnneeded('a')).toBe(false);
  await db.ledger.setCampaignState('eval/held', 'stopped');
  expect((await servings.serving('a'))?.holders).toEqual([]);
  expect(await servings.closeUnneeded('a')).toBe(true);
  expect((await servings.serving('a'))?.state).toBe('stopped');
});

test('one holder leaves, the other stays; who leaves everything leaves only their own', async () => {
  for (const holder of ['x', 'y']) await servings.want('b', SPEC, holder, later());
  await servings.want('c', SPEC, 'x', later());
  await servings.giveBack('y', 'b');
  expect((await servings.serving('b'))?.holders).toEqual(['x']);
  await servings.want('b', SPEC, 'y', later());
  await servings.giveBack('x');
  expect((await servings.serving('b'))?.holders).toEqual(['y']);
  expect((await servings.serving('c'))?.holders).toEqual([]);
});

test('what a host notes counts while the serving is its own', async () => {
  await servings.want('d', SPEC, 'x', later());
  expect(await servings.takeServing('d', 'h1')).toBe(true);
  const ready = { state: 'ready', endpoint: 'http://h1/v1', weightVersion: 'v-d', reference: -1.25 } as const;
  expect(await servings.note('d', ready, 'h1')).toBe(true);
  expect(await servings.servingOf('v-d')).toMatchObject({ name: 'd', ...ready });
  // Taking it over again keeps what is known of it; another host starts anew.
  await servings.takeServing('d', 'h1');
  expect((await servings.serving('d'))?.endpoint).toBe('http://h1/v1');
  await servings.takeServing('d', 'h2');
  expect(await servings.servingOf('v-d')).toBeUndefined();
  expect(await servings.note('d', { state: 'ready' }, 'h1')).toBe(false);
  expect(await servings.serving('d')).toMatchObject({ host: 'h2', endpoint: null, reference: -1.25 });
  await servings.note('d', { state: 'failed', problem: 'half a \ud800 pair' });
  expect(await servings.note('d', { state: 'ready' }, 'h2')).toBe(false);
  expect(await servings.takeServing('d', 'h2')).toBe(false);
});

test('what had failed is wanted anew; other weights forget what the old ones answered', async () => {
  await servings.want('e', SPEC, 'x', later());
  await servings.note('e', { state: 'failed', problem: 'why', restarts: 3, reference: -2 });
  const again = await servings.want('e', SPEC, 'x', later());
  expect(again).toMatchObject({ state: 'wanted', problem: null, restarts: 0, reference: -2 });
  const other = { ...SPEC, weights: { folder: '/m', weightVersion: 'v2' } };
  expect((await servings.want('e', other, 'x', later())).reference).toBeNull();
});

test('a server is open from its intention to its end', async () => {
  await servings.want('f', SPEC, 'x', later());
  const server = { id: 's1', serving: 'f', host: 'h9', port: 8_000, launch: 'l', log: '/log' };
  const expiresAt = later().toISOString();
  await servings.intendServer({ ...server, expiresAt });
  await servings.intendServer({ ...server, expiresAt });
  expect(await servings.openServers('h9')).toEqual([
    { ...server, expiresAt, state: 'intended', pid: null, started: null },
  ]);
  await servings.serverStarted('s1', 12, 't');
  await servings.serverEnded('s1', 'reaped');
  await servings.serverEnded('s1', 'ended');
  expect(await servings.openServers('h9')).toEqual([]);
  const { rows } = await db.pool.query(
    "SELECT state, ended_at IS NOT NULL AS over FROM servers WHERE id = 's1'",
  );
  expect(rows).toEqual([{ state: 'reaped', over: true }]);
});

test('hosts, seen last first', async () => {
  await servings.hostSeen('h1', 'm:1');
  await servings.hostSeen('h2', 'm:2');
  await servings.hostSeen('h1', 'm:3');
  expect((await servings.hosts()).map(({ name, worker }) => [name, worker])).toEqual([
    ['h1', 'm:3'],
    ['h2', 'm:2'],
  ]);
});
