/** Evaluations side by side as one HTML file, for `steadfast compare`. Pure, with the same gate as a report's. */
import type { EvaluationReport, ReportData } from '../../core/report-data.js';
import { type ComparisonData, evaluationsOf } from './comparison-data.js';
import { kOfK, moment, percent, plural, points, shortDigest } from './format.js';
import { type Html, html } from './html.js';
import { page } from './page.js';
import { banners } from './sections/banners.js';
import { cards } from './sections/cards.js';
import { conductSection } from './sections/conduct.js';
import { curvesSection } from './sections/curves.js';
import { domainsSection } from './sections/domains.js';
import { frontierSection } from './sections/frontier.js';
import { headlineSection } from './sections/headline.js';
import { movedSection } from './sections/moved.js';
import { othersSection } from './sections/others.js';
import { scoresSection } from './sections/scores.js';
import { section } from './sections/section.js';
import { tasksSection } from './sections/tasks.js';
import { overall, partialWords } from './sections/totals.js';

/** The difference in one sentence, with its interval; says so when it is within noise. */
export function verdict({ before, after, paired }: ComparisonData): string {
  const [from, to] = [overall(before), overall(after)];
  if (!from || !to) return 'At least one of the evaluations is incomplete, so nothing is compared.';
  const counts = `${partialWords(before, after)}${kOfK(after.k)}: ${from.dependable} → ${to.dependable} of ${plural(to.tasks, 'task')}. pass@1: ${percent(from.passAt1.value)} → ${percent(to.passAt1.value)}`;
  if (!paired) return `${counts}.`;
  const { value, low, high } = paired.passAt1;
  if (low === null || high === null) return `${counts}, ${points(value)}.`;
  const clear = low > 0 || high < 0;
  return `${counts}, ${points(value)} (95 %: ${points(low)} to ${points(high)})${clear ? '' : ', within what chance alone gives'}.`;
}

function sides(evaluations: readonly EvaluationReport[]): Html {
  const cells = ({ id, model, weightVersion, imported, notComparable = [] }: EvaluationReport): Html => {
    const source = imported
      ? html`imported: ${imported.map(({ name, sha256 }, index) => html`${index > 0 && ', '}${name} <code>${sha256.slice(0, 12)}</code>`)}`
      : html`ran here`;
    return html`<th scope="row">${id}</th><td>${model}</td><td>${weightVersion ? html`<code>${shortDigest(weightVersion)}</code>` : '–'}</td><td>${source}${notComparable.length > 0 && html`<br>not comparable with published results: ${notComparable.join('; ')}`}</td>`;
  };
  return section(
    'sides',
    'What is compared',
    null,
    html`<div class="scroll" tabindex="0" role="region" aria-label="What is compared"><table class="plain left"><thead><tr>${['Evaluation', 'Model', 'Weights', 'Rows'].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${evaluations.map((each) => html`<tr>${cells(each)}</tr>`)}</tbody></table></div>`,
  );
}

/** What the parts that are shared with reports are given. */
function asReport(data: ComparisonData, title: string): ReportData {
  const { before, after, paired, run, warnings } = data;
  const priced = before.cost !== null && after.cost !== null;
  return {
    format: 1,
    run: {
      id: title,
      kind: 'eval',
      state: 'done',
      cause: null,
      suite: '',
      suiteDigest: '',
      fingerprint: '',
      model: after.model,
      seeds: {},
      baseDigest: null,
      finalDigest: null,
      createdAt: run.generatedAt,
      endedAt: null,
      config: {},
      ...run,
    },
    probe: null,
    training: null,
    before,
    after,
    paired,
    prices: priced ? (after.price ?? null) : null,
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
    warnings,
  };
}

export function renderComparison(data: ComparisonData): string {
  const title = `${data.before.id} → ${data.after.id}`;
  const report = asReport(data, title);
  const evaluations = evaluationsOf(data);
  const sections: readonly (readonly [{ readonly id: string; readonly label: string }, Html])[] = [
    [{ id: 'figures', label: 'Figures' }, headlineSection(data)],
    [{ id: 'domains', label: 'Domains' }, domainsSection(data)],
    [{ id: 'others', label: 'Others' }, othersSection(data)],
    [{ id: 'frontier', label: 'Cost' }, frontierSection(data)],
    [{ id: 'moved', label: 'Moved' }, movedSection(data)],
    [{ id: 'curves', label: 'Attempts' }, curvesSection(data.before, data.after)],
    [{ id: 'scores', label: 'Scores' }, scoresSection(data.before, data.after, 'Before and after')],
    [{ id: 'tasks', label: 'Tasks' }, tasksSection(data.before, data.after, data.paired, false)],
    [{ id: 'conduct', label: 'Conduct' }, conductSection(evaluations)],
    [{ id: 'sides', label: 'Sides' }, sides(evaluations)],
  ];
  const shown = sections.filter(([, body]) => body.text !== '');
  return page(
    `${title} · Steadfast comparison`,
    verdict(data),
    shown.map(([item]) => item),
    html`<header class="top"><p class="brand">Steadfast <span>comparison</span></p><div class="title"><h1>${title}</h1></div><p class="lede">${verdict(data)}</p></header>`,
    html`${banners(report)}${cards(report)}${shown.map(([, body]) => body)}<footer><p>Steadfast ${data.run.programVersion}, written ${moment(data.run.generatedAt)}.</p></footer>`,
  );
}
