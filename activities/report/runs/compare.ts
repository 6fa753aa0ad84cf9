/** Two training runs from the ledger, laid over each other: what was set otherwise, their steps, and where they part. */
import type { TrainConfig } from '../../../core/campaign.js';
import { type ConfigChange, configDiff } from '../../../core/fingerprint.js';
import type { CampaignRow, Ledger, StepRow } from '../../../core/ledger.js';
import { STEP_METRICS, type StepMetric } from '../../../core/step-metrics.js';
import { metricText } from '../metric-text.js';
import { type StepValues, stepValues } from '../step-values.js';

export interface RunSide {
  readonly id: string;
  readonly state: CampaignRow['state'];
  readonly step: number;
  readonly stepState: StepRow['state'];
  readonly baseDigest: string | null;
  readonly weightDigest: string | null;
  readonly metrics: StepValues;
}

/** Steps that belong together. Null where a run has none. */
export interface StepPair {
  /** As the steps of the first run are counted; 0 and below: before it began. */
  readonly place: number;
  readonly before: RunSide | null;
  readonly after: RunSide | null;
}

/** Where two runs part: the first of these, in the order in which a step makes them. */
export interface FirstDifference {
  readonly place: number;
  readonly beforeStep: number;
  readonly afterStep: number;
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

export interface RunComparison {
  readonly before: string;
  readonly after: string;
  /** Which of them was forked from the other, and before which of its steps; null where neither was. */
  readonly fork: { readonly fork: string; readonly from: string; readonly step: number } | null;
  /** Paths of the configuration that differ. */
  readonly changes: readonly ConfigChange[];
  /** A fork's first step belongs to that of the step which it reuses. */
  readonly steps: readonly StepPair[];
  /** Pairs whose weights are the same. */
  readonly sameWeights: number;
  /** Null: every step that both have is the same, number by number. */
  readonly firstDifference: FirstDifference | null;
}

export async function compareRuns(ledger: Ledger, a: CampaignRow, b: CampaignRow): Promise<RunComparison> {
  const shift = placeOf(b, a) - placeOf(a, b);
  const [before, after] = [await sidesOf(ledger, a), await sidesOf(ledger, b)];
  const places = [...new Set([...before.keys(), ...[...after.keys()].map((step) => step + shift)])].sort(
    (x, y) => x - y,
  );
  const steps = places.map((place) => ({
    place,
    before: before.get(place) ?? null,
    after: after.get(place - shift) ?? null,
  }));
  return {
    before: a.id,
    after: b.id,
    fork: forkOf(a, b) ?? forkOf(b, a),
    changes: configDiff(a.config, b.config),
    steps,
    sameWeights: steps.filter(
      (pair) => pair.before?.weightDigest && pair.before.weightDigest === pair.after?.weightDigest,
    ).length,
    firstDifference: firstDifference(steps),
  };
}

/** Steps that the other run had made where this one was forked from it. */
function placeOf({ config }: CampaignRow, other: CampaignRow): number {
  const { reuse } = config as TrainConfig;
  return reuse?.run === other.id ? reuse.step - 1 : 0;
}

function forkOf({ id, config }: CampaignRow, other: CampaignRow): RunComparison['fork'] {
  const { reuse } = config as TrainConfig;
  return reuse?.run === other.id ? { fork: id, from: other.id, step: reuse.step } : null;
}

async function sidesOf(ledger: Ledger, { id, state }: CampaignRow): Promise<ReadonlyMap<number, RunSide>> {
  const operations = await ledger.operations(id);
  return new Map(
    (await ledger.steps(id)).map((row) => {
      const { step, state: stepState, baseDigest, weightDigest } = row;
      const metrics = stepValues(row, operations);
      return [step, { id, state, step, stepState, baseDigest, weightDigest, metrics }];
    }),
  );
}

/** Wall time is no result, and neither is what was tried again on the way. */
const NO_RESULT: ReadonlySet<string> = new Set([
  'systemErrors',
  ...Object.entries(STEP_METRICS).flatMap(([name, { unit }]) => (unit === 'seconds' ? [name] : [])),
]);
const COMPARED = (Object.keys(STEP_METRICS) as StepMetric[]).filter((name) => !NO_RESULT.has(name));

function firstDifference(steps: readonly StepPair[]): FirstDifference | null {
  for (const { place, before, after } of steps) {
    if (!before || !after) continue;
    const found = differenceOf(before, after);
    if (found) return { place, beforeStep: before.step, afterStep: after.step, ...found };
  }
  return null;
}

type Found = Pick<FirstDifference, 'what' | 'before' | 'after'>;

function differenceOf(a: RunSide, b: RunSide): Found | undefined {
  if (a.baseDigest && b.baseDigest && a.baseDigest !== b.baseDigest) {
    return { what: 'weights before the step', before: a.baseDigest, after: b.baseDigest };
  }
  if (a.stepState !== b.stepState)
    return { what: 'how the step ended', before: a.stepState, after: b.stepState };
  for (const name of COMPARED) {
    const [x, y] = [a.metrics[name] ?? null, b.metrics[name] ?? null];
    if (x === y) continue;
    return { what: STEP_METRICS[name].label, ...apart(metricText(name, x), metricText(name, y), x, y) };
  }
  if (a.weightDigest === b.weightDigest) return undefined;
  return {
    what: 'weights after the step',
    before: a.weightDigest ?? 'none',
    after: b.weightDigest ?? 'none',
  };
}

/** Rounded where that tells them apart, else in full. */
function apart(x: string, y: string, a: unknown, b: unknown): { before: string; after: string } {
  return x === y ? { before: String(a), after: String(b) } : { before: x, after: y };
}
