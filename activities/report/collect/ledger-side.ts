/** A campaign of the ledger as one side of a comparison. */
import { UsageError } from '../../../core/faults.js';
import type { EpisodeView } from '../../../core/report-data.js';
import { collectReport } from './collect.js';
import { type ComparedSide, episodeName, runsByTask } from './side.js';
import type { ReportSources } from './source.js';
import { readEpisode } from './trajectory.js';

/** Throws `UsageError` for a campaign that is unknown or no evaluation. */
export async function ledgerSide(sources: ReportSources, id: string): Promise<ComparedSide> {
  const data = await collectReport(sources, id);
  const evaluation = data.run.kind === 'eval' ? data.after : null;
  if (!evaluation) {
    throw new UsageError('compare', 'evaluations, e.g. eval/demo-base', `"${id}" (${data.run.kind})`);
  }
  const attempts = await sources.ledger.attempts(id);
  const rows = new Map(
    attempts.map((row) => [episodeName({ taskId: row.taskId, repetition: row.slot }), row]),
  );
  const warnings = [...data.warnings];
  return {
    evaluation,
    warnings,
    runs: runsByTask(attempts.map(({ taskId, slot, passed }) => ({ taskId, repetition: slot, passed }))),
    async episodes(wanted) {
      const found = new Map<string, EpisodeView>();
      for (const each of wanted) {
        const row = rows.get(episodeName(each));
        const episode = row && (await readEpisode(sources.artifacts, row, each.label, warnings));
        if (episode && episode.messages.length > 0) found.set(episodeName(each), episode);
      }
      return found;
    },
  };
}
