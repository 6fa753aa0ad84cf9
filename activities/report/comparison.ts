/** Two evaluations side by side as one HTML file, for `steadfast compare`: the before/after parts of a report. */
import type { EvaluationReport, PairedReport, ReportData } from '../../core/report-data.js';
import { kOfK, moment, percent, plural, points } from './format.js';
import { type Html, html } from './html.js';
import { page } from './page.js';
import { banners } from './sections/banners.js';
import { cards } from './sections/cards.js';
import { costSection } from './sections/cost.js';
import { scoresSection } from './sections/scores.js';
import { section } from './sections/section.js';
import { tasksSection } from './sections/tasks.js';
import { overall } from './sections/totals.js';

export interface ComparisonData {
  readonly before: EvaluationReport;
  readonly after: EvaluationReport;
  /** Null while one of them is incomplete, or when their tasks differ. */
  readonly paired: PairedReport | null;
  readonly run: ReportData['run'];
  readonly prices: ReportData['prices'];
  readonly warnings: readonly string[];
}

/** The difference in one sentence, with its interval; says so when it is within noise. */
export function verdict({ before, after, paired }: ComparisonData): string {
  const [from, to] = [overall(before), overall(after)];
  if (!from || !to) return 'At least one of the evaluations is incomplete, so nothing is compared.';
  const counts = `${kOfK(after.k)}: ${from.dependable} → ${to.dependable} of ${plural(to.tasks, 'task')}. pass@1: ${percent(from.passAt1.value)} → ${percent(to.passAt1.value)}`;
  if (!paired) return `${counts}.`;
  const { value, low, high } = paired.passAt1;
  if (low === null || high === null) return `${counts}, ${points(value)}.`;
  const clear = low > 0 || high < 0;
  return `${counts}, ${points(value)} (95 %: ${points(low)} to ${points(high)})${clear ? '' : ', within what chance alone gives'}.`;
}

function sides({ before, after }: ComparisonData): Html {
  const side = (name: string, evaluation: EvaluationReport): Html =>
    html`<tr><th scope="row">${name}</th><td>${evaluation.id}</td><td>${evaluation.model}</td><td><code>${evaluation.weightVersion ?? '–'}</code></td></tr>`;
  return section(
    'sides',
    'What is compared',
    null,
    html`<div class="scroll" tabindex="0" role="region" aria-label="What is compared"><table class="plain left"><thead><tr><th scope="col"></th><th scope="col">Evaluation</th><th scope="col">Model</th><th scope="col">Weights</th></tr></thead><tbody>${side('before', before)}${side('after', after)}</tbody></table></div>`,
  );
}

/** Pure, like `renderReport`; the same gate: no score of incomplete coverage. */
export function renderComparison(data: ComparisonData): string {
  const report: ReportData = {
    format: 1,
    ...data,
    probe: null,
    training: null,
    integrity: {
      invariants: [],
      updatesApplied: 0,
      updatesSkipped: 0,
      lineage: [],
      faults: [],
      wasted: null,
    },
    stories: [],
    reproduce: [],
  };
  const sections: readonly (readonly [{ readonly id: string; readonly label: string }, Html])[] = [
    [{ id: 'scores', label: 'Scores' }, scoresSection(data.before, data.after, 'Before and after')],
    [{ id: 'tasks', label: 'Tasks' }, tasksSection(data.before, data.after, data.paired)],
    [{ id: 'cost', label: 'Cost' }, costSection(report)],
    [{ id: 'sides', label: 'Sides' }, sides(data)],
  ];
  const shown = sections.filter(([, body]) => body.text !== '');
  const title = `${data.before.id} → ${data.after.id}`;
  return page(
    `${title} · Steadfast comparison`,
    verdict(data),
    shown.map(([item]) => item),
    html`<header class="top"><p class="brand">Steadfast <span>comparison</span></p><div class="title"><h1>${title}</h1></div><p class="lede">${verdict(data)}</p></header>`,
    html`${banners(report)}${cards(report)}${shown.map(([, body]) => body)}<footer><p>Steadfast ${data.run.programVersion}, written ${moment(data.run.generatedAt)}.</p></footer>`,
  );
}
