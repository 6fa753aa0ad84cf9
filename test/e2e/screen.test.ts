/**
 * A probe with a reference screen, through the command: tasks that the stronger model fails cost no probe, the probe
 * begins by itself, and `select` takes both.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import type { AttemptsConfig } from '../../core/campaign.js';
import { screenTasks } from '../../core/selection/screen.js';
import { startStack } from '../../infra/stack/start.js';
import { steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { until } from './until.js';

let home = '';
let folder = '';
let file = '';
let context: StackContext;

beforeAll(async () => {
  home = temporaryHome();
  folder = mkdtempSync(join(tmpdir(), 'steadfast screen '));
  file = join(folder, 'run.json');
  writeFileSync(
    file,
    JSON.stringify({
      model: { kind: 'scripted', errorRate: 0.3 },
      screen: { model: { kind: 'scripted', errorRate: 0.6 }, repeat: 2 },
      probe: { repeat: 3, limit: 12 },
    }),
  );
  context = openStack(await startStack({ home }));
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  rmSync(folder, { recursive: true, force: true });
});

async function campaign(id: string) {
  const ledger = await context.ledger();
  const row = await ledger.campaign(id);
  return { state: row?.state, config: row?.config as AttemptsConfig, attempts: await ledger.attempts(id) };
}

it('probes what passes the screen, and nothing else', async () => {
  const ran = await steadfast(home, 'probe', 'pool', '--file', file, '--json');
  expect([ran.code, ran.err]).toEqual([0, expect.stringMatching(/reference screen: \d+ of 12 tasks passed/)]);
  expect(JSON.parse(ran.out)).toMatchObject({ id: 'probe/pool', state: 'done' });
  const screen = await campaign('probe/pool-reference');
  const probe = await campaign('probe/pool');
  const rule = { minCleanRuns: 1, minSuccesses: 1 };
  const { passed, failed } = screenTasks(screen.config.tasks, screen.attempts, rule);
  expect(failed.length).toBeGreaterThan(0);
  expect(screen.attempts).toHaveLength(24);
  expect(probe.config.tasks).toEqual(passed);
  expect(probe.config).toMatchObject({
    screenedBy: { campaign: 'probe/pool-reference', ...rule, all: false },
  });
  expect(probe.attempts).toHaveLength(3 * passed.length);
  expect((await steadfast(home, 'probe', 'pool', '--file', file)).err).toMatch(
    /probe\/pool is finished already/,
  );
});

it('select takes the rows of both', async () => {
  const out = join(folder, 'selected');
  const bands = ['too_hard', 'hard', 'medium', 'easy', 'too_easy'].flatMap((band) => ['--retain-band', band]);
  const ran = await steadfast(home, 'select', '--campaign', 'pool', '--output-dir', out, ...bands);
  expect([ran.code, ran.err]).toEqual([0, '']);
  const manifest = JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'));
  expect(manifest.inputs).toMatchObject({
    policy: ['ledger:pool'],
    reference: ['ledger:probe/pool-reference'],
  });
  expect(manifest.input_sha256.reference).toHaveLength(1);
  const aggregates = readFileSync(join(out, 'aggregates.jsonl'), 'utf8').trim().split('\n');
  expect(aggregates).toHaveLength((await campaign('probe/pool')).config.tasks.length);
  expect(aggregates.every((line) => line.includes('"reference'))).toBe(true);
});

it('detached, the probe begins by itself; --screen-all probes every task, and select screens', async () => {
  const args = ['probe', 'all', '--file', file, '--screen-all', '--detach'];
  expect((await steadfast(home, ...args)).err).toMatch(/probe\/all begins by itself/);
  await until('the probe', async () => (await campaign('probe/all')).state === 'done');
  expect((await campaign('probe/all')).config.tasks).toHaveLength(12);
  const out = join(folder, 'screened');
  const bands = ['too_hard', 'hard', 'medium', 'easy', 'too_easy'].flatMap((band) => ['--retain-band', band]);
  const ran = await steadfast(home, 'select', '--campaign', 'all', '--output-dir', out, ...bands);
  expect(ran.out).toMatch(/left out: \d+ reference_gate/);
});

it('what cannot work is said before anything begins', async () => {
  const none = await steadfast(home, 'probe', 'x', '--screen-repeat', '2');
  expect([none.code, none.err]).toEqual([2, expect.stringMatching(/screen: expected a model/)]);
  const many = await steadfast(home, 'probe', 'x', '--file', file, '--reference-min-successes', '3');
  expect([many.code, many.err]).toEqual([
    2,
    expect.stringMatching(/no more than its attempts a task, found 3 successes/),
  ]);
  const list = join(folder, 'leaked.yaml');
  writeFileSync(list, '- bank_benchmark:fraud-02\n');
  const leaked = await steadfast(home, 'probe', 'x', '--tasks', list);
  expect([leaked.code, leaked.err]).toEqual([
    2,
    expect.stringMatching(/probe tasks: expected no benchmark task, found bank_benchmark:fraud-02/),
  ]);
  expect((await campaign('probe/x-reference')).state).toBeUndefined();
  expect((await campaign('probe/x')).state).toBeUndefined();
});
