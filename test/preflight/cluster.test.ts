/**
 * The reference run's dry run against a cluster of stand-ins on a real stack: healthy, it exits 0 and starts nothing;
 * with faults planted everywhere at once, one run names them all.
 */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openStack, type StackContext } from '../../cli/context.js';
import { OWNER_FILE } from '../../core/cluster.js';
import { startStack } from '../../infra/stack/start.js';
import { type Ran, steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { Cluster, healthyMoods } from '../stand-in-cluster/cluster.js';
import { makeCheckpoint, type ReferenceFile, referenceFile } from '../stand-in-cluster/material.js';
import type { Mood } from '../stand-in-cluster/mood.js';

let home = '';
let folder = '';
let context: StackContext;
let cluster: Cluster;
/** Takes no key that it is given. */
let expired: Server;

beforeAll(async () => {
  home = temporaryHome();
  const info = await startStack({ home });
  context = openStack(info);
  process.env.USER_KEY = 'a-user-key';
  process.env.JUDGE_KEY = 'a-judge-key';
  expired = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'this key has expired', code: 'invalid_api_key' } }));
  });
  await new Promise<void>((done) => expired.listen(0, '127.0.0.1', done));
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

/** The reference's file with what is this machine's: suite, user and judge. */
function localFile(): ReferenceFile {
  const { userUrl, judgeUrl } = context.info;
  const { tasks: _, ...train } = referenceFile().train;
  return {
    ...referenceFile(),
    suite: 'deskbench',
    user: { baseUrl: userUrl, model: 'rules', apiKeyEnv: 'USER_KEY' },
    judge: { baseUrl: judgeUrl, model: 'rules', apiKeyEnv: 'JUDGE_KEY' },
    train,
  };
}

/** Hosts with names that no other test's queue has: Temporal remembers pollers for minutes. */
function named(file: ReferenceFile, prefix: string): ReferenceFile {
  const hosts = file.trainer.hosts.map((host, index) => ({ ...host, name: `${prefix}-${index + 1}` }));
  return { ...file, trainer: { ...file.trainer, hosts } };
}

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
  const file = named(localFile(), 'well');
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
    ...named(localFile(), 'off'),
    user: { ...(localFile().user as object), baseUrl: expiredUrl() },
  };
  await begin((healthy) => healthy, file);
  const { code, err } = await dryRun(file, '--offline');
  expect(err).toContain('- simulated user and judge: not checked, --offline: nobody was asked');
  expect(code).toBe(0);
});

