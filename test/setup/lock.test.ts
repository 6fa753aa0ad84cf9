/** The lock between processes: one holder, stale ones taken over, never two. */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { tryLock, unlock, withLock } from '../../infra/setup/lock.mjs';
import { isAlive, self, signal, startedAt } from '../../infra/setup/process.mjs';

const folder = mkdtempSync(join(tmpdir(), 'steadfast lock '));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('has one holder until it is released', () => {
  const file = join(folder, 'one');
  expect(tryLock(file)).toBe(true);
  expect(tryLock(file)).toBe(false);
  unlock(file);
  expect(tryLock(file)).toBe(true);
});

it('takes over from a holder that is gone, also when its process id lives on', () => {
  const file = join(folder, 'stale');
  writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'an earlier process with my number' }));
  expect(tryLock(file)).toBe(true);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(self());
});

it('never signals another process that has the number', () => {
  expect(signal({ pid: process.pid, started: 'earlier' }, 'SIGKILL')).toBe(false);
  expect(isAlive({ pid: process.pid, started: startedAt(process.pid) ?? '' })).toBe(true);
});

it('many processes that fight for a stale lock hold it one after the other', async () => {
  const file = join(folder, 'fought');
  const log = join(folder, 'log');
  writeFileSync(file, JSON.stringify({ pid: 1, started: 'before' }));
  writeFileSync(log, '');
  const contender = join(import.meta.dirname, 'fixtures', 'contender.mjs');
  const codes = await Promise.all(
    Array.from({ length: 6 }, () => {
      const child = fork(contender, [file, log], { stdio: 'ignore' });
      return new Promise((done) => child.once('exit', done));
    }),
  );
  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(12);
  for (let index = 0; index < lines.length; index += 2) {
    expect(lines[index + 1]).toBe(lines[index]?.replace('in', 'out'));
  }
});

it('is released when the work throws', async () => {
  const file = join(folder, 'thrown');
  await expect(withLock(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(tryLock(file)).toBe(true);
});
