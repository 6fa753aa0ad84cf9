/** What is sampled comes from the weights it names: versions are echoed, stale or garbage weights show. */
import { randomStream } from '../../../core/random.js';
import { PROBE_BOUND } from '../../../temporal.config.js';
import type { Bench, Session } from './bench.js';
import { type Check, close, hold, refused, same } from './check.js';
import { arbitraryIds } from './material.js';
import { type Sample, sample } from './sampling.js';

const SAMPLES = 8;

export const WEIGHT_CHECKS: readonly Check[] = [
  {
    name: 'publish',
    promise: 'Publishing makes exactly the current weights samplable, under their digest, however often.',
    async run({ batches: [batch], open, trainer, signal }) {
      const session = await open();
      await session.update({ op: 'one', batch });
      const { weightVersion } = await trainer.publish(session.run, signal);
      same('the published version', weightVersion, await session.weights());
      same(
        'the version published again',
        (await trainer.publish(session.run, signal)).weightVersion,
        weightVersion,
      );
      hold((await session.state()).served.includes(weightVersion), 'state.served does not name it');
      return 'the version is the digest of the current weights, twice, and is named as served';
    },
  },
  {
    name: 'version-echoed',
    promise: 'Every sampled reply names the weights it came from; weights that are not loaded are refused.',
    async run(bench) {
      const { session, endpoint, weightVersion } = await updated(bench);
      const { base, signal } = bench;
      for (const version of [weightVersion, base.weightVersion]) {
        for (const reply of await samples(bench, endpoint, version)) {
          same('the version of a reply', reply.weightVersion, version);
        }
      }
      const nowhere = `sha256:${'1'.repeat(64)}`;
      const call = sample(
        endpoint,
        { weightVersion: nowhere, prompt: [1, 2, 3], maxTokens: 2, seed: 1 },
        signal,
      );
      await refused('weights that are not loaded', 'weights_unavailable', call);
      return `${2 * SAMPLES} replies from two versions of ${session.run} name theirs; an unknown version is refused`;
    },
  },
  {
    name: 'probe-finds-stale',
    promise:
      'After a publish sampler and trainer agree, and old weights would show by far more than the bound.',
    async run(bench) {
      const { base, batches, trainer, signal } = bench;
      const { weightVersion } = await updated(bench);
      const sequences = batches[1].episodes.slice(0, 4).map(({ ids }) => [...ids]);
      const now = await trainer.probe(weightVersion, sequences, signal);
      const old = await trainer.probe(base.weightVersion, sequences, signal);
      const agreement = largest(now.trainer, now.sampler);
      const distance = largest(now.trainer, old.sampler);
      hold(agreement <= PROBE_BOUND, `sampler and trainer differ by ${agreement} nats, bound ${PROBE_BOUND}`);
      hold(
        distance > 10 * PROBE_BOUND,
        `old weights differ from the published ones by ${distance} nats only`,
      );
      return `sampler and trainer within ${agreement} nats; the weights before the update are ${distance} nats away`;
    },
  },
  {
    name: 'samples-are-of-their-weights',
    promise: 'The log-probabilities of sampled tokens are those of the weights that the reply names.',
    async run(bench) {
      const { base, trainer, signal } = bench;
      const { endpoint, weightVersion } = await updated(bench);
      let [worst, away] = [0, 0];
      for (const [number, reply] of (await samples(bench, endpoint, weightVersion)).entries()) {
        const prompt = promptOf(bench, number);
        const sequence = [[...prompt, ...reply.ids]];
        const at = (row: readonly number[] | undefined) => row?.slice(prompt.length - 1);
        const ours = at((await trainer.probe(weightVersion, sequence, signal)).trainer[0]);
        const old = at((await trainer.probe(base.weightVersion, sequence, signal)).trainer[0]);
        worst = Math.max(worst, largest([reply.logprobs], [ours ?? []]));
        away = Math.max(away, largest([reply.logprobs], [old ?? []]));
      }
      close('log-probability of a sampled token against the trainer’s', worst, 0, PROBE_BOUND);
      hold(away > PROBE_BOUND, `the old weights give the same log-probabilities: largest difference ${away}`);
      return `${SAMPLES} samples within ${worst} nats of the trainer at their weights, up to ${away} from the old ones`;
    },
  },
];

/** A session one update away from the base, published. */
async function updated({
  batches: [batch],
  open,
  trainer,
  signal,
}: Bench): Promise<{ session: Session; endpoint: string; weightVersion: string }> {
  const session = await open();
  await session.update({ op: 'one', batch });
  return { session, ...(await trainer.publish(session.run, signal)) };
}

function promptOf({ capabilities: { vocabulary } }: Bench, number: number): number[] {
  return arbitraryIds(randomStream('conformance', 'prompt', number), 6 + number, vocabulary);
}

function samples(bench: Bench, endpoint: string, weightVersion: string): Promise<Sample[]> {
  return Promise.all(
    Array.from({ length: SAMPLES }, (_, number) =>
      sample(
        endpoint,
        { weightVersion, prompt: promptOf(bench, number), maxTokens: 12, seed: number },
        bench.signal,
      ),
    ),
  );
}

/** Largest difference; infinite for NaN and for rows that do not fit. */
function largest(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  if (a.length !== b.length || a.some((row, index) => row.length !== b[index]!.length)) {
    return Number.POSITIVE_INFINITY;
  }
  const all = a.flatMap((row, index) => row.map((value, position) => Math.abs(value - b[index]![position]!)));
  return all.some(Number.isNaN) ? Number.POSITIVE_INFINITY : Math.max(0, ...all);
}
