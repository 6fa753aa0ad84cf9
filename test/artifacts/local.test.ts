import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalArtifacts, digestOf } from '../../activities/artifacts/local.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'steadfast artifacts '));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const isRoot = process.getuid?.() === 0;
const BYTES = Buffer.from('some bytes');

test('what was put is what is got, under its SHA-256', async () => {
  const store = createLocalArtifacts(join(folder, 'new', 'place'));
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
      const digest = await store.put(bytes);
      expect(digest).toBe(digestOf(bytes));
      expect(new Uint8Array(await store.get(digest))).toEqual(bytes);
      expect(await store.verify(digest)).toBe('ok');
    }),
    { numRuns: 30 },
  );
});

test('the same bytes at the same time, from several stores, are one file and leave nothing beside it', async () => {
  const stores = [1, 2, 3].map(() => createLocalArtifacts(folder));
  const digests = await Promise.all(
    stores.flatMap((store) => [store.put(BYTES), store.put(BYTES), store.put(BYTES)]),
  );
  expect(new Set(digests)).toEqual(new Set([digestOf(BYTES)]));
  expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  const hex = digestOf(BYTES).slice('sha256:'.length);
  expect(await readdir(join(folder, hex.slice(0, 2)))).toEqual([hex.slice(2)]);
});

test('missing and damaged files are told apart, named, and never returned', async () => {
  const store = createLocalArtifacts(folder);
  const absent = digestOf(Buffer.from('never written'));
  expect(await store.has(absent)).toBe(false);
  expect(await store.verify(absent)).toBe('missing');
  await expect(store.get(absent)).rejects.toMatchObject({ kind: 'artifacts', code: 'missing', retry: false });
  await expect(store.get(absent)).rejects.toThrow(`artifact ${absent}`);

  const digest = await store.put(BYTES);
  await writeFile(store.path(digest), 'some bytez');
  expect(await store.has(digest)).toBe(true);
  expect(await store.verify(digest)).toBe('corrupt');
  await expect(store.get(digest)).rejects.toMatchObject({ code: 'corrupt', retry: false });
  await expect(store.get(digest)).rejects.toThrow(store.path(digest));

  expect(await store.put(BYTES)).toBe(digest);
  expect(await store.verify(digest)).toBe('ok');
});

test('what is no digest is refused before any path is made of it', async () => {
  const store = createLocalArtifacts(folder);
  for (const wrong of ['', 'sha256:../../etc/passwd', 'md5:00', `sha256:${'A'.repeat(64)}`]) {
    expect(() => store.path(wrong)).toThrow(/expected "sha256:" and 64 hex digits/);
    await expect(store.get(wrong)).rejects.toMatchObject({ code: 'bad_digest' });
  }
});

test('files that a dead writer left are removed after an hour, younger ones stay', async () => {
  await mkdir(join(folder, 'tmp'));
  for (const name of ['old', 'young']) await writeFile(join(folder, 'tmp', name), 'half');
  const past = new Date(Date.now() - 2 * 3_600_000);
  await utimes(join(folder, 'tmp', 'old'), past, past);
  await createLocalArtifacts(folder).put(BYTES);
  expect(await readdir(join(folder, 'tmp'))).toEqual(['young']);
});

test('a folder that was removed while in use is made again', async () => {
  const store = createLocalArtifacts(folder);
  await store.put(BYTES);
  await rm(folder, { recursive: true });
  await expect(store.put(BYTES)).rejects.toMatchObject({ code: 'folder_gone', retry: true });
  expect(await store.verify(await store.put(BYTES))).toBe('ok');
});

test('a file where the folder should be', async () => {
  await writeFile(join(folder, 'file'), '');
  const store = createLocalArtifacts(join(folder, 'file'));
  await expect(store.put(BYTES)).rejects.toMatchObject({
    kind: 'artifacts',
    code: 'not_a_folder',
    retry: false,
  });
});

test.skipIf(isRoot)('a folder without permission (not as root, whom none is refused)', async () => {
  await chmod(folder, 0o500);
  await expect(createLocalArtifacts(folder).put(BYTES)).rejects.toMatchObject({
    code: 'denied',
    retry: false,
  });
  await chmod(folder, 0o700);
});

describe.skipIf(!isRoot || process.platform !== 'linux')(
  'on a small disk of its own (needs root to mount)',
  () => {
    let disk: string;
    beforeEach(async () => {
      disk = join(folder, 'disk');
      await mkdir(disk);
      execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]);
    });
    afterEach(() => execFileSync('/bin/umount', [disk]));

    test('a full disk is one clear error, loses nothing, and works again when there is room', async () => {
      const store = createLocalArtifacts(disk);
      const kept = await store.put(BYTES);
      const large = Buffer.alloc(2_000_000, 1);
      const failure = store.put(large);
      await expect(failure).rejects.toMatchObject({ kind: 'artifacts', code: 'disk_full', retry: true });
      await expect(failure).rejects.toThrow(/the disk is full \(ENOSPC\): .*disk/);
      expect(await store.has(digestOf(large))).toBe(false);
      expect(await readdir(join(disk, 'tmp'))).toEqual([]);
      expect(await store.verify(kept)).toBe('ok');
      expect((await stat(store.path(await store.put(Buffer.alloc(100_000, 2))))).size).toBe(100_000);
    });

    test('a read-only disk is one clear error, and reading goes on', async () => {
      const store = createLocalArtifacts(disk);
      const kept = await store.put(BYTES);
      execFileSync('/bin/mount', ['-o', 'remount,ro', disk]);
      const failure = store.put(Buffer.from('more'));
      await expect(failure).rejects.toMatchObject({ code: 'read_only', retry: false });
      expect(Buffer.from(await store.get(kept))).toEqual(BYTES);
    });
  },
);
