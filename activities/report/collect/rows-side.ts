/** Result files as one side of a comparison, without a ledger. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { NO_USAGE } from '../../../core/metrics/usage.js';
import type { EpisodeView, PriceReport } from '../../../core/report-data.js';
import { resultsEvaluation } from '../../../core/results/evaluation.js';
import { type ImportedRow, readImportedRow } from '../../../core/results/imported-row.js';
import type { PlacedRow, ResultsPlan } from '../../../core/results/result-set.js';
import { forEachLine } from '../json-lines.js';
import { readResultFiles } from '../results-files.js';
import { type ComparedSide, episodeName, runsByTask, type WantedEpisode } from './side.js';

export interface RowsSource {
  readonly files: readonly string[];
  /** Shown as the evaluation, and known to price tables. */
  readonly name: string;
  readonly plan: ResultsPlan;
  readonly price: PriceReport | null;
}

/** Throws `UsageError` for files and rows that cannot be read. */
export async function rowsSide({ files, name, plan, price }: RowsSource): Promise<ComparedSide> {
  const read = await readResultFiles(files);
  const summary = read.results.summary(plan);
  const evaluation = resultsEvaluation(
    summary,
    {
      id: name,
      label: name,
      model: name,
      files: read.files.map(({ file, sha256, bytes }) => ({ name: basename(file), sha256, bytes })),
      systemErrorsAsFailed: plan.systemErrorsAsFailed,
    },
    price,
  );
  const unpaid = price !== null && summary.tokens === null;
  return {
    evaluation,
    warnings: unpaid
      ? [`No cost of ${name} is shown: ${summary.rowsWithoutTokens} of its rows have no token counts.`]
      : [],
    runs: runsByTask(
      summary.placed.map(({ taskId, repetition, outcome }) => ({
        taskId,
        repetition: String(repetition),
        passed: outcome === 'system_error' ? null : outcome === 'passed',
      })),
    ),
    episodes: (wanted) => readEpisodes(summary.placed, wanted),
  };
}

/** One more pass over the files that hold wanted rows; lines between them are not parsed. */
async function readEpisodes(
  placed: readonly PlacedRow[],
  wanted: readonly WantedEpisode[],
): Promise<ReadonlyMap<string, EpisodeView>> {
  const byName = new Map(wanted.map((each) => [episodeName(each), each]));
  const lines = new Map<string, Map<number, WantedEpisode>>();
  for (const { taskId, repetition, file, line } of placed) {
    const each = byName.get(episodeName({ taskId, repetition: String(repetition) }));
    if (!each) continue;
    const own = lines.get(file) ?? new Map<number, WantedEpisode>();
    lines.set(file, own.set(line, each));
  }
  const found = new Map<string, EpisodeView>();
  for (const [file, own] of lines) {
    await forEachLine(file, (text, line) => {
      const each = own.get(line);
      const read = each && readImportedRow(text, () => `${file}:${line}`, 'done');
      if (read && read.messages.length > 0)
        found.set(episodeName(each), viewOf(read, each, text, file, line));
    });
  }
  return found;
}

function viewOf(
  { row, messages, verdict }: ImportedRow,
  { label }: WantedEpisode,
  text: string,
  file: string,
  line: number,
): EpisodeView {
  const { tokens } = row;
  return {
    key: `${basename(file)}:${line}`,
    label,
    passed: row.outcome === 'passed',
    termination: null,
    verdict,
    messages,
    expected: null,
    actual: null,
    usage: {
      ...NO_USAGE,
      policyPromptTokens: tokens?.prompt ?? 0,
      policySampledTokens: tokens?.sampled ?? 0,
      policyCalls: tokens?.calls ?? 0,
    },
    seed: 'not recorded',
    weightVersion: null,
    trajectory: `sha256:${createHash('sha256').update(text).digest('hex')}`,
  };
}
