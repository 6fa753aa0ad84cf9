/** The trainer contract through the client, against the real trainer: compare-and-swap, kills, checkpoints, leases. */
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { encodeBatch } from '../../core/batch.js';
import type { Trainer, UpdatePlan } from '../../core/trainer.js';
import { startHttpProxy } from '../faults/http-proxy.js';
import { BASE, finished, type RunningTrainer, runTrainer, startTrainer } from './server.js';

const PLAN: UpdatePlan = {
  learningRate: 1e-3,
  weightDecay: 0,
  clip: 0.2,
  dualClip: 3,
  maxGradNorm: 1,
  normalisation: 'token-mean',
};
const signal = new AbortController().signal;

let server: RunningTrainer;
let trainer: Trainer;
let folder: string;
let batches: readonly { digest: string; path: string }[];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'trainer contract '));
  batches = await Promise.all([1, 2, 3].map((step) => writeBatch(step)));
  await restart();
});
afterAll(async () => {
  await server.end('SIGTERM');
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  if (server.child.signalCode !== null) await restart();
  await trainer.open('train/t', undefined, signal);
});

async function restart(): Promise<void> {
  server = await startTrainer();
  trainer = createTrainerClient({ url: server.url });
}

async function writeBatch(step: number): Promise<{ digest: string; path: string }> {
  const episodes = Array.from({ length: 8 }, (_, n) => {
    const length = 30 + ((n * 7 + step) % 20);
    const ids = Int32Array.from({ length }, (_, i) => 260 + ((i * 31 + n * 17 + step * 5) % 190));
    const sampled = Uint8Array.from({ length }, (_, i) => (i > 4 && i % 3 > 0 ? 1 : 0));
    const logprobs = Float32Array.from({ length }, (_, i) => (sampled[i] ? -0.5 : 0));
    return { key: `train/t/step-${step} · task · 0.0.${n}`, ids, sampled, logprobs, advantage: n - 3.5 };
  });
  const bytes = encodeBatch({ run: 'train/t', step, weightVersion: 'sha256:0', episodes });
  const file = path.join(folder, `batch-${step}`);
  await writeFile(file, bytes);
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, path: file };
}

async function update(step: number, base?: string) {
  const batch = batches[step - 1]!;
  const baseDigest = base ?? (await trainer.state(signal)).weightDigest!;
  return trainer.update(
    {
      run: 'train/t',
      op: `op-${step}`,
      baseDigest,
      batchDigest: batch.digest,
      batchPath: batch.path,
      plan: PLAN,
    },
    signal,
  );
}

test('an update is applied once, however often it is sent', async () => {
  const { weightDigest: base } = await trainer.state(signal);
  const sent = await Promise.all([update(1, base), update(1, base), update(1, base)]);
  expect(sent[1]).toEqual(sent[0]);
  expect(sent[2]).toEqual(sent[0]);
  expect(await trainer.state(signal)).toMatchObject({ step: 1, appliedOps: ['op-1'] });
  expect(await trainer.status('train/t', 'op-1', signal)).toEqual({ state: 'done', report: sent[0] });
  expect(await trainer.status('train/t', 'op-2', signal)).toEqual({ state: 'unknown' });
  await expect(update(2, base)).rejects.toMatchObject({ kind: 'trainer', code: 'stale_base', retry: false });
});

test('a caller that goes away finds the update done', async () => {
  const gone = new AbortController();
  const { weightDigest: baseDigest } = await trainer.state(signal);
  const { digest, path: batchPath } = batches[0]!;
  const request = {
    run: 'train/t',
    op: 'op-1',
    baseDigest: baseDigest!,
    batchDigest: digest,
    batchPath,
    plan: PLAN,
  };
  // It goes away when the work is done and the reply is on its way, whatever the speed of the machine.
  const proxy = await startHttpProxy(server.url, async (sent, forward) => {
    const reply = await forward(sent);
    gone.abort(new Error('worker shut down'));
    return reply;
  });
  const lost = createTrainerClient({ url: proxy.url }).update(request, gone.signal);
  await expect(lost).rejects.toThrow('worker shut down');
  await proxy.close();
  const report = await trainer.update(request, signal);
  expect(await trainer.state(signal)).toMatchObject({ step: 1, weightDigest: report.weightDigest });
});