it('prints one part alone, and the same one every time', async () => {
  const file = named(localFile(), 'part');
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
  const file = named(localFile(), 'sick');
  const checkpoints = file.trainer.checkpoints;
  const sick: ReferenceFile = {
    ...file,
    user: { baseUrl: expiredUrl(), model: 'm', apiKeyEnv: 'USER_KEY' },
    judge: { ...(file.judge as object), apiKeyEnv: 'NO_SUCH_KEY' },
    train: { ...file.train, shape: { groups: 200, groupSize: 8, maxGroups: 800 } },
    trainer: { ...file.trainer, tokensPerGpu: 1_000, overrides: { 'trainer.save_freq': -1 } },
  };
  await begin(([one, two]) => {
    const apart = join(folder, 'apart');
    mkdirSync(apart);
    const saved = one!.places[checkpoints]!;
    makeCheckpoint(saved, 5, 16);
    makeCheckpoint(saved, 10, 24);
    truncateSync(join(saved, 'global_step_10/actor/optim_world_size_24_rank_3.pt'), 0);
    writeFileSync(join(saved, OWNER_FILE), JSON.stringify({ run: 'train/other' }));
    truncateSync(join(two!.places[file.trainer.model]!, 'model-00002-of-00002.safetensors'), 500);
    return [
      {
        ...one!,
        gpus: [0, 1, 2, 3, 4, 5, 6],
        packages: { ...one!.packages, vllm: '0.31.0' },
        freeBytes: 1_000,
        proxies: { http_proxy: 'http://a:1', HTTP_PROXY: 'http://user:secret@b:2', no_proxy: 'localhost' },
      },
      {
        ...two!,
        places: { ...two!.places, [checkpoints]: apart },
        files: { ...two!.files, [file.trainer.pins.files[0]!.file]: 'f'.repeat(64) },
        clockAheadMs: 3_600_000,
      },
      // The third is not there at all.
    ];
  }, file);
  const { code, out } = await dryRun(sick, '--json');
  expect(code).toBe(2);
  const { problems } = JSON.parse(out) as { problems: readonly string[] };
  const said = problems.join('\n');
  const zero = '0'.repeat(64);
  const patched = file.trainer.pins.files[0]!.file;
  for (const words of [
    'host sick-3: expected an answer of its worker, found no worker polls its queue, gpu-sick-3. Start it there: steadfast workers gpu --host sick-3',
    'GPUs of sick-1: expected GPUs 0, 1, 2, 3, 4, 5, 6, 7, found no 7 (there: 0, 1, 2, 3, 4, 5, 6).',
    'vllm on sick-1: expected 0.32.0, found 0.31.0. Install it there: /opt/verl/bin/python -m pip install vllm==0.32.0',
    `${patched} on sick-2: expected the patched file, sha256 ${zero}, found sha256 ${'f'.repeat(64)}. Apply the patch there`,
    'model-00002-of-00002.safetensors on sick-2: expected 1097 bytes, as its header says, found 500. Download the model again',
    `${checkpoints} on sick-1: expected the files that all other hosts write there, found sick-2's missing`,
    `${checkpoints} on sick-2: expected the files that all other hosts write there, found sick-1's missing`,
    `${checkpoints} on sick-1: expected 42 KiB free for 6 that stay and one being written, 6.0 KiB each, found 1000 bytes free. Make room, or keep fewer`,
    `${checkpoints}/${OWNER_FILE}: expected the folder of train/q38, found that of train/other. Give each run a checkpoint folder of its own`,
    `${checkpoints}/global_step_5: expected shards of 24 processes, found of 16. Train on 16 GPUs as before`,
    `${checkpoints}/global_step_10: expected a whole checkpoint, found no actor/optim_world_size_24_rank_3.pt. Move it away: it was not written to its end, and Verl would restart from it`,
    'judge.apiKeyEnv: expected a secret in the environment variable NO_SUCH_KEY, found none. Set it here and for the sandbox workers',
    'this key has expired. Renew the key in USER_KEY: it has expired, or is of another account.',
    'HTTP_PROXY on sick-1: expected the same as http_proxy, http://a:1, found http://b:2. Set both to one address',
    'NO_PROXY on sick-1: expected the hosts of the cluster, which talk to each other, found none for sick-1, sick-2, sick-3',
    'training pool: expected at least 200 tasks, one batch, found 150. Name a larger pool',
    'trainer.tokensPerGpu: expected at least 33280, so that the longest episode fits the 4 GPUs that share it, found 1000',
    'trainer.overrides.trainer.save_freq: expected a setting that no other part of the run file decides, found -1',
  ]) {
    expect(said).toContain(words);
  }
  expect(said).toMatch(
    /clock of sick-[12]: expected within 2 s of sick-[12]'s, found at least 3\d{3}\.\d s (ahead|behind)\. Let a time service set it/,
  );
  expect(said).not.toContain('secret@');
  // Each fault is told once.
  expect(new Set(problems).size).toBe(problems.length);
  expect(await (await context.ledger()).campaign('train/q38')).toBeUndefined();
});

it('a host that dies over the question is one problem, and the others are checked', async () => {
  const file = named(localFile(), 'dying');
  await begin(([one, two, three]) => [{ ...one!, dies: true }, two!, three!], file);
  const { code, err } = await dryRun(file, '--offline');
  expect(code).toBe(2);
  expect(err).toMatch(/✗ host dying-1: expected an answer of its worker, found its worker/);
  expect(err).toMatch(/✓ checkpoint folder: \S+, written and read by 2 hosts/);
}, 240_000);

function expiredUrl(): string {
  return `http://127.0.0.1:${(expired.address() as AddressInfo).port}/v1`;
}
