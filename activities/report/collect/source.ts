/** What a report is collected from, and one campaign as its collectors read it. */
import type { ArtifactStore } from '../../../core/artifacts.js';
import type { CampaignConfig } from '../../../core/campaign.js';
import type { AttemptRow, CampaignRow, Counts, Ledger } from '../../../core/ledger.js';
import type { LedgerReads } from '../../../core/ledger-reads.js';
import type { PriceTable } from '../../../core/prices.js';
import type { CoverageReport } from '../../../core/report-data.js';

export interface ReportSources {
  /** Sandboxes, faults by task, tool calls and wasted tokens are reported where the ledger can count them. */
  readonly ledger: Ledger & Partial<Pick<LedgerReads, 'sandboxCounts' | 'faultCounts' | 'usage' | 'toolUse'>>;
  readonly artifacts: ArtifactStore;
  /** Absent: those of the campaign's configuration, or its pipeline's. Null: cost is given in tokens. */
  readonly prices?: PriceTable | null;
  /** Absent: that of the package this file belongs to. */
  readonly programVersion?: string;
  /** Commands that make the campaign again or go on with it; absent: those that every campaign has. */
  readonly reproduce?: readonly string[];
  readonly now?: () => Date;
  /** Scores of incomplete coverage too; whoever shows them says so. */
  readonly allowIncomplete?: boolean;
}

/** A campaign with its rows, read once. */
export interface Campaign<C extends CampaignConfig = CampaignConfig> {
  readonly row: CampaignRow;
  readonly config: C;
  readonly attempts: readonly AttemptRow[];
  readonly counts: Counts;
}

export async function readCampaign<C extends CampaignConfig = CampaignConfig>(
  ledger: Ledger,
  id: string,
): Promise<Campaign<C> | null> {
  const row = await ledger.campaign(id);
  if (!row) return null;
  const [attempts, counts] = [await ledger.attempts(id), await ledger.counts(id)];
  return { row, config: row.config as C, attempts, counts };
}

/** Dominant cause that the campaign's result names, or null. */
export function causeOf(row: CampaignRow): string | null {
  const cause = (row.result as { cause?: unknown } | null)?.cause;
  return typeof cause === 'string' && cause !== '' ? cause : null;
}

/** `expected`: attempts that the configuration asks for; more than the rows while shards are still unplanned. */
export function coverageOf(
  counts: Counts,
  expected: number,
  missing: readonly string[],
  exhaustedAsFailed = false,
): CoverageReport {
  const { clean, passed, exhausted, faults, stopped } = counts;
  const planned = Math.max(expected, counts.planned);
  return {
    planned,
    clean,
    passed,
    exhausted,
    pending: planned - clean - exhausted,
    faults,
    ...(stopped === undefined ? {} : { stopped }),
    complete: planned === clean + (exhaustedAsFailed ? exhausted : 0),
    exhaustedAsFailed,
    missing: missing.slice(0, 20),
  };
}
