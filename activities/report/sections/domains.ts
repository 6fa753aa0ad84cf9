/** How much each domain changed: paired differences with their intervals, around "no change". */
import type { DomainDifference, Estimate } from '../../../core/report-data.js';
import { differenceTrack, reachOf } from '../charts/difference.js';
import type { ComparisonData } from '../comparison-data.js';
import { kOfK, percent, plural, points } from '../format.js';
import { type Html, html } from '../html.js';
import { section } from './section.js';

interface Column {
  readonly title: string;
  readonly of: (line: Pick<DomainDifference, 'passAt1' | 'observedK'>) => Estimate;
}

export function domainsSection({ before, after, paired }: ComparisonData): Html {
  const domains = paired?.domains ?? [];
  if (!paired || domains.length < 2) return html``;
  const columns: readonly Column[] = [
    { title: 'pass@1', of: ({ passAt1 }) => passAt1 },
    { title: kOfK(after.k), of: ({ observedK }) => observedK },
  ];
  const all = {
    domain: 'All tasks',
    tasks: paired.tasks,
    passAt1: paired.passAt1,
    observedK: paired.observedK,
  };
  const lines = [all, ...[...domains].sort((a, b) => b.passAt1.value - a.passAt1.value)];
  const reach = reachOf(lines.flatMap((line) => columns.map(({ of }) => of(line))));
  const score = (label: string, column: Column): string => {
    const find = ({ scores }: typeof before) => {
      const line = scores?.find((each) => each.label === label);
      return line ? percent(column.of(line).value) : '–';
    };
    return `${find(before)} → ${find(after)}`;
  };
  const cell = (line: DomainDifference, column: Column): Html => {
    const difference = column.of(line);
    const { value, low, high } = difference;
    const range = low === null || high === null ? '' : ` (${points(low)} to ${points(high)})`;
    const levels = score(line === all ? 'all' : line.domain, column);
    return html`<td data-label="${column.title}"><span class="pair"><b>${points(value)}</b><small>${levels}</small></span>${differenceTrack(difference, reach, `${line.domain}, ${column.title}: ${points(value)}${range}`)}</td>`;
  };
  const row = (line: DomainDifference): Html =>
    html`<tr><th scope="row">${line.domain}<small>${plural(line.tasks, 'task')}</small></th>${columns.map((column) => cell(line, column))}</tr>`;
  return section(
    'domains',
    'Change by domain',
    html`Differences of the same tasks, ${after.id} minus ${before.id}, from ${points(-reach)} to ${points(reach)}, with 95 % intervals over tasks. A filled dot differs from no change by more than chance gives.`,
    html`<table class="scores stack"><thead><tr><th scope="col">Tasks</th>${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}</tr></thead><tbody class="all">${row(all)}</tbody><tbody>${lines.slice(1).map(row)}</tbody></table>`,
  );
}
