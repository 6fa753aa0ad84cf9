/** A process of the bridge's group is killed: the session ends with it, and the run's checkpoint brings it back. */
import path from 'node:path';
import { expect } from 'vitest';
import { createTrainerClient } from '../../activities/trainer/client.js';
import { PLAN } from '../../activities/trainer/conformance/bench.js';
import { readCapabilities } from '../../activities/trainer/conformance/capabilities.js';
import {
  sampleEpisodes,
  type WrittenBatch,
  writeBatch,
} from '../../activities/trainer/conformance/material.js';
import type { UpdateReport } from '../../core/trainer.js';
import type { Bridge } from './bridge.js';

const RUN = 'train/killed';
const signal = new AbortController().signal;

/** `processes`: of the whole group; the last of them is killed. `folder` is the bridge's. */
export async function comesBack(
  bridge: Bridge,
  folder: string,
  processes: () => readonly number[],
): Promise<void> {
  const trainer = createTrainerClient({ url: bridge.url });
  const base = await trainer.serve(undefined, signal);
  const capabilities = readCapabilities(await trainer.capabilities(signal));
  const sample = (number: number) => sampleEpisodes({ ...base, capabilities, signal }, number);
  const written = async (number: number): Promise<WrittenBatch> =>
    writeBatch(folder, base.weightVersion, await sample(number));
  const batches = [await written(1), await written(2)] as const;
  const update = async (op: string, batch: WrittenBatch): Promise<UpdateReport> => {
    const { weightDigest: baseDigest } = await trainer.state(signal);
    const { digest: batchDigest, path: batchPath } = batch;
    return trainer.update(
      { run: RUN, op, baseDigest: baseDigest!, batchDigest, batchPath, plan: PLAN },
      signal,
    );
  };
  const sequence = [...batches[0].episodes[0]!.ids];
  const agrees = async (version: string): Promise<void> => {
    const probed = await trainer.probe(version, [sequence], signal);
    for (const [index, value] of probed.trainer[0]!.entries()) {
      expect(probed.sampler[0]![index]).toBeCloseTo(value, 3);
    }
  };
  const samplesTheBase = async (): Promise<void> => {
    const { ids, sampled, logprobs } = (await sample(3))[0]!;
    const [ours] = (await trainer.probe(base.weightVersion, [[...ids]], signal)).trainer;
    for (const [place, wasSampled] of sampled.entries()) {
      if (wasSampled) expect(logprobs[place]).toBeCloseTo(ours![place - 1]!, 3);
    }
  };

  await trainer.open(RUN, undefined, signal);
  await update('1', batches[0]);
  const saved = await trainer.checkpoint(RUN, path.join(folder, 'saved'), signal);
  const expected = await update('2', batches[1]);
  // The ranks have the newest weights in their engine.
  await samplesTheBase();
  const { weightVersion } = await trainer.publish(RUN, signal);
  await agrees(weightVersion);
  const first = processes();

  process.kill(first.at(-1)!, 'SIGKILL');
  await expect(update('3', batches[0])).rejects.toMatchObject({ code: 'not_open' });
  expect((await trainer.state(signal)).run).toBeUndefined();
  expect((await trainer.state(signal)).served).not.toContain(weightVersion);
  await expect(trainer.checkpoint(RUN, path.join(folder, 'saved'), signal)).rejects.toMatchObject({
    code: 'not_open',
  });

  await trainer.open(RUN, saved.path, signal);
  expect(processes()).toHaveLength(first.length);
  expect(processes().some((id) => first.includes(id))).toBe(false);
  const again = await update('2', batches[1]);
  expect([again.weightDigest, again.optimizerDigest]).toEqual([
    expected.weightDigest,
    expected.optimizerDigest,
  ]);
  // The same version as before the kill, and from where it can be sampled.
  expect((await trainer.publish(RUN, signal)).weightVersion).toBe(weightVersion);
  await agrees(weightVersion);
}
