/** The same request gives the same bytes whatever runs beside it, where the implementation says so. */
import { randomStream } from '../../../core/random.js';
import type { Bench } from './bench.js';
import { type Check, hold, NotClaimed, same } from './check.js';
import { arbitraryIds } from './material.js';
import { sample } from './sampling.js';

/** Sizes of the crowd; the last is a whole step of the reference run. */
const CROWDS = [1, 7, 144] as const;
/** Requests that are compared; the largest crowd holds more. */
const COMPARED = 21;

export const INVARIANCE_CHECKS: readonly Check[] = [
  {
    name: 'batch-invariant-sampling',
    promise: 'Same prompt and seed give the same ids and log-probability digits at 1, 7 and 144 at once.',
    async run(bench) {
      if (!bench.capabilities.batchInvariant) {
        throw new NotClaimed('capabilities.sampling.batchInvariant is not true');
      }
      const [alone, ...crowds] = await inCrowds(bench);
      for (const [index, crowd] of crowds.entries()) {
        for (const [number, reply] of crowd.entries()) {
          same(`request ${number} among ${CROWDS[index + 1]}`, reply, alone![number]);
        }
      }
      hold(new Set(alone).size > 1, 'every request was answered alike');
      return `${COMPARED} requests, each in crowds of ${CROWDS.join(', ')}: equal ids and log-probabilities`;
    },
  },
];

/** replies[crowd][request], of the compared requests. */
async function inCrowds({ base, capabilities, signal }: Bench): Promise<string[][]> {
  const requests = Array.from({ length: Math.max(...CROWDS) }, (_, number) => {
    const random = randomStream('conformance', 'crowd', number);
    return {
      weightVersion: base.weightVersion,
      prompt: arbitraryIds(random, 3 + random.below(30), capabilities.vocabulary),
      maxTokens: 4 + random.below(12),
      seed: random.uint32(),
    };
  });
  const replies: string[][] = [];
  for (const size of CROWDS) {
    const found: string[] = [];
    // The compared requests come last in the largest crowd, so that they join what is already running.
    const order = size > COMPARED ? requests.toReversed() : requests.slice(0, COMPARED);
    for (let from = 0; from < order.length; from += size) {
      const crowd = order.slice(from, from + size);
      const answered = await Promise.all(crowd.map((request) => sample(base.endpoint, request, signal)));
      found.push(...answered.map(({ ids, logprobs }) => JSON.stringify([ids, logprobs])));
    }
    replies.push((size > COMPARED ? found.toReversed() : found).slice(0, COMPARED));
  }
  return replies;
}
