/** Where a campaign stands, read from the ledger alone: it answers whatever else is down. */
import type { CampaignRow, Counts, Ledger, StepRow } from '../../core/ledger.js';
import type { CampaignSummary, LedgerReads } from '../../core/ledger-reads.js';
import { importedModel } from '../../core/results/imported.js';
import { stepsInAll } from '../../core/stage-configs.js';
import type { JobNote } from '../../core/verl/job.js';

export interface CampaignSnapshot {
  readonly id: string;
  readonly kind: CampaignRow['kind'];
  readonly state: CampaignRow['state'];
  readonly cause: string | null;
  readonly counts: Counts;
  /** Attempts that the campaign will have in the end; null for a training run, which refills as it goes. */
  readonly expected: number | null;
  readonly perMinute: number;
  /** Episodes that run now. */
  readonly running: number;
  /** Seconds until the end at the current rate, or null where that is not known. */
  readonly secondsLeft: number | null;
  readonly training: TrainingSnapshot | null;
  /** Names of the files that its rows were imported from; null for a campaign that ran here. */
  readonly imported: readonly string[] | null;
  /** Artifact with what it would take to make it again; null: it has not begun, or is from before there was one. */
  readonly reproducibility: string | null;
  /** Why its results are not comparable with published ones; absent: they are. */
  readonly notComparable?: readonly string[];
}

export interface TrainingSnapshot {
  readonly steps: number;
  readonly done: number;
  readonly current: StepRow | null;
  /** Clean attempts of the current step, and those planned so far. */
  readonly currentClean: number;
  readonly currentPlanned: number;
  readonly last: StepRow | null;
  readonly refills: number;
  /** Where Verl trains as one job: what is known of it. */
  readonly job?: JobNote;
}

/** The campaign and, for a pipeline, the campaigns of its stages, in the order in which they began. */
export async function snapshot(
  ledger: Ledger & LedgerReads,
  id: string,
): Promise<{ readonly row: CampaignRow; readonly campaigns: readonly CampaignSnapshot[] } | undefined> {
  const row = await ledger.campaign(id);
  if (!row) return undefined;
  const rows =
    row.kind === 'pipeline'
      ? await stagesOf(ledger, id)
      : [row as Pick<CampaignRow, 'id' | 'kind' | 'state'>];
  const campaigns: CampaignSnapshot[] = [];
  for (const stage of rows) campaigns.push(await one(ledger, stage));
  return { row, campaigns };
}

async function stagesOf(ledger: LedgerReads, id: string): Promise<readonly CampaignSummary[]> {
  return [...(await ledger.campaigns({ parent: id }))].reverse();
}

async function one(
  ledger: Ledger & LedgerReads,
  { id, kind, state }: Pick<CampaignRow, 'id' | 'kind' | 'state'>,
): Promise<CampaignSnapshot> {
  const row = await ledger.campaign(id);
  const counts = await ledger.counts(id);
  const { perMinute, running } = await ledger.progress(id, 20);
  const config = row?.config as
    | {
        tasks?: readonly string[];
        repeat?: number;
        steps?: number;
        notComparable?: readonly string[];
      }
    | undefined;
  const steps = stepsInAll({ steps: config?.steps ?? 0 }, row?.result);
  const { job } = (row?.result ?? {}) as { job?: JobNote };
  const training =
    kind === 'train' ? { ...(await trainingOf(ledger, id, steps)), ...(job ? { job } : {}) } : null;
  const expected = training ? null : (config?.tasks?.length ?? 0) * (config?.repeat ?? 0);
  const left = expected === null ? null : expected - counts.clean - counts.exhausted;
  return {
    id,
    kind,
    state,
    cause: (row?.result as { cause?: string | null } | null)?.cause ?? null,
    counts,
    expected,
    perMinute,
    running,
    secondsLeft: training
      ? trainingLeft(training)
      : left === null || perMinute === 0
        ? null
        : (left / perMinute) * 60,
    training,
    imported: importedModel(row?.config)?.files.map(({ name }) => name) ?? null,
    reproducibility: (row?.result as { reproducibility?: string } | null)?.reproducibility ?? null,
    ...(config?.notComparable ? { notComparable: config.notComparable } : {}),
  };
}

async function trainingOf(
  ledger: Ledger & LedgerReads,
  run: string,
  steps: number,
): Promise<TrainingSnapshot> {
  const rows = await ledger.steps(run);
  const done = rows.filter(hasEnded);
  const current = rows.find((row) => !hasEnded(row)) ?? null;
  const attempts = current ? await ledger.attempts(run, { step: current.step }) : [];
  return {
    steps: Math.max(steps, done.length),
    done: done.length,
    current,
    currentClean: attempts.filter((row) => row.state === 'clean').length,
    currentPlanned: attempts.length,
    last: done.at(-1) ?? null,
    refills: done.reduce((sum, row) => sum + Number(row.metrics.refillGroups ?? 0), 0),
  };
}

/** Steps that a person left out count: nothing of them is still to come. */
function hasEnded({ state }: StepRow): boolean {
  return state === 'done' || state === 'skipped';
}

/** From the mean time of the steps that are done. */
function trainingLeft({ steps, done, last }: TrainingSnapshot): number | null {
  if (!last || done === 0) return null;
  const seconds =
    Number(last.metrics.secondsSampling ?? 0) +
    Number(last.metrics.secondsUpdate ?? 0) +
    Number(last.metrics.secondsPublish ?? 0);
  return seconds === 0 ? null : seconds * (steps - done);
}
