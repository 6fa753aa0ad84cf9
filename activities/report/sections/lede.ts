/** What came of it, in one or two sentences: under the title, in the description, and first in the Markdown. */
import type { ReportData } from '../../../core/report-data.js';
import { percent, plural } from '../format.js';
import { overall, partialWords } from './totals.js';

/** The result in one sentence; the same text opens the Markdown. */
export function lede(data: ReportData): string {
  return `${partialWords(data.before, data.after)}${result(data)}`;
}

function result(data: ReportData): string {
  const before = overall(data.before);
  const after = overall(data.after);
  const steps =
    data.training?.steps.filter((step) => step.state === 'done' || step.state === 'skipped').length ?? 0;
  if (before && after && data.after) {
    const trained = steps > 0 ? `After ${plural(steps, 'training step')}, ` : '';
    return `${trained}${after.dependable} of ${plural(after.tasks, 'benchmark task')} pass on every one of ${data.after.k} attempts, ${
      after.dependable === before.dependable
        ? 'as many as before'
        : `${after.dependable > before.dependable ? 'up' : 'down'} from ${before.dependable}`
    }. A single attempt passes ${percent(after.passAt1.value)} of the time, ${
      after.passAt1.value >= before.passAt1.value ? 'up' : 'down'
    } from ${percent(before.passAt1.value)}.`;
  }
  const one = after ?? before;
  const source = after ? data.after : data.before;
  if (one && source) {
    const when = data.training !== null && source === data.before ? 'Before training, ' : '';
    if (source.k === 1)
      return `${when}${one.dependable} of ${plural(one.tasks, 'task')} pass, with one attempt each.`;
    return `${when}${one.dependable} of ${plural(one.tasks, 'task')} pass on every one of ${source.k} attempts; a single attempt passes ${percent(one.passAt1.value)} of the time.`;
  }
  if (data.before ?? data.after) return 'The evaluation is not complete yet, so no score is shown.';
  if (steps > 0) return `${plural(steps, 'training step')} finished; no evaluation has been run.`;
  if (data.probe)
    return `${plural(data.probe.candidates, 'candidate')} probed; nothing has been trained yet.`;
  return 'Nothing has finished yet.';
}
