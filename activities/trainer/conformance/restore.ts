/** Checkpoints bring everything back: weights, optimizer, applied operations; and later batches apply again. */
import path from 'node:path';
import type { UpdateReport } from '../../../core/trainer.js';
import { type Bench, PLAN } from './bench.js';
import { type Check, hold, NotClaimed, same } from './check.js';
import { core } from './updates.js';

export const RESTORE_CHECKS: readonly Check[] = [
  {
    name: 're-apply',
    promise:
      'After a restore the recorded batches of later steps really apply again and give the same digests.',
    async run({ batches, folder, open, trainer, signal }) {
      const [first, second, third, fourth] = batches;
      const session = await open();
      const reports = [
        await session.update({ op: '1', batch: first }),
        await session.update({ op: '2', batch: second }),
      ];
      const saved = await trainer.checkpoint(session.run, path.join(folder, 're-apply'), signal);
      reports.push(await session.update({ op: '3', batch: third }));
      reports.push(await session.update({ op: '4', batch: fourth }));
      await open();
      const restored = await open({ run: session.run, from: saved.path });
      const state = await restored.state();
      same('operations in the checkpoint', state.appliedOps, ['1', '2']);
      same('weights in the checkpoint', state.weightDigest, reports[1]!.weightDigest);
      same('optimizer in the checkpoint', state.optimizerDigest, reports[1]!.optimizerDigest);
      const again = [
        await restored.update({ op: '3', batch: third, baseDigest: reports[2]!.baseDigest }),
        await restored.update({ op: '4', batch: fourth, baseDigest: reports[3]!.baseDigest }),
      ];
      same('digests of steps 3 and 4', again.map(digests), reports.slice(2).map(digests));
      hold(again[0]!.weightDigest !== again[0]!.baseDigest, 'the re-applied batch changed nothing');
      return 'steps 3 and 4 applied again after a restore to step 2: equal weight and optimizer digests';
    },
  },
  {
    name: 'operations-in-checkpoint',
    promise:
      'The applied operations are part of the checkpoint: after a restore they answer with their reports.',
    async run({ batches: [first, second], folder, open, trainer, signal }) {
      const session = await open();
      const baseDigest = await session.weights();
      const report = await session.update({ op: 'one', batch: first, baseDigest });
      const saved = await trainer.checkpoint(session.run, path.join(folder, 'operations'), signal);
      await session.update({ op: 'two', batch: second });
      const restored = await open({ run: session.run, from: saved.path });
      const before = core(await restored.state());
      same(
        'the reply to a known operation',
        await restored.update({ op: 'one', batch: first, baseDigest }),
        report,
      );
      same('its status', await restored.status('one'), { state: 'done', report });
      same('the status of a later operation', await restored.status('two'), { state: 'unknown' });
      same('state after the send', core(await restored.state()), before);
      return 'an operation from before the checkpoint answered with its report; one from after it is unknown';
    },
  },
  {
    name: 'optimizer-restored',
    promise: 'A resumed session equals one that was never interrupted, and differs from a cold optimizer.',
    async run(bench) {
      const { batches, capabilities, folder, open, trainer, signal } = bench;
      if (!capabilities.optimizerRestore) throw new NotClaimed('capabilities.optimizer.restore is not true');
      const [first, second] = batches;
      // A learning rate of 0 moves the optimizer and leaves the weights: the two starts differ in the optimizer alone.
      const warmUp = { op: 'warm-up', batch: first, plan: { ...PLAN, learningRate: 0 } };
      const cold = digests(await (await open()).update({ op: 'x', batch: second }));
      const warm = await open();
      const base = await warm.weights();
      await warm.update(warmUp);
      same('weights after a learning rate of 0', await warm.weights(), base);
      const saved = await trainer.checkpoint(warm.run, path.join(folder, 'optimizer'), signal);
      const uninterrupted = digests(await warm.update({ op: 'x', batch: second }));
      const resumed = await open({ run: warm.run, from: saved.path });
      const found = digests(await resumed.update({ op: 'x', batch: second }));
      hold(
        uninterrupted[0] !== cold[0],
        'an optimizer with a history gives the same weights as a cold one: it has no effect',
      );
      same('resumed against uninterrupted', found, uninterrupted);
      return 'from equal weights: resumed = uninterrupted, both differ from a cold optimizer';
    },
  },
  {
    name: 'no-leftovers',
    promise: 'A new session holds nothing of a dead one: no gradient, no moment, no operation.',
    async run({ batches: [first, second, third], write, open }) {
      const reference = await open();
      const expected = fingerprint(await reference.update({ op: 'x', batch: first }));
      const dirty = await open();
      await dirty.update({ op: '1', batch: second, plan: { learningRate: 0.01 } });
      const gone = new AbortController();
      const lost = dirty.update({ op: '2', batch: third }, gone.signal);
      lost.catch(() => undefined);
      setTimeout(() => gone.abort(new Error('the worker died')), 5);
      await Promise.allSettled([lost]);

      const fresh = await open();
      const state = await fresh.state();
      same('a fresh session', [state.step, state.appliedOps], [0, []]);
      same('its weights', state.weightDigest, await weightsOf({ open }));
      const nothing = await write(first.episodes.map((episode) => ({ ...episode, advantage: 0 })));
      const empty = await (await open()).update({ op: '0', batch: nothing });
      same('the gradient norm of a batch without advantage', empty.gradNorm, 0);
      const found = fingerprint(await (await open()).update({ op: 'x', batch: first }));
      same('the first update of a fresh session', found, expected);
      return 'after a session with a large update and an abandoned one: gradient norm 0 on nothing, first update as before';
    },
  },
  {
    name: 'serve-apart',
    promise: 'Serving a checkpoint gives its weights and never touches the training session.',
    async run({ batches: [first, second], folder, open, trainer, signal }) {
      const session = await open();
      await session.update({ op: '1', batch: first });
      const saved = await trainer.checkpoint(session.run, path.join(folder, 'serve'), signal);
      await session.update({ op: '2', batch: second });
      const before = core(await session.state());
      const served = await trainer.serve(saved.path, signal);
      same('weights served', served.weightVersion, saved.manifest.weightDigest);
      hold(
        (await session.state()).served.includes(served.weightVersion),
        'state.served does not name the served weights',
      );
      await trainer.release(served.weightVersion, signal);
      await trainer.release(served.weightVersion, signal);
      same('the session', core(await session.state()), before);
      return 'a checkpoint served and released twice; the session kept step, digests and operations';
    },
  },
];

async function weightsOf({ open }: Pick<Bench, 'open'>): Promise<string> {
  return (await open()).weights();
}

function digests({ weightDigest, optimizerDigest }: UpdateReport): readonly string[] {
  return [weightDigest, optimizerDigest];
}

/** All of a report that decides or measures, without the wall time. */
function fingerprint({ seconds: _seconds, ...rest }: UpdateReport): object {
  return rest;
}
