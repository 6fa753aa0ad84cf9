/** Two ranks of Verl over Ray on the CPU: one of them is killed, and the run's checkpoint brings the session back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { PLAN } from '../../activities/trainer/conformance/bench.js';
import { readCapabilities } from '../../activities/trainer/conformance/capabilities.js';
import {
  sampleEpisodes,
  type WrittenBatch,
  writeBatch,
} from '../../activities/trainer/conformance/material.js';
import { runConformance } from '../../activities/trainer/conformance/suite.js';
import type { Trainer, UpdateReport } from '../../core/trainer.js';
import { type Bridge, startBridge, tinyModel, verlPython } from './bridge.js';

const LIMIT_MS = 60 * 60_000;
const RUN = 'train/killed';
/** What more than one rank could break. */
const CHECKS = [
  ...['update-once', 're-apply', 'optimizer-restored', 'manifest', 'damaged-checkpoints'],
  ...['token-mean', 'denominator', 'kl-to-base', 'importance-weights', 'samples-are-of-their-weights'],
];

const signal = new AbortController().signal;
const python = verlPython();

describe.skipIf(python === undefined)('two ranks of Verl over Ray', () => {
  let folder = '';
  let bridge: Bridge;
  let trainer: Trainer;
  const batches: WrittenBatch[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-ranks-'));
    await tinyModel(python!, path.join(folder, 'model'), 2);
    bridge = await startBridge(python!, folder, ['--ranks', 'ray']);
    trainer = createTrainerClient({ url: bridge.url });
    const capabilities = readCapabilities(await trainer.capabilities(signal));
    const base = await trainer.serve(undefined, signal);
    for (const number of [1, 2]) {
      const episodes = await sampleEpisodes({ ...base, capabilities, signal }, number);
      batches.push(await writeBatch(folder, base.weightVersion, episodes));
    }
  }, LIMIT_MS);
  afterAll(async () => {
    await bridge?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    'a rank that is killed ends the session, and the checkpoint brings it back',
    async () => {
      await trainer.open(RUN, undefined, signal);
      await update('1', 0);
      const saved = await trainer.checkpoint(RUN, path.join(folder, 'saved'), signal);
      const expected = await update('2', 1);
      const { weightVersion } = await trainer.publish(RUN, signal);
      const first = bridge.ranks();
      expect(first).toHaveLength(2);

      process.kill(first[1]!, 'SIGKILL');
      await expect(update('3', 0)).rejects.toMatchObject({ code: 'not_open' });
      expect((await trainer.state(signal)).run).toBeUndefined();
      expect((await trainer.state(signal)).served).not.toContain(weightVersion);
      await expect(trainer.checkpoint(RUN, path.join(folder, 'saved'), signal)).rejects.toMatchObject({
        code: 'not_open',
      });

      await trainer.open(RUN, saved.path, signal);
      expect(bridge.ranks()).toHaveLength(2);
      expect(bridge.ranks().some((id) => first.includes(id))).toBe(false);
      const again = await update('2', 1);
      expect([again.weightDigest, again.optimizerDigest]).toEqual([
        expected.weightDigest,
        expected.optimizerDigest,
      ]);
      // The same version as before the kill, and from where it can be sampled.
      expect((await trainer.publish(RUN, signal)).weightVersion).toBe(weightVersion);
      const sequence = [...batches[0]!.episodes[0]!.ids];
      const probed = await trainer.probe(weightVersion, [sequence], signal);
      for (const [index, value] of probed.trainer[0]!.entries()) {
        expect(probed.sampler[0]![index]).toBeCloseTo(value, 3);
      }
    },
    LIMIT_MS,
  );

  test(
    'keep the promises that more than one rank could break',
    async () => {
      const limits = { waitMs: 10 * 60_000, checkMs: 30 * 60_000 };
      const only = CHECKS;
      const report = await runConformance({ url: bridge.url, signal, folder, force: true, only, ...limits });
      expect(report.checks.filter(({ outcome }) => outcome !== 'pass')).toEqual([]);
    },
    LIMIT_MS,
  );

  async function update(op: string, number: number): Promise<UpdateReport> {
    const { weightDigest } = await trainer.state(signal);
    const { digest, path: file } = batches[number]!;
    return trainer.update(
      { run: RUN, op, baseDigest: weightDigest!, batchDigest: digest, batchPath: file, plan: PLAN },
      signal,
    );
  }
});
