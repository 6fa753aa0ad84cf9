/**
 * The reference run's dry run against a cluster of stand-ins on a real stack: healthy, it exits 0 and starts nothing;
 * with faults planted everywhere at once, one run names them all.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { startStack } from '../../infra/stack/start.js';
import { PAYLOAD_BUDGET } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import type { History } from '../histories/scenario.js';
import { type Ran, steadfast } from '../in-process.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { Cluster, healthyMoods } from '../stand-in-cluster/cluster.js';
import { type ExpiredEndpoint, expiredEndpoint } from '../stand-in-cluster/endpoints.js';
import { faultWords, sickFile, sickMoods, unnamed } from '../stand-in-cluster/faults.js';
import { localFile, type ReferenceFile } from '../stand-in-cluster/material.js';
import type { Mood } from '../stand-in-cluster/mood.js';
import { payloadsOf } from '../workflows/events.js';

// Processes that are started and asked, on whatever else this machine has to do.
vi.setConfig({ testTimeout: 240_000 });

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

async function nothingStarted(): Promise<void> {
  expect(await (await context.ledger()).campaign('train/q38')).toBeUndefined();
  const { workflow } = await context.temporal();
  await expect(workflow.getHandle('train/q38').describe()).rejects.toThrow();
}

async function end(): Promise<void> {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
}

describe('a healthy cluster', () => {
  let file: ReferenceFile;
  beforeAll(async () => {
    file = localFile(context.info, 'well');
    await begin((healthy) => healthy, file);
  }, 240_000);
  afterAll(end);

  it('holds every check, exit code 0, and nothing was started', async () => {
    const { code, out, err } = await dryRun(file);
    expect(err).toContain('All checks hold: train/q38 could be started. Nothing was.');
    expect(code).toBe(0);
    expect(err).toMatch(/✓ checkpoint folder: \S+, written and read by 3 hosts/);
    expect(err).toMatch(/✓ model: qwen3, .* sha256:[0-9a-f]{64}/);
    expect(err).toContain('✓ GPUs of the hosts: 24 × NVIDIA H100 80GB HBM3');
    expect(out).toContain('  actor_rollout_ref.actor.optim.lr=0.000001 \\\n');
    await nothingStarted();
    // Nor is anything left in the folder that all hosts wrote to.
    expect(readdirSync(join(folder, 'shared/checkpoints'))).toEqual([]);
  });

  it('has crossed Temporal in small payloads', async () => {
    const { workflow } = await context.temporal();
    const sizes = await until('the questions in Temporal’s list', async () => {
      const found: number[] = [];
      let questions = 0;
      for await (const { workflowId } of workflow.list({ query: 'WorkflowType = "askHost"' })) {
        questions += 1;
        const text = historyToJSON(await workflow.getHandle(workflowId).fetchHistory());
        const history = JSON.parse(text) as History;
        found.push(...payloadsOf(history).map(({ bytes }) => bytes));
      }
      // Facts, writing, reading and tidying by each of three; checkpoints and settings by one.
      return questions >= 14 && found;
    });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PAYLOAD_BUDGET.other);
  });

  it('offline asks nobody outside, says so, and prints the one part that was asked for', async () => {
    const user = { baseUrl: expired.url, model: 'm', apiKeyEnv: 'USER_KEY' };
    const { code, out, err } = await dryRun({ ...file, user }, '--offline', '--show', 'verl');
    expect(err).toContain('- simulated user and judge: not checked, --offline: nobody was asked');
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toBe('/opt/verl/bin/python \\');
    expect(lines.at(-1)).toBe('  trainer.resume_mode=auto');
  });
});

describe('a sick cluster', () => {
  afterEach(end);

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
    await nothingStarted();
  });

  it('a host that dies over the question is one problem, and the others are checked', async () => {
    const file = localFile(context.info, 'dying');
    await begin(([one, two, three]) => [{ ...one!, dies: true }, two!, three!], file);
    const { code, err } = await dryRun(file, '--offline');
    expect(code).toBe(2);
    expect(err).toMatch(/✗ host dying-1: expected an answer of its worker, found its worker/);
    expect(err).toMatch(/✓ checkpoint folder: \S+, written and read by 2 hosts/);
  });
});
