/**
 * The numbers of a report, against our own computation. Batches are sorted by key, so that the probed log-probabilities
 * and the report speak of the same episodes in whatever order.
 *
 * Out of reach from here: the entropy (it needs every token's probability), the gradient itself (its norm is checked by
 * how it scales), and the clip at ratios other than 1, which an update of one optimizer step never meets.
 */
import { groupAdvantages } from '../../../core/advantages.js';
import type { BatchEpisode } from '../../../core/batch.js';
import { PLAN } from './bench.js';
import { type Check, close, hold, NotClaimed, same } from './check.js';
import { clippedLoss, klToBase, mismatch, sequencesOf, shifted, tokenNumbers } from './loss.js';

/** What the reference computation must meet; log-probabilities are float32 numbers of a few nats. */
const EXACT = 1e-6;
/** Of single log-probabilities that two forward passes give, and of sums that two orders give, relative. */
const ROUNDING = 1e-4;

export const NUMBER_CHECKS: readonly Check[] = [
  {
    name: 'token-mean',
    promise:
      'The loss is the clipped loss of all sampled tokens over their number, not a mean over episodes.',
    async run({ batches, capabilities, write, open }) {
      if (!capabilities.normalisation.includes('token-mean')) {
        throw new NotClaimed('capabilities.normalisation does not name token-mean');
      }
      const uneven = await write(lopsided(batches[0].episodes));
      const found: string[] = [];
      for (const batch of [uneven, ...batches]) {
        const expected = tokenNumbers(batch.episodes);
        const report = await (await open()).update({ op: 'one', batch });
        same('tokens', report.tokens, expected.tokens);
        close('loss', report.loss, expected.loss, EXACT);
        found.push(`${report.loss} over ${report.tokens} tokens`);
      }
      const { loss, episodeMeanLoss } = tokenNumbers(uneven.episodes);
      return `loss ${found.join('; ')}: ours within ${EXACT}; a mean over episodes would be ${episodeMeanLoss}, not ${loss}`;
    },
  },
  {
    name: 'denominator',
    promise: 'The denominator is the sampled tokens of the whole batch, over all micro-batches.',
    async run({ batches: [batch, other], write, open }) {
      const first = async (episodes: readonly BatchEpisode[]) =>
        (await open()).update({ op: 'one', batch: await write(episodes) });
      const single = await first(batch.episodes);
      const copies = [0, 1, 2, 3].flatMap((copy) =>
        batch.episodes.map((episode) => ({ ...episode, key: `${episode.key} ${copy}` })),
      );
      const fourfold = await first(copies);
      relative('loss of the batch four times over', fourfold.loss, single.loss);
      relative('gradient norm of the batch four times over', fourfold.gradNorm, single.gradNorm);
      const silent = other.episodes.map((episode) => ({ ...episode, advantage: 0 }));
      const diluted = await first([...batch.episodes, ...silent]);
      const share = single.tokens / diluted.tokens;
      relative('loss beside episodes without advantage', diluted.loss, single.loss * share);
      relative('gradient norm beside them', diluted.gradNorm, single.gradNorm * share);
      const doubled = await first(
        batch.episodes.map((episode) => ({ ...episode, advantage: 2 * episode.advantage })),
      );
      relative('gradient norm of doubled advantages', doubled.gradNorm, 2 * single.gradNorm);
      hold(single.gradNorm > 0, 'the gradient norm is 0');
      return `norm ${single.gradNorm}: same for the batch four times over, ${share.toFixed(3)} of it beside silent tokens, twice it for advantages doubled`;
    },
  },
  {
    name: 'old-policy',
    promise:
      'The old policy is the weights at the start; the sampler’s log-probabilities serve the mismatch only.',
    async run({ batches: [batch], write, open }) {
      const plain = await (await open()).update({ op: 'one', batch });
      const moved = await write(batch.episodes.map(shifted));
      const report = await (await open()).update({ op: 'one', batch: moved });
      close('loss', report.loss, plain.loss, EXACT);
      same('clip fraction', [plain.clipFraction, report.clipFraction], [0, 0]);
      same('weights', report.weightDigest, plain.weightDigest);
      return 'recorded log-probabilities moved by up to half a nat: equal loss and weights, nothing clipped';
    },
  },
  {
    name: 'mismatch',
    promise: 'The reported mismatch is the difference of trainer and sampler on the sampled tokens.',
    async run({ batches: [batch], base, write, open, trainer, signal }) {
      const moved = await write(batch.episodes.map(shifted));
      const session = await open();
      const probed = await trainer.probe(base.weightVersion, sequencesOf(moved.episodes), signal);
      const expected = mismatch(moved.episodes, probed.trainer);
      const report = await session.update({ op: 'one', batch: moved });
      close('mismatchMean', report.mismatchMean, expected.mean, EXACT);
      close('mismatchMax', report.mismatchMax, expected.max, 1e-5);
      if (expected.margin > 1e-4) close('mismatchShare', report.mismatchShare, expected.share, EXACT);
      return `mean ${report.mismatchMean}, maximum ${report.mismatchMax}, share ${report.mismatchShare}; ours from the probe: ${expected.mean}, ${expected.max}, ${expected.share}`;
    },
  },
  {
    name: 'kl-to-base',
    promise: 'The reported KL is the k3 estimate between base and current weights on the sampled tokens.',
    async run({ batches: [first, second], base, open, trainer, signal }) {
      const session = await open();
      const start = await session.update({ op: 'one', batch: first });
      close('KL of the base to itself', start.klToBase, 0, EXACT);
      const { weightVersion } = await trainer.publish(session.run, signal);
      const sequences = sequencesOf(second.episodes);
      const ours = await trainer.probe(weightVersion, sequences, signal);
      const theirs = await trainer.probe(base.weightVersion, sequences, signal);
      const expected = klToBase(second.episodes, ours.trainer, theirs.trainer);
      const report = await session.update({ op: 'two', batch: second });
      close('klToBase', report.klToBase, expected, Math.max(EXACT, expected * ROUNDING));
      hold(expected > 1e-6, 'one update left no distance to the base');
      return `${report.klToBase} nats a token; ours from two probes: ${expected}`;
    },
  },
  {
    name: 'direction',
    promise: 'An update lowers the clipped loss of its own batch.',
    async run({ batches: [batch], base, open, trainer, signal }) {
      const session = await open();
      const sequences = sequencesOf(batch.episodes);
      const before = await trainer.probe(base.weightVersion, sequences, signal);
      const report = await session.update({ op: 'one', batch, plan: { learningRate: 1e-4 } });
      const { weightVersion } = await trainer.publish(session.run, signal);
      const after = await trainer.probe(weightVersion, sequences, signal);
      const loss = clippedLoss(batch.episodes, before.trainer, after.trainer, PLAN);
      hold(loss < report.loss, `the loss was ${report.loss}, and is ${loss} after the update`);
      return `loss ${report.loss} before, ${loss} after, by our own computation from probed log-probabilities`;
    },
  },
  {
    name: 'advantages',
    promise:
      'Advantages are the reward minus the group mean over its sample deviation + 1e-6, and are used as given.',
    async run({ batches: [batch], write, open }) {
      const rewards = [1, 0, 0.25, 1, 0, 0, 1, 0.5];
      const mean = rewards.reduce((sum, reward) => sum + reward) / rewards.length;
      const variance = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / (rewards.length - 1);
      const expected = rewards.map((reward) => (reward - mean) / (Math.sqrt(variance) + 1e-6));
      for (const [member, advantage] of groupAdvantages(rewards).entries()) {
        close(`advantage of member ${member}`, advantage, expected[member]!, EXACT);
      }
      const episodes = batch.episodes.map((episode, member) => ({
        ...episode,
        advantage: expected[member % expected.length]!,
      }));
      const report = await (await open()).update({ op: 'one', batch: await write(episodes) });
      close('loss', report.loss, tokenNumbers(episodes).loss, EXACT);
      return `a group of ${rewards.length} with rewards between 0 and 1: every advantage and the loss within ${EXACT}`;
    },
  },
  {
    name: 'clip-at-other-ratios',
    promise: 'Clip and dual clip bound the loss of tokens whose ratio has left 1.',
    async run() {
      throw new NotClaimed(
        'cannot be seen through the contract: the old policy is computed at the start of each update, so every ratio is 1; the implementation’s own tests must show it',
      );
    },
  },
];

/** One long episode against many of a single token, so that the two means differ whatever was sampled. */
function lopsided(episodes: readonly BatchEpisode[]): BatchEpisode[] {
  const counts = episodes.map(({ sampled }) => sampled.reduce((sum, bit) => sum + bit, 0));
  const longest = counts.indexOf(Math.max(...counts));
  return episodes.map((episode, index) => {
    if (index === longest) return { ...episode, advantage: 1 };
    const first = episode.sampled.indexOf(1);
    return {
      ...episode,
      sampled: episode.sampled.map((_bit, position) => (position === first ? 1 : 0)),
      logprobs: episode.logprobs.map((value, position) => (position === first ? value : 0)),
      advantage: -1 / (episodes.length - 1),
    };
  });
}

function relative(what: string, found: number, expected: number): void {
  close(what, found, expected, Math.max(EXACT, Math.abs(expected) * ROUNDING));
}
