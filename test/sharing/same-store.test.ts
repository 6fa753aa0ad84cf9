/** A worker has the ledger's own artifact store, or is refused: a real database, folders as mounts would have them. */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { createStoreClaims, type StoreClaims } from '../../activities/ledger/artifact-store.js';
import { requireSameStore } from '../../workers/same-store.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

let db: TestDatabase;
let claims: StoreClaims;
let root = '';

beforeEach(async () => {
  db = await startTestDatabase();
  claims = createStoreClaims(db.pool);
  root = await mkdtemp(join(tmpdir(), 'steadfast store '));
});
afterEach(async () => {
  await db.stop();
  await rm(root, { recursive: true, force: true });
});

const at = (name: string, host = 'a') => ({ artifacts: join(root, name), host });

test('many workers that start at once on one folder agree, and so does a later one', async () => {
  await Promise.all(
    Array.from({ length: 6 }, (_, index) => requireSameStore(claims, at('one', `h${index}`))),
  );
  await requireSameStore(claims, at('one', 'late'));
});

test('of two folders at once only one becomes the store', async () => {
  const names = ['one', 'two', 'one', 'two', 'one', 'two'];
  const ended = await Promise.allSettled(names.map((name) => requireSameStore(claims, at(name))));
  const accepted = new Set(names.filter((_, index) => ended[index]!.status === 'fulfilled'));
  expect(accepted.size).toBe(1);
  const { folder } = (await claims.current())!;
  expect([join(root, [...accepted][0]!)]).toEqual([folder]);
});

test('another folder, a mount that is missing, the store of another ledger: each is named', async () => {
  await requireSameStore(claims, at('one'));
  const { id } = (await claims.current())!;
  const expected = `STEADFAST_ARTIFACTS: expected the artifact store of this ledger (${id}, first seen as ${join(root, 'one')} on a)`;
  await expect(requireSameStore(claims, at('none', 'b'))).rejects.toThrow(
    `${expected}, found ${join(root, 'none')}, which is none. Mount that folder on this host.`,
  );
  await mkdir(join(root, 'other'));
  await writeFile(join(root, 'other', 'store-id'), 'another\n');
  await expect(requireSameStore(claims, at('other', 'b'))).rejects.toThrow('which is another (another)');
  // What the message tells people to do, where the store is lost.
  await writeFile(join(root, 'other', 'store-id'), `${id}\n`);
  await requireSameStore(claims, at('other', 'b'));
});

test('a ledger without the schema of this version is refused, with the command that brings it', async () => {
  const refused = (found: string) =>
    `DATABASE_URL: expected a ledger with the schema of this version, found ${found}. Run once: steadfast ledger migrate`;
  await db.pool.query("DELETE FROM migrations WHERE name LIKE '%_jobs'");
  await expect(requireSameStore(claims, at('one'))).rejects.toThrow(
    refused('one without 20261130000011000_jobs'),
  );
  await db.pool.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await expect(requireSameStore(claims, at('one'))).rejects.toThrow(refused('a database without one'));
});

test('a store that came back without its mark is known by what it holds', async () => {
  await requireSameStore(claims, at('one'));
  const store = createLocalArtifacts(join(root, 'one'));
  const digest = await store.put(Buffer.from('a trajectory'));
  const remembering: StoreClaims = { ...claims, newest: async () => [digest] };
  await rm(join(root, 'one', 'store-id'));
  await rename(join(root, 'one'), join(root, 'restored'));
  await requireSameStore(remembering, at('restored'));
  await requireSameStore(claims, at('restored'));
  await expect(requireSameStore(remembering, at('one'))).rejects.toThrow('which is none');
});

test('in a new ledger nothing was recorded yet', async () => {
  expect(await claims.newest()).toEqual([]);
});
