/**
 * The reference run's dry run against a cluster of stand-ins on a real stack: healthy, it exits 0 and starts nothing;
 * with faults planted everywhere at once, one run names them all.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { startStack } from '../../infra/stack/start.js';
import { type Ran, steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { Cluster, healthyMoods } from '../stand-in-cluster/cluster.js';
import { type ExpiredEndpoint, expiredEndpoint } from '../stand-in-cluster/endpoints.js';
import { faultWords, sickFile, sickMoods, unnamed } from '../stand-in-cluster/faults.js';
import { localFile, type ReferenceFile } from '../stand-in-cluster/material.js';
import type { Mood } from '../stand-in-cluster/mood.js';

let home = '';
let folder = '';
let context: StackContext;
let cluster: Cluster;
let expired: ExpiredEndpoint;

beforeAll(async () => {
  home = temporaryHome();
  const info = await startStack({ home });
  context = openStack(info);
  process.env.USER_KEY = 'a-user-key';
  process.env.JUDGE_KEY = 'a-judge-key';
  expired = await expiredEndpoint();
}, 300_000);

afterEach(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(async () => {
  expired?.close();
  await context?.close();
  await discard(home);
});

async function begin(
  moods: (healthy: readonly Mood[]) => readonly Mood[],
  file: ReferenceFile,
): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'steadfast cluster '));
  const client = await context.temporal();
  cluster = new Cluster({ folder, client, address: context.info.temporal.address });
  await cluster.start(moods(healthyMoods(folder, file)));
}

function dryRun(file: ReferenceFile, ...rest: readonly string[]): Promise<Ran> {
  const path = join(folder, 'q38.yaml');
  writeFileSync(path, JSON.stringify(file));
  return steadfast(home, 'train', '--file', path, '--dry-run', ...rest);
}

it('a healthy cluster: every check holds, exit code 0, and nothing was started', async () => {
  const file = localFile(context.info, 'well');
  await begin((healthy) => healthy, file);
  const { code, out, err } = await dryRun(file);
  expect(err).toContain('All checks hold: train/q38 could be started. Nothing was.');
  expect(code).toBe(0);
  expect(err).toMatch(/✓ checkpoint folder: \S+, written and read by 3 hosts/);
  expect(err).toMatch(/✓ model: qwen3, .* sha256:[0-9a-f]{64}/);
  expect(err).toContain('✓ GPUs of the hosts: 24 × NVIDIA H100 80GB HBM3');
  expect(out).toContain('  actor_rollout_ref.actor.optim.lr=0.000001 \\\n');
  const ledger = await context.ledger();
  expect(await ledger.campaign('train/q38')).toBeUndefined();
  const { workflow } = await context.temporal();
  await expect(workflow.getHandle('train/q38').describe()).rejects.toThrow();
});

it('offline: nobody outside is asked, and it says so', async () => {
  const file = {
    ...localFile(context.info, 'off'),
    user: { baseUrl: expired.url, model: 'm', apiKeyEnv: 'USER_KEY' },
  };
  await begin((healthy) => healthy, file);
  const { code, err } = await dryRun(file, '--offline');
  expect(err).toContain('- simulated user and judge: not checked, --offline: nobody was asked');
  expect(code).toBe(0);
});

it('prints one part alone, and the same one every time', async () => {
  const file = localFile(context.info, 'part');
  await begin(() => [], file);
  const [first, second] = [await dryRun(file, '--show', 'verl'), await dryRun(file, '--show', 'verl')];
  expect(first.out.split('\n').slice(0, 3)).toEqual([
    '/opt/verl/bin/python \\',
    '  -m \\',
    '  verl.trainer.main_ppo \\',
  ]);
  expect(second.out).toBe(first.out);
});

it('names every fault of a sick cluster in one run', async () => {
  const file = localFile(context.info, 'sick');
  const words = faultWords(file);
  expect(words.length).toBeGreaterThanOrEqual(12);
  await begin((healthy) => sickMoods(healthy, file, folder), file);
  const { code, out } = await dryRun(sickFile(file, { expiredUrl: expired.url }), '--json');
  expect(code).toBe(2);
  const { problems } = JSON.parse(out) as { problems: readonly string[] };
  expect(unnamed(problems, words)).toEqual([]);
  // Each is told once, and no password at all.
  expect(new Set(problems).size).toBe(problems.length);
  expect(out).not.toContain('secret@');
  expect(await (await context.ledger()).campaign('train/q38')).toBeUndefined();
});

it('a host that dies over the question is one problem, and the others are checked', async () => {
  const file = localFile(context.info, 'dying');
  await begin(([one, two, three]) => [{ ...one!, dies: true }, two!, three!], file);
  const { code, err } = await dryRun(file, '--offline');
  expect(code).toBe(2);
  expect(err).toMatch(/✗ host dying-1: expected an answer of its worker, found its worker/);
  expect(err).toMatch(/✓ checkpoint folder: \S+, written and read by 2 hosts/);
}, 240_000);
