/**
 * What a report shows, as plain data: everything is decided here, nothing while rendering.
 *
 * `collectReport` fills it from the ledger and the artifacts; `renderReport` and `renderMarkdown` are pure functions of it.
 * A part that the campaign has not reached is `null` or empty and is left out of the page, so a stopped or failed
 * campaign still gives a report. JSON throughout.
 */
import type { Digest } from './artifacts.js';
import type { FaultKind } from './faults.js';
import type { CampaignKind } from './keys.js';
import type { CampaignState } from './ledger.js';
import type { Message } from './message.js';
import type { EpisodeTime, ToolUse } from './metrics/conduct.js';
import type { Termination, Usage, Verdict } from './outcome.js';
import type { ImportedFile } from './results/imported.js';
import type { Effects } from './suite.js';

/** A value with its 95 % interval. `low` and `high` are null where no interval is defined (e.g. a single task). */
export interface Estimate {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** What ran, when and with what. Times are ISO 8601 in UTC. */
export interface RunReport {
  readonly id: string;
  readonly kind: CampaignKind;
  readonly state: CampaignState;
  /** Dominant cause of a failure, or null. */
  readonly cause: string | null;
  readonly suite: string;
  readonly suiteDigest: Digest;
  readonly fingerprint: Digest;
  /** `embedded`, or the name of an API model. */
  readonly model: string;
  /** Seeds of the run, e.g. `{run: 1}`. */
  readonly seeds: Readonly<Record<string, number | string>>;
  readonly baseDigest: Digest | null;
  readonly finalDigest: Digest | null;
  readonly programVersion: string;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly generatedAt: string;
  /** Flat configuration, `section.key` to value as text. */
  readonly config: Readonly<Record<string, string>>;
}

/** Expected keys against clean ones, over one campaign or several. */
export interface CoverageReport {
  readonly planned: number;
  readonly clean: number;
  readonly passed: number;
  readonly pending: number;
  readonly exhausted: number;
  /** Tries lost to system errors, by kind. None of them is scored. */
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** Tries that were in flight when the campaign was stopped; no system errors. Absent: none. */
  readonly stopped?: number;
  /** planned = clean; scores are shown only then. */
  readonly complete: boolean;
  /** True when exhausted attempts were scored 0 on request; said wherever a score is shown. */
  readonly exhaustedAsFailed: boolean;
  /** First missing keys, for the banner. */
  readonly missing: readonly string[];
}

/** One line of the score table: all tasks, one domain, or tasks by whether their template was trained on. */
export interface ScoreLine {
  readonly label: string;
  readonly kind: 'all' | 'domain' | 'templates';
  readonly tasks: number;
  readonly attempts: number;
  readonly passed: number;
  readonly passAt1: Estimate;
  /** Unbiased pass@k: at least one of k passes. */
  readonly passAtK: Estimate;
  /** Unbiased pass^k: every one of k passes. Absent in reports of earlier versions. */
  readonly passPowerK?: Estimate;
  /** Share of tasks whose every one of k attempts passed. */
  readonly observedK: Estimate;
  /** Number of tasks whose every one of k attempts passed. */
  readonly dependable: number;
}

export interface TaskScore {
  readonly taskId: string;
  readonly domain: string;
  readonly template: string;
  /** Whether any task of this template was in the training pool; null where nothing was trained. */
  readonly templateTrained: boolean | null;
  readonly passed: number;
  readonly attempts: number;
}

/** Dollars under the price table. `perX` is null when there is no X to divide by. */
export interface CostReport {
  readonly total: number;
  readonly perSuccess: number | null;
  readonly perDependable: number | null;
}

/** The price table used, dollars per million tokens. */
export interface PriceReport {
  readonly model: string;
  readonly promptPerMillion: number;
  readonly sampledPerMillion: number;
}

export interface EvaluationReport {
  readonly id: string;
  /** `before`, `after`, or a name of its own. */
  readonly label: string;
  readonly state: CampaignState;
  readonly weightVersion: Digest | null;
  readonly model: string;
  /** Attempts per task: the k of pass@k and k/k. */
  readonly k: number;
  readonly coverage: CoverageReport;
  /** Null until coverage is complete. The first line is `all`. */
  readonly scores: readonly ScoreLine[] | null;
  readonly tasks: readonly TaskScore[];
  /** By reason; an imported evaluation may have reasons of its own words. */
  readonly terminations: Readonly<Partial<Record<string, number>>>;
  readonly usage: Usage;
  readonly cost: CostReport | null;
  /** The price that `cost` was made with, where evaluations have prices of their own. */
  readonly price?: PriceReport | null;
  readonly wallSeconds: number | null;
  /** Absent or null: calls were not recorded. */
  readonly tools?: ToolUse | null;
  /** Absent or null: times were not recorded. */
  readonly time?: EpisodeTime | null;
  /** The files that its rows came from; absent or null for an evaluation that ran here. Said wherever it is shown. */
  readonly imported?: readonly ImportedFile[] | null;
  /** Why its scores are not comparable with published ones; absent or empty: they are. Said wherever they are shown. */
  readonly notComparable?: readonly string[];
}

/** Two evaluations of the same tasks, paired by task; differences are after minus before. */
export interface PairedReport {
  readonly tasks: number;
  readonly passAt1: Estimate;
  readonly observedK: Estimate;
  /** Tasks at k/k after and not before, and the other way round. */
  readonly gained: readonly string[];
  readonly lost: readonly string[];
  /** Tasks whose success count rose, fell, stayed. */
  readonly improved: number;
  readonly worsened: number;
  readonly unchanged: number;
  /** Each domain by itself, by name; absent where nobody asked. */
  readonly domains?: readonly DomainDifference[];
}

export interface DomainDifference {
  readonly domain: string;
  readonly tasks: number;
  readonly passAt1: Estimate;
  readonly observedK: Estimate;
}

export interface BandReport {
  /** `too_hard`, `hard`, `medium`, `easy`, `too_easy`. */
  readonly band: string;
  /** The paper's name: `infrequently solved` ... `nearly always solved`. */
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly tasks: number;
  readonly retained: boolean;
}

export interface ProbeReport {
  readonly id: string;
  readonly attemptsPerTask: number;
  readonly candidates: number;
  /** Candidates per band, hardest first. */
  readonly bands: readonly BandReport[];
  readonly coverage: CoverageReport;
  readonly meanReward: number | null;
  readonly selected: number;
  readonly trainTasks: number;
  readonly testTasks: number;
  /** Why candidates were left out, by reason. */
  readonly leftOut: Readonly<Record<string, number>>;
  readonly wallSeconds: number | null;
}

/** One training step; metric names are those of `core/step-metrics.ts`, absent ones are null. */
export interface StepReport {
  readonly step: number;
  readonly state: string;
  readonly cause: string | null;
  readonly baseDigest: Digest | null;
  readonly weightDigest: Digest | null;
  readonly metrics: Readonly<Record<string, number | boolean | null>>;
}

export interface TrainingReport {
  readonly id: string;
  readonly state: CampaignState;
  readonly cause: string | null;
  readonly plannedSteps: number | null;
  readonly poolTasks: number | null;
  readonly groups: number | null;
  readonly groupSize: number | null;
  readonly steps: readonly StepReport[];
  readonly coverage: CoverageReport;
  readonly checkpoints: number;
  readonly wallSeconds: number | null;
}

/** One thing the ledger promises, and whether it holds. */
export interface InvariantReport {
  readonly name: string;
  readonly holds: boolean;
  /** What was counted, in one sentence. */
  readonly detail: string;
}

/** System-error tries of one task, and whether they fell inside one of the agent's tool calls. */
export interface FaultReport {
  readonly taskId: string;
  readonly kind: FaultKind;
  readonly code: string | null;
  readonly duringToolCall: boolean;
  readonly tries: number;
}

export interface IntegrityReport {
  readonly invariants: readonly InvariantReport[];
  readonly updatesApplied: number;
  readonly updatesSkipped: number;
  /** Most tries first. Empty when there were none, or when the ledger was not asked. */
  readonly faults: readonly FaultReport[];
  /** What tries cost whose result does not count (system errors, superseded ones); null when the ledger was not asked. */
  readonly wasted: { readonly tries: number; readonly tokens: number } | null;
  /** Weight digests in order, the base first; one per applied update. */
  readonly lineage: readonly { readonly step: number; readonly digest: Digest }[];
}

/** One recorded episode to read. */
export interface EpisodeView {
  readonly key: string;
  readonly label: string;
  readonly passed: boolean;
  readonly termination: Termination | null;
  readonly verdict: Verdict | null;
  readonly messages: readonly Message[];
  /** Final state that the check wants, and the one that was found; null where unknown. */
  readonly expected: Effects | null;
  readonly actual: Effects | null;
  readonly usage: Usage;
  readonly seed: string;
  readonly weightVersion: Digest | null;
  readonly trajectory: Digest;
}

/** Episodes of one task that tell something: solved, gained by training, or lost by it. */
export interface StoryReport {
  readonly kind: 'solved' | 'gained' | 'lost' | 'unsolved';
  readonly taskId: string;
  readonly domain: string;
  readonly before: { readonly passed: number; readonly attempts: number } | null;
  readonly after: { readonly passed: number; readonly attempts: number } | null;
  readonly episodes: readonly EpisodeView[];
}

export interface ReportData {
  readonly format: 1;
  readonly run: RunReport;
  readonly probe: ProbeReport | null;
  readonly training: TrainingReport | null;
  readonly before: EvaluationReport | null;
  readonly after: EvaluationReport | null;
  /** Null unless both evaluations are complete and have the same tasks. */
  readonly paired: PairedReport | null;
  readonly prices: PriceReport | null;
  readonly integrity: IntegrityReport;
  readonly stories: readonly StoryReport[];
  /** Commands that make this campaign again, or go on with it. */
  readonly reproduce: readonly string[];
  /** What could not be read while collecting, e.g. a missing artifact. Shown, never hidden. */
  readonly warnings: readonly string[];
}
