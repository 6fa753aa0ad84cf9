/** `steadfast compare` of two training runs: what was set otherwise, and their steps side by side. */
import Table from 'cli-table3';
import { metricText } from '../activities/report/metric-text.js';
import { type StepValues, stepValues } from '../activities/report/step-values.js';
import type { TrainConfig } from '../core/campaign.js';
import { type ConfigChange, configDiff, describeChanges } from '../core/fingerprint.js';
import type { CampaignRow, Ledger, StepRow } from '../core/ledger.js';
import type { StepMetric } from '../core/step-metrics.js';

export interface RunSide {
  readonly id: string;
  readonly state: CampaignRow['state'];
  readonly step: number;
  readonly stepState: StepRow['state'];
  readonly weightDigest: string | null;
  readonly metrics: StepValues;
}

export interface RunComparison {
  readonly before: string;
  readonly after: string;
  /** Paths of the configuration that differ. */
  readonly changes: readonly ConfigChange[];
  /** Steps that belong together: a fork's first is that of the step which it reuses. Null where one has none. */
  readonly steps: readonly { readonly before: RunSide | null; readonly after: RunSide | null }[];
  /** Pairs whose weights are the same. */
  readonly sameWeights: number;
}

const SHOWN: readonly StepMetric[] = [
  'reward',
  'zeroVarianceShare',
  'loss',
  'gradNorm',
  'entropy',
  'klToBase',
];

/** The run that a name means where no evaluation has it. */
export async function namedRun(ledger: Ledger, name: string): Promise<CampaignRow | undefined> {
  const bare = name.slice(name.indexOf('/') + 1);
  const named = name.includes('/') ? await ledger.campaign(name) : await ledger.campaign(`eval/${bare}`);
  if (named) return named.kind === 'train' ? named : undefined;
  return name.includes('/') ? undefined : ledger.campaign(`train/${bare}`);
}

export async function compareRuns(ledger: Ledger, a: CampaignRow, b: CampaignRow): Promise<RunComparison> {
  const shift = placeOf(b, a) - placeOf(a, b);
  const [before, after] = [await sidesOf(ledger, a), await sidesOf(ledger, b)];
  // Places count as the steps of the first run do.
  const places = [...new Set([...before.keys(), ...[...after.keys()].map((step) => step + shift)])].sort(
    (x, y) => x - y,
  );
  const steps = places.map((place) => ({
    before: before.get(place) ?? null,
    after: after.get(place - shift) ?? null,
  }));
  return {
    before: a.id,
    after: b.id,
    changes: configDiff(a.config, b.config),
    steps,
    sameWeights: steps.filter(
      (pair) => pair.before?.weightDigest && pair.before.weightDigest === pair.after?.weightDigest,
    ).length,
  };
}

/** Steps that the other run had made where this one was forked from it. */
function placeOf({ config }: CampaignRow, other: CampaignRow): number {
  const { reuse } = config as TrainConfig;
  return reuse?.run === other.id ? reuse.step - 1 : 0;
}

async function sidesOf(ledger: Ledger, { id, state }: CampaignRow): Promise<ReadonlyMap<number, RunSide>> {
  const operations = await ledger.operations(id);
  return new Map(
    (await ledger.steps(id)).map((row) => {
      const { step, state: stepState, weightDigest } = row;
      return [step, { id, state, step, stepState, weightDigest, metrics: stepValues(row, operations) }];
    }),
  );
}

export function runsText({ before, after, changes, steps, sameWeights }: RunComparison): string {
  const table = new Table({
    head: ['step', ...SHOWN, 'weights'],
    style: { head: [], border: [] },
  });
  const cells = ({ metrics }: RunSide, name: StepMetric) => metricText(name, metrics[name]);
  for (const pair of steps) {
    const label = [pair.before, pair.after].map((side) => (side ? sideLabel(side) : '–')).join('\n');
    const both = (of: (side: RunSide) => string) =>
      [pair.before, pair.after].map((side) => (side ? of(side) : '')).join('\n');
    table.push([
      label,
      ...SHOWN.map((name) => both((side) => cells(side, name))),
      both(({ weightDigest }) => short(weightDigest)),
    ]);
  }
  const pairs = steps.filter((pair) => pair.before && pair.after).length;
  return [
    `${before} and ${after}, one above the other; ${changes.length} settings differ:`,
    ...describeChanges(changes)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `  ${line}`),
    table.toString(),
    `${sameWeights} of ${pairs} pairs end with the same weights.`,
  ].join('\n');
}

function sideLabel({ id, step, stepState }: RunSide): string {
  return `${id} ${step}${stepState === 'done' ? '' : ` (${stepState})`}`;
}

function short(digest: string | null): string {
  return digest?.replace('sha256:', '').slice(0, 10) ?? '–';
}
