/** A checkpoint is complete or it is not there: manifests say the truth, and nothing else is ever restored. */
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { verifyCheckpoint } from '../checkpoint-files.js';
import type { Bench } from './bench.js';
import { type Check, NotClaimed, refused, same } from './check.js';
import { copyCheckpoint, damages, MANIFEST } from './damage.js';
import { core } from './updates.js';

export const CHECKPOINT_CHECKS: readonly Check[] = [
  {
    name: 'manifest',
    promise:
      'A checkpoint’s manifest names every file with size and SHA-256, the step, digests and operations.',
    async run(bench) {
      const { saved, session } = await savedTwice(bench, 'manifest');
      await visible(saved.path);
      const verified = await verifyCheckpoint(saved.path);
      same('problems of the folder', verified.problems, []);
      const state = await session.state();
      const { run, step, weightDigest, optimizerDigest, appliedOps, trainerBuild } = saved.manifest;
      same('the manifest', { run, step, weightDigest, optimizerDigest, appliedOps }, core(state));
      same('its build', trainerBuild, state.build);
      const again = await bench.trainer.checkpoint(session.run, path.dirname(saved.path), bench.signal);
      same('the same checkpoint again', [again.path, again.manifest], [saved.path, saved.manifest]);
      return `${saved.manifest.files.length} files verified by our own reading${verified.notes.map((note) => `; ${note}`).join('')}; saved again: the same`;
    },
  },
  {
    name: 'damaged-checkpoints',
    promise:
      'Half-written, truncated, bit-flipped, foreign and forged checkpoints are refused and change nothing.',
    async run(bench) {
      const { folder, signal, trainer } = bench;
      const { other, saved, session } = await savedTwice(bench, 'damage');
      await visible(saved.path);
      const before = core(await session.state());
      const cases = damages(saved.manifest, other.path);
      for (const [number, { what, spoil }] of cases.entries()) {
        const dir = path.join(folder, `damaged-${number}`, path.basename(saved.path));
        await copyCheckpoint(saved.path, dir);
        await spoil(dir);
        await refused(`open with ${what}`, 'bad_checkpoint', trainer.open(session.run, dir, signal));
        await refused(`serve with ${what}`, 'bad_checkpoint', trainer.serve(dir, signal));
        await rm(path.dirname(dir), { recursive: true });
      }
      same('the session', core(await session.state()), before);
      await trainer.open(session.run, saved.path, signal);
      return `${cases.length} kinds of damage refused by open and serve; the intact folder opens`;
    },
  },
];

async function savedTwice({ batches: [first, second], folder, open, trainer, signal }: Bench, name: string) {
  const session = await open();
  await session.update({ op: 'one', batch: first });
  const dir = path.join(folder, name);
  const other = await trainer.checkpoint(session.run, dir, signal);
  await session.update({ op: 'two', batch: second });
  return { session, other, saved: await trainer.checkpoint(session.run, dir, signal) };
}

/** A trainer on another host writes to a folder of its own. */
async function visible(dir: string): Promise<void> {
  try {
    await stat(path.join(dir, MANIFEST));
  } catch (error) {
    throw new NotClaimed(`the checkpoint folder cannot be read from here: ${(error as Error).message}`);
  }
}
