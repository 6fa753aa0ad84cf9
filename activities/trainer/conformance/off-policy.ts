/**
 * What a trainer does about the difference between itself and the sampler: the bound that refuses an update, and
 * truncated importance weights. Both against our own computation from probed log-probabilities.
 */
import type { BatchEpisode } from '../../../core/batch.js';
import { Fault } from '../../../core/faults.js';
import type { UpdatePlan } from '../../../core/trainer.js';
import type { Bench, Session } from './bench.js';
import { Broken, type Check, close, hold, NotClaimed, same } from './check.js';
import { importanceNumbers, mismatch, type Probed, sequencesOf, shifted } from './loss.js';
import type { WrittenBatch } from './material.js';
import { core } from './updates.js';

const EXACT = 1e-6;
/** Gradient norms, relative: two orders of summation. */
const ROUNDING = 1e-4;
/** One that cuts a part of the shifted batch, and one that cuts nearly all of it. */
const CAPS = [2, 1.01, 0.7] as const;

export const OFF_POLICY_CHECKS: readonly Check[] = [
  {
    name: 'mismatch-bound',
    promise:
      'An update whose batch differs from the trainer by more than the plan’s bound is refused before the weights move.',
    async run(bench) {
      const { batches, base, capabilities, write, open, trainer, signal } = bench;
      if (!capabilities.mismatchBound) throw new NotClaimed('capabilities.mismatchBound is not true');
      const batch = await write(batches[0].episodes.map(shifted));
      const plain = await (await open()).update({ op: 'one', batch });
      const session = await open();
      const probed = await trainer.probe(base.weightVersion, sequencesOf(batch.episodes), signal);
      const { mean, max, share } = mismatch(batch.episodes, probed.trainer);
      const before = core(await session.state());
      for (const bound of [
        { meanAbove: 0.9 * mean, shareAbove: 1 },
        { meanAbove: 10 * mean, shareAbove: 0.9 * share },
      ]) {
        const details = await offPolicy(session, batch, { mismatch: bound });
        close('mismatchMean of the refusal', details.mismatchMean ?? Number.NaN, mean, EXACT);
        close('mismatchMax of the refusal', details.mismatchMax ?? Number.NaN, max, 1e-5);
        same('state after the refusal', core(await session.state()), before);
        hold((await session.status('one')).state !== 'done', 'the refused operation counts as done');
      }
      const wide = { meanAbove: 1.1 * mean, shareAbove: 1 };
      const report = await session.update({ op: 'one', batch, plan: { mismatch: wide } });
      same('weights within the bound', report.weightDigest, plain.weightDigest);
      return `mean ${mean.toFixed(4)}, share ${share.toFixed(4)}: refused below either, nothing changed; within both the weights of an update without a bound`;
    },
  },
  {
    name: 'importance-weights',
    promise:
      'Truncated importance weights multiply each token’s loss by min(exp(trainer - sampler), cap), a constant in the gradient.',
    async run(bench) {
      const { batches, base, capabilities, write, open, trainer, signal } = bench;
      if (!capabilities.importance.includes('truncated')) {
        throw new NotClaimed('capabilities.importance does not name truncated');
      }
      const batch = await write(batches[0].episodes.map(shifted));
      const probed = await trainer.probe(base.weightVersion, sequencesOf(batch.episodes), signal);
      const found: string[] = [];
      for (const cap of CAPS) {
        const expected = importanceNumbers(batch.episodes, probed.trainer, cap);
        const plan = { importance: { kind: 'truncated', cap } } as const;
        const report = await (await open()).update({ op: 'one', batch, plan });
        close(`loss at cap ${cap}`, report.loss, expected.loss, EXACT);
        close(`importanceMean at cap ${cap}`, report.importanceMean ?? Number.NaN, expected.mean, EXACT);
        const capped = report.importanceCapped ?? Number.NaN;
        if (expected.margin > 1e-4) close(`importanceCapped at cap ${cap}`, capped, expected.capped, EXACT);
        found.push(`${report.loss} at cap ${cap} (${(100 * expected.capped).toFixed(0)} % cut)`);
      }
      await constantInTheGradient(bench, probed.trainer);
      return `loss ${found.join(', ')}: ours within ${EXACT}; a weight of 1/2 on every token halves the gradient`;
    },
  },
];

/** The figures of the refusal. Throws `Broken` when it is none, or one with another code. */
async function offPolicy(
  session: Session,
  batch: WrittenBatch,
  plan: Partial<UpdatePlan>,
): Promise<Fault['details']> {
  let weights: string;
  try {
    weights = (await session.update({ op: 'one', batch, plan })).weightDigest;
  } catch (error) {
    if (error instanceof Fault && error.code === 'off_policy') return error.details;
    const found = error instanceof Fault ? `${error.code}: ${error.message}` : String(error);
    throw new Broken(`a batch beyond the bound: expected a refusal with off_policy, found ${found}`);
  }
  throw new Broken(
    `a batch beyond the bound: expected a refusal with off_policy, found new weights ${weights}`,
  );
}

/** A gradient that went through the weights too would double: at the start both depend on the weights alike. */
async function constantInTheGradient({ batches, write, open }: Bench, probed: Probed): Promise<void> {
  const norm = async (episodes: readonly BatchEpisode[], cap: number) => {
    const plan = { importance: { kind: 'truncated', cap } } as const;
    return (await (await open()).update({ op: 'one', batch: await write(episodes), plan })).gradNorm;
  };
  const episodes = batches[0].episodes;
  const plain = (await (await open()).update({ op: 'one', batch: batches[0] })).gradNorm;
  hold(plain > 0, 'the gradient norm is 0');
  for (const [factor, difference, cap] of [
    [0.5, Math.LN2, 10],
    [1.5, -3, 1.5],
  ] as const) {
    const moved = episodes.map((episode, index) => awayBy(episode, probed[index]!, difference));
    const expected = factor * plain;
    close(`gradient norm at weight ${factor}`, await norm(moved, cap), expected, expected * ROUNDING);
  }
}

/** Sampler's log-probabilities that lie `difference` above the trainer's on every sampled token. */
function awayBy(episode: BatchEpisode, probed: readonly number[], difference: number): BatchEpisode {
  const logprobs = episode.logprobs.map((value, position) =>
    episode.sampled[position] === 1 ? probed[position - 1]! + difference : value,
  );
  return { ...episode, logprobs };
}
