/** What a finished run leaves: everything that must be equal in a disturbed run and in its twin. */
import type { StackContext } from '../../cli/context.js';
import { RUN } from './training.js';

export interface Facts {
  /** By step. */
  readonly weights: readonly (string | null)[];
  readonly batches: readonly (string | null)[];
  /** Attempt key, state, reward, tokens sampled and weights, by plan order. */
  readonly episodes: readonly string[];
  /** Of the last checkpoint. */
  readonly optimizer: string | null;
}

export async function factsOf(context: StackContext): Promise<Facts> {
  const ledger = await context.ledger();
  const steps = [...(await ledger.steps(RUN))].sort((a, b) => a.step - b.step);
  const attempts = await ledger.attempts(RUN);
  const last = steps.at(-1)?.step;
  const checkpoint = (await ledger.checkpoints(RUN)).find(({ step }) => step === last);
  return {
    weights: steps.map(({ weightDigest }) => weightDigest),
    batches: steps.map(({ batchDigest }) => batchDigest),
    episodes: attempts
      .map(
        ({ key, state, reward, usage, weightVersion }) =>
          `${key} ${state} ${reward} ${usage?.policySampledTokens} ${weightVersion}`,
      )
      .sort(),
    optimizer: checkpoint?.manifest.optimizerDigest ?? null,
  };
}

/** Where the two differ, the first place of each kind. Empty when they are equal. */
export function differences(disturbed: Facts, twin: Facts): readonly string[] {
  const found: string[] = [];
  for (const kind of ['weights', 'batches', 'episodes'] as const) {
    const [here, there] = [disturbed[kind], twin[kind]];
    const length = Math.max(here.length, there.length);
    for (let at = 0; at < length; at++) {
      if (here[at] === there[at]) continue;
      const place = kind === 'episodes' ? `episode ${at}` : `${kind} of step ${at + 1}`;
      found.push(`${place}: disturbed ${here[at] ?? 'none'}, undisturbed ${there[at] ?? 'none'}`);
      break;
    }
  }
  if (disturbed.optimizer !== twin.optimizer) {
    found.push(`optimizer at the end: disturbed ${disturbed.optimizer}, undisturbed ${twin.optimizer}`);
  }
  return found;
}
