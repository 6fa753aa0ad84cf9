import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { claim, digest, planned } from './fixtures.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

test('a campaign is claimed once; the same configuration finds it again', async () => {
  const config = { plan: { learningRate: 1e-6 }, tasks: ['a:1'], note: 'half a \ud800 pair' };
  const wanted = claim('eval/night', config);
  const claims = await Promise.all([1, 2, 3].map(() => db.ledger.claimCampaign(wanted)));
  expect(claims.map(({ status }) => status).sort()).toEqual(['created', 'known', 'known']);
  const row = await db.ledger.campaign('eval/night');
  expect(row).toMatchObject({
    id: 'eval/night',
    kind: 'eval',
    state: 'running',
    parent: null,
    endedAt: null,
  });
  expect(row?.config).toEqual({ ...config, note: 'half a \ufffd pair' });
  expect(await db.ledger.campaign('eval/other')).toBeUndefined();
});

test('another configuration is refused with every changed path', async () => {
  await db.ledger.claimCampaign(claim('eval/fixed', { repeat: 20, limits: { turns: 10 } }));
  const attempt = db.ledger.claimCampaign(
    claim('eval/fixed', { repeat: 10, limits: { turns: 10, actions: 5 } }),
  );
  await expect(attempt).rejects.toBeInstanceOf(UsageError);
  await expect(attempt).rejects.toThrow(
    /^eval\/fixed: expected .* found 2 changed:\nlimits\.actions: absent → 5\nrepeat: 20 → 10$/,
  );
  const otherSuite = {
    ...claim('eval/fixed', { repeat: 20, limits: { turns: 10 } }),
    suiteDigest: digest('6'),
  };
  await expect(db.ledger.claimCampaign(otherSuite)).rejects.toThrow(
    /\(suite digest\): sha256:55.* → sha256:66/,
  );
});

test('the state moves, an end has a time, and a result stays until another is given', async () => {
  await db.ledger.claimCampaign(claim('train/run-1'));
  await db.ledger.setCampaignState('train/run-1', 'failed', { cause: 'a NUL \0 in it' });
  const failed = await db.ledger.campaign('train/run-1');
  expect(failed).toMatchObject({ state: 'failed', result: { cause: 'a NUL \ufffd in it' } });
  expect(failed?.endedAt).not.toBeNull();
  await db.ledger.setCampaignState('train/run-1', 'running');
  expect(await db.ledger.campaign('train/run-1')).toMatchObject({
    state: 'running',
    endedAt: null,
    result: failed?.result,
  });
  await expect(db.ledger.setCampaignState('train/none', 'done')).rejects.toMatchObject({
    kind: 'ledger',
    code: 'unknown_campaign',
    retry: false,
  });
});

test('campaigns are listed with their counts, newest first', async () => {
  await db.ledger.claimCampaign(claim('pipeline/demo', { seed: 1 }));
  await db.ledger.claimCampaign(claim('probe/demo', { seed: 1 }, 'pipeline/demo'));
  await db.ledger.planAttempts('probe/demo', [
    planned('probe/demo', 'a:1', '0'),
    planned('probe/demo', 'a:1', '1'),
  ]);
  const children = await db.ledger.campaigns({ parent: 'pipeline/demo' });
  expect(children).toHaveLength(1);
  expect(children[0]).toMatchObject({
    id: 'probe/demo',
    counts: { planned: 2, clean: 0, passed: 0, pending: 2, exhausted: 0 },
  });
  const all = await db.ledger.campaigns();
  expect(all[0]?.id).toBe('probe/demo');
  expect((await db.ledger.campaigns({ kind: 'train' })).map(({ id }) => id)).toEqual(['train/run-1']);
  expect(await db.ledger.campaigns({ limit: 1 })).toHaveLength(1);
});

test('a parent that is not there is a clear error', async () => {
  await expect(db.ledger.claimCampaign(claim('eval/orphan', {}, 'pipeline/none'))).rejects.toMatchObject({
    code: 'constraint',
    retry: false,
    message: expect.stringContaining('pipeline/none'),
  });
});