test('kill -9, a checkpoint and the recorded batches give the same weights', async () => {
  await update(1);
  const saved = await trainer.checkpoint('train/t', path.join(folder, 'kill'), signal);
  const lines = [await update(2), await update(3)];
  await server.end('SIGKILL');
  await expect(trainer.state(signal)).rejects.toMatchObject({ code: 'unreachable', retry: true });
  await restart();
  expect(await trainer.state(signal)).toMatchObject({ step: 0, run: undefined, served: [] });
  await expect(update(2, lines[0]!.baseDigest)).rejects.toMatchObject({ code: 'not_open', retry: true });
  expect(await trainer.open('train/t', saved.path, signal)).toMatchObject({ step: 1, appliedOps: ['op-1'] });
  const again = [await update(2), await update(3)];
  expect(again.map((r) => [r.weightDigest, r.optimizerDigest])).toEqual(
    lines.map((r) => [r.weightDigest, r.optimizerDigest]),
  );
  const second = await trainer.checkpoint('train/t', path.join(folder, 'kill'), signal);
  expect(path.basename(second.path)).toBe('step-0003');
  expect(second.manifest.weightDigest).toBe(lines[1]!.weightDigest);
});

test('a damaged checkpoint is refused, and a half-written one does not exist', async () => {
  await update(1);
  const dir = path.join(folder, 'damage');
  const { path: saved, manifest } = await trainer.checkpoint('train/t', dir, signal);
  expect(await readdir(dir)).toEqual(['step-0001']);
  expect((await readdir(saved)).toSorted()).toEqual(
    [...manifest.files.map((f) => f.name), 'manifest.json'].toSorted(),
  );
  await truncate(path.join(saved, 'model.safetensors'), 1000);
  const before = await trainer.state(signal);
  await expect(trainer.open('train/t', saved, signal)).rejects.toMatchObject({
    code: 'bad_checkpoint',
    retry: false,
  });
  await expect(trainer.serve(saved, signal)).rejects.toMatchObject({ code: 'bad_checkpoint' });
  expect(await trainer.state(signal)).toEqual(before);
});

test('published weights are sampled, and served ones are leased', async () => {
  await update(1);
  const saved = await trainer.checkpoint('train/t', path.join(folder, 'lease'), signal);
  const { weightVersion } = await trainer.publish('train/t', signal);
  expect(weightVersion).toBe(saved.manifest.weightDigest);
  const served = await trainer.serve(saved.path, signal);
  expect(served).toEqual({ weightVersion, endpoint: `${server.url}/v1` });
  await trainer.release(weightVersion, signal);
  expect((await trainer.state(signal)).served).toContain(weightVersion);
  const base = await trainer.serve(undefined, signal);
  await trainer.release(base.weightVersion, signal);
  await trainer.release(base.weightVersion, signal);
  expect((await trainer.state(signal)).served).not.toContain(base.weightVersion);
});

test('the sampler agrees with the trainer on fixed sequences', async () => {
  const { weightVersion } = await trainer.publish('train/t', signal);
  const sequences = [
    [260, 261, 262, 300, 310],
    Array.from({ length: 300 }, (_, i) => 256 + ((i * 13) % 200)),
  ];
  const found = await trainer.probe(weightVersion, sequences, signal);
  expect(found.trainer.map((row) => row.length)).toEqual([4, 299]);
  for (const [i, row] of found.trainer.entries()) {
    for (const [j, value] of row.entries())
      expect(Math.abs(value - found.sampler[i]![j]!)).toBeLessThan(1e-3);
  }
  await expect(trainer.probe('sha256:none', sequences, signal)).rejects.toMatchObject({
    code: 'weights_unavailable',
  });
});

test('health and status answer while an update runs', async () => {
  const running = update(1);
  let asked = 0;
  for (;;) {
    const status = await trainer.status('train/t', 'op-1', signal);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    asked++;
    if (status.state === 'done') break;
    expect(['unknown', 'running']).toContain(status.state);
  }
  expect(asked).toBeGreaterThan(0);
  expect((await running).skipped).toBe(false);
});

test.each(['model.safetensors', 'tokenizer.json', 'config.json'])(
  'a base with a damaged %s does not start',
  async (name) => {
    const copy = path.join(folder, `base ${name}`);
    await cp(BASE, copy, { recursive: true });
    await truncate(path.join(copy, name), 40);
    const { code, err } = await finished(
      runTrainer('serve', ['--port', '0', '--home', folder, '--base', copy]),
    );
    expect(code).toBe(2);
    expect(err).toContain(path.join(copy, name));
    expect(err.trim().split('\n')).toHaveLength(1);
  },
);

test('a taken port and a missing base are one clear error each', async () => {
  const port = new URL(server.url).port;
  const taken = await finished(runTrainer('serve', ['--port', port, '--home', folder, '--base', BASE]));
  expect([taken.code, taken.err]).toEqual([2, expect.stringContaining(`--port: expected a free port`)]);
  const missing = await finished(
    runTrainer('serve', ['--port', '0', '--home', folder, '--base', '/nowhere']),
  );
  expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('/nowhere/config.json')]);
});
