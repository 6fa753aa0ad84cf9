/** One update is one unit, applied once: compare-and-swap on the weights, and the operation is the identity. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TrainerState } from '../../../core/trainer.js';
import { type Check, hold, refused, same } from './check.js';

export const UPDATE_CHECKS: readonly Check[] = [
  {
    name: 'update-once',
    promise: 'An update that is sent several times is applied once, and every reply is the same report.',
    async run({ batches: [batch], open }) {
      const reference = await open();
      const once = await reference.update({ op: 'one', batch });
      const session = await open();
      const baseDigest = await session.weights();
      const request = { op: 'one', batch, baseDigest };
      const reports = await Promise.all([1, 2, 3].map(() => session.update(request)));
      reports.push(await session.update(request));
      for (const report of reports) same('a repeated reply', report, reports[0]);
      same('weights after one update', reports[0]!.weightDigest, once.weightDigest);
      const state = await session.state();
      same('weights in force', state.weightDigest, once.weightDigest);
      same('optimizer in force', state.optimizerDigest, once.optimizerDigest);
      same('applied operations', [state.step, state.appliedOps], [1, ['one']]);
      hold(once.weightDigest !== baseDigest, 'the update did not change the weights');
      return 'sent three times at once and once again: 4 equal replies, 1 operation, the weights of a single update';
    },
  },
  {
    name: 'stale-base',
    promise: 'An update whose base is not the current weights is refused and changes nothing.',
    async run({ batches: [first, second], open }) {
      const session = await open();
      const baseDigest = await session.weights();
      await session.update({ op: 'one', batch: first });
      const before = await session.state();
      await refused('an old base', 'stale_base', session.update({ op: 'two', batch: second, baseDigest }));
      const nowhere = `sha256:${'0'.repeat(64)}`;
      await refused(
        'an unknown base',
        'stale_base',
        session.update({ op: 'two', batch: second, baseDigest: nowhere }),
      );
      same('state after the refusals', core(await session.state()), core(before));
      hold((await session.status('two')).state !== 'done', 'the refused operation counts as done');
      return 'an old and an unknown base refused; weights, optimizer and operations unchanged';
    },
  },
  {
    name: 'conflict',
    promise: 'A known operation with another batch, base or plan is refused and changes nothing.',
    async run({ batches: [first, second], open }) {
      const session = await open();
      const baseDigest = await session.weights();
      const request = { op: 'one', batch: first, baseDigest };
      const report = await session.update(request);
      const before = core(await session.state());
      await refused('another batch', 'conflict', session.update({ ...request, batch: second }));
      await refused('another plan', 'conflict', session.update({ ...request, plan: { learningRate: 2e-3 } }));
      await refused(
        'another base',
        'conflict',
        session.update({ ...request, baseDigest: report.weightDigest }),
      );
      same('state after the refusals', core(await session.state()), before);
      same('the report', await session.update(request), report);
      return 'another batch, plan and base refused; the operation still answers with its report';
    },
  },
  {
    name: 'bad-batch',
    promise: 'A batch that is missing, is not its digest or is malformed is refused and changes nothing.',
    async run({ batches: [batch], folder, open }) {
      const session = await open();
      const before = core(await session.state());
      const gone = { ...batch, path: path.join(folder, 'no-such-batch') };
      await refused('a missing file', 'bad_batch', session.update({ op: 'one', batch: gone }));
      const half = path.join(folder, 'half-a-batch');
      const bytes = await readFile(batch.path);
      await writeFile(half, bytes.subarray(0, bytes.length / 2));
      await refused(
        'half a file',
        'bad_batch',
        session.update({ op: 'one', batch: { ...batch, path: half } }),
      );
      const foreign = { ...batch, digest: `sha256:${'f'.repeat(64)}` };
      await refused('another digest', 'bad_batch', session.update({ op: 'one', batch: foreign }));
      same('state after the refusals', core(await session.state()), before);
      const { state } = await session.status('one');
      hold(state === 'failed' || state === 'unknown', `status of a refused operation: ${state}`);
      const report = await session.update({ op: 'one', batch });
      same('weights after the right batch', (await session.state()).weightDigest, report.weightDigest);
      return 'three bad batches refused; the same operation with the right one is applied';
    },
  },
  {
    name: 'zero-advantage',
    promise:
      'A batch whose advantages are all zero is recorded and leaves weights and optimizer as they are.',
    async run({ batches: [batch], write, open }) {
      const session = await open();
      const before = await session.state();
      const nothing = await write(batch.episodes.map((episode) => ({ ...episode, advantage: 0 })));
      const report = await session.update({ op: 'one', batch: nothing });
      same('skipped, loss, gradient norm', [report.skipped, report.loss, report.gradNorm], [true, 0, 0]);
      const after = await session.state();
      same('weights', after.weightDigest, before.weightDigest);
      same('optimizer', after.optimizerDigest, before.optimizerDigest);
      same('applied operations', after.appliedOps, ['one']);
      return 'skipped is true, loss and gradient norm are 0, digests unchanged, the operation is known';
    },
  },
];

/** Everything but what can be sampled from: that may change beside a session. */
export function core({ run, step, weightDigest, optimizerDigest, appliedOps }: TrainerState): object {
  return { run, step, weightDigest, optimizerDigest, appliedOps };
}
