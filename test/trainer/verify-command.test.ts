/** `steadfast verify trainer` as it is typed: lines, one JSON document, exit codes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConformanceReport } from '../../activities/trainer/conformance/suite.js';
import { startHttpProxy } from '../faults/http-proxy.js';
import { LIARS } from '../faults/liars.js';
import { inProcess } from '../in-process.js';
import { type RunningTrainer, startTrainer } from './server.js';

let trainer: RunningTrainer;
let printed = '';
let said = '';

beforeAll(async () => {
  trainer = await startTrainer();
});
afterAll(() => trainer.end('SIGTERM'));

async function command(...args: string[]): Promise<number> {
  const ran = await inProcess('verify', 'trainer', ...args);
  [printed, said] = [ran.out, ran.err];
  return ran.code;
}

test('a line a check, and exit 0', async () => {
  const checks = ['--check', 'stale-base', 'clip-at-other-ratios'];
  expect(await command('--endpoint', `${trainer.url}/v1/`, ...checks)).toBe(0);
  expect(printed).toMatch(/✓ stale-base .*– clip-at-other-ratios .*not checked: cannot be seen/s);
  expect(printed).toMatch(/embedded \(.*\): 1 hold, 0 broken, 1 not checked/);
});

test('a broken promise is exit 1, and the JSON says which', async () => {
  const twice = LIARS.find(({ foundBy }) => foundBy === 'update-once')!;
  const proxy = await startHttpProxy(trainer.url, twice.make());
  try {
    expect(await command('--endpoint', proxy.url, '--check', 'update-once', 'publish', '--json')).toBe(1);
    const report = JSON.parse(printed) as ConformanceReport;
    expect(report.checks.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['update-once', 'fail'],
      ['publish', 'pass'],
    ]);
    expect(report.counts).toEqual({ pass: 1, fail: 1, skip: 0 });
  } finally {
    await proxy.close();
  }
});

test('a folder that is not there is made; what can be none is wrong usage', async () => {
  const home = mkdtempSync(join(tmpdir(), 'verify-'));
  try {
    const asked = ['--endpoint', trainer.url, '--check', 'stale-base', '--folder'];
    expect(await command(...asked, join(home, 'new', 'one'))).toBe(0);
    writeFileSync(join(home, 'file'), '');
    expect(await command(...asked, join(home, 'file', 'one'))).toBe(2);
    expect(said).toMatch(/--folder: expected a folder that can be written, found .*file.one: ENOTDIR/);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test('what cannot be an endpoint is wrong usage', async () => {
  expect(await command('--endpoint', 'trainer')).toBe(2);
  expect(said).toMatch(/--endpoint: expected a URL, found "trainer"/);
});
