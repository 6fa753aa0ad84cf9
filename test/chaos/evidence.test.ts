/** Chaos would be worth nothing if it could not see what it looks for: here each kind of damage is done by hand. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { begin, claim, clean, digest, planned } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { differences, type Facts } from './facts.js';
import { leftovers, Watch } from './watch.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(() => database.stop());

async function finished(campaign: string): Promise<string> {
  const attempt = planned(campaign, 'a:1', '1');
  await database.ledger.claimCampaign(claim(campaign));
  await database.ledger.planAttempts(campaign, [attempt]);
  await database.ledger.beginTry(begin(attempt.key));
  await database.ledger.finishTry(clean(attempt.key));
  return attempt.key;
}

it('a committed row that changes is seen, with what it was', async () => {
  const key = await finished('eval/changed');
  const before = new Watch(database.url);
  await before.end();
  expect(before.seen.has(key)).toBe(true);
  expect(before.changed).toEqual([]);

  const watch = new Watch(database.url);
  while (watch.looks === 0) await new Promise((done) => setTimeout(done, 20));
  await database.pool.query('UPDATE tries SET trajectory = $1 WHERE trajectory = $2', [
    digest('9'),
    digest('7'),
  ]);
  await watch.end();
  expect(watch.changed.join()).toContain(`${key}: `);
});

it('a finished episode that is played again, and a sandbox that is left open, are found', async () => {
  const key = await finished('eval/repeated');
  expect((await leftovers(database.url)).repeated).toEqual([]);
  await database.pool.query(
    `INSERT INTO tries (attempt_id, try_number, activity_attempt, worker)
     SELECT id, 2, 1, 'zombie' FROM attempts WHERE key = $1`,
    [key],
  );
  const { repeated, openSandboxes, tries } = await leftovers(database.url);
  expect(repeated).toEqual([key]);
  expect(openSandboxes.length).toBeGreaterThan(0);
  expect(tries).toMatchObject({ running: 1 });
});

it('the first difference of each kind is named', () => {
  const facts: Facts = { weights: ['a', 'b'], batches: ['x', 'y'], episodes: ['k clean 1'], optimizer: 'o' };
  expect(differences(facts, facts)).toEqual([]);
  const other: Facts = { weights: ['a', 'c'], batches: ['x'], episodes: ['k clean 0'], optimizer: 'p' };
  expect(differences(other, facts)).toEqual([
    'weights of step 2: disturbed c, undisturbed b',
    'batches of step 2: disturbed none, undisturbed y',
    'episode 0: disturbed k clean 0, undisturbed k clean 1',
    'optimizer at the end: disturbed p, undisturbed o',
  ]);
});
