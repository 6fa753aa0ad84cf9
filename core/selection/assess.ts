/** One task, assessed: posterior, band, value for training, and whether it passes the gates. */
import { jeffreysPosterior } from '../stats/posterior.js';
import { type BandName, bandMasses, bandOf } from './bands.js';
import type { SelectionOptions } from './options.js';
import { cleanRuns, EMPTY_TALLY, type Tally } from './tally.js';

export type TrainingValue =
  | 'highest_value'
  | 'high_value'
  | 'easy_value'
  | 'low_value'
  | 'insufficient_data'
  | 'very_hard';

export type Rejection = 'insufficient_clean_runs' | 'difficulty_not_retained' | 'reference_gate';

/** Weight of each value in the priority score, which informs and decides nothing. */
const PRIORITY_BASE: Readonly<Record<TrainingValue, number>> = {
  highest_value: 1,
  high_value: 0.85,
  easy_value: 0.6,
  low_value: 0.25,
  insufficient_data: 0.3,
  very_hard: 0.2,
};

export interface Assessment {
  readonly uid: string;
  readonly tally: Tally;
  readonly cleanRuns: number;
  readonly passRate: number;
  readonly standardError: number;
  readonly posterior: Posteriors;
  readonly trainingValue: TrainingValue;
  readonly priorityScore: number;
  readonly reference: ReferenceScreen;
  readonly rejections: readonly Rejection[];
}

/** What (successes, clean runs) alone decide; computed once per pair, since a campaign has few of them. */
interface Posteriors {
  readonly alpha: number;
  readonly beta: number;
  readonly masses: Readonly<Record<BandName, number>>;
  readonly band: BandName;
  /** 95 % equal-tailed credible interval. */
  readonly low: number;
  readonly high: number;
  /** P(rate < 0.15). */
  readonly belowFifteen: number;
}

interface ReferenceScreen {
  readonly tally: Tally;
  readonly cleanRuns: number;
  /** P(rate > threshold); null without a threshold, 0 without clean reference rows. */
  readonly probabilityAbove: number | null;
  readonly solvable: boolean;
}

/** `tally` has at least one clean run. `reference` is undefined where no reference rows were given at all. */
export type Assess = (uid: string, tally: Tally, reference: Tally | undefined) => Assessment;

export function assessor(options: SelectionOptions): Assess {
  const known = new Map<string, Posteriors>();

  function posteriors(successes: number, clean: number): Posteriors {
    const pair = `${successes}/${clean}`;
    const found = known.get(pair);
    if (found) return found;
    const { alpha, beta, below, quantile } = jeffreysPosterior(successes, clean);
    const masses = bandMasses(below);
    const [low, high] = [quantile(0.025), quantile(0.975)];
    const made = { alpha, beta, masses, band: bandOf(masses), low, high, belowFifteen: below(0.15) };
    known.set(pair, made);
    return made;
  }

  return (uid, tally, referenceTally) => {
    const clean = cleanRuns(tally);
    const passRate = tally.successes / clean;
    const posterior = posteriors(tally.successes, clean);
    const trainingValue = trainingValueOf(tally.successes, clean, posterior);
    const reference = screen(referenceTally, options);
    const rejections: Rejection[] = [];
    if (clean < options.minCleanRuns) rejections.push('insufficient_clean_runs');
    if (!options.retainBands.includes(posterior.band)) rejections.push('difficulty_not_retained');
    if (referenceTally && !reference.solvable) rejections.push('reference_gate');
    const width = posterior.high - posterior.low;
    const score =
      PRIORITY_BASE[trainingValue] * (0.55 + 0.3 * (1 - passRate) + 0.15 * Math.min(width / 0.5, 1));
    return {
      uid,
      tally,
      cleanRuns: clean,
      passRate,
      standardError: Math.sqrt((passRate * (1 - passRate)) / clean),
      posterior,
      trainingValue,
      priorityScore: Number(score.toFixed(4)),
      reference,
      rejections,
    };
  };
}

function trainingValueOf(successes: number, clean: number, posterior: Posteriors): TrainingValue {
  if (posterior.band === 'too_easy') return 'low_value';
  if (posterior.band === 'easy') return 'easy_value';
  if (posterior.band === 'medium') return 'high_value';
  if (clean < 3) return 'insufficient_data';
  const hopeless = successes === 0 && (posterior.high <= 0.15 || posterior.belowFifteen >= 0.9);
  return hopeless ? 'very_hard' : 'highest_value';
}

function screen(tally: Tally | undefined, options: SelectionOptions): ReferenceScreen {
  const given = tally ?? EMPTY_TALLY;
  const clean = cleanRuns(given);
  const { referenceThreshold: threshold, referenceMinProbability: least } = options;
  let probabilityAbove: number | null = null;
  if (threshold !== null) {
    probabilityAbove = clean === 0 ? 0 : 1 - jeffreysPosterior(given.successes, clean).below(threshold);
  }
  const solvable =
    tally !== undefined &&
    clean >= options.referenceMinCleanRuns &&
    given.successes >= options.referenceMinSuccesses &&
    (probabilityAbove === null || least === null || probabilityAbove >= least);
  return { tally: given, cleanRuns: clean, probabilityAbove, solvable };
}
