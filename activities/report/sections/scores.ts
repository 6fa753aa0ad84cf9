/** Before and after per domain, and apart for templates that were never trained on. Shared with `compare`. */
import type { Estimate, EvaluationReport, ScoreLine } from '../../../core/report-data.js';
import { intervals } from '../charts/track.js';
import { count, interval, kOfK, percent, plural } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { fold, plainTable, section } from './section.js';
import { partialWords } from './totals.js';

const TITLES: Readonly<Record<string, string>> = {
  all: 'All tasks',
  'templates trained on': 'Templates trained on',
  'templates never trained on': 'Templates never trained on',
};

/** How a line of the score table is named for readers; domains keep their own names. */
export function lineTitle(line: Pick<ScoreLine, 'label' | 'kind'>): string {
  return line.kind === 'domain' ? line.label : (TITLES[line.label] ?? line.label);
}

type Measure = (line: ScoreLine) => Estimate;

interface Column {
  readonly title: string;
  readonly pick: Measure;
}

function columns(k: number): readonly Column[] {
  return [
    { title: kOfK(k), pick: (line) => line.observedK },
    { title: 'pass@1', pick: (line) => line.passAt1 },
    // Of one attempt it is pass@1 again.
    ...(k > 1 ? [{ title: `pass@${k}`, pick: (line: ScoreLine) => line.passAtK }] : []),
  ];
}

function cell(column: Column, before: ScoreLine | null, after: ScoreLine | null): Html {
  const from = before && column.pick(before);
  const to = after && column.pick(after);
  const shown = to ?? from;
  if (!shown) return html`<td data-label="${column.title}">–</td>`;
  const label = `${column.title} ${from && to ? `${percent(from.value)} before (${interval(from)}), ${percent(to.value)} after (${interval(to)})` : `${percent(shown.value)} (${interval(shown)})`}`;
  return html`<td data-label="${column.title}"><span class="pair">${from && to && html`<span class="from">${percent(from.value)}</span><span class="arrow">→</span>`}<b>${percent(shown.value)}</b><small>${shown.low !== shown.high && interval(shown, 0)}</small></span>${intervals(from, to, label)}</td>`;
}

/** Lines of both tables by kind and label, in the order of the later one. */
function paired(
  before: readonly ScoreLine[] | null,
  after: readonly ScoreLine[] | null,
): readonly { readonly before: ScoreLine | null; readonly after: ScoreLine | null }[] {
  const key = (line: ScoreLine): string => `${line.kind} ${line.label}`;
  const from = new Map((before ?? []).map((line) => [key(line), line]));
  const to = new Map((after ?? []).map((line) => [key(line), line]));
  return [...new Set([...to.keys(), ...from.keys()])].map((each) => ({
    before: from.get(each) ?? null,
    after: to.get(each) ?? null,
  }));
}

const KINDS: readonly { readonly kind: ScoreLine['kind']; readonly heading: string | null }[] = [
  { kind: 'all', heading: null },
  { kind: 'domain', heading: 'By domain' },
  { kind: 'templates', heading: 'By whether the template was trained on' },
];

export function scoreTable(before: EvaluationReport | null, after: EvaluationReport | null): Html {
  const k = (after ?? before)?.k ?? 0;
  const cols = columns(k);
  const lines = paired(before?.scores ?? null, after?.scores ?? null);
  const body: Part[] = KINDS.map(({ kind, heading }) => {
    const rows = lines.filter((line) => (line.after ?? line.before)?.kind === kind);
    if (rows.length === 0) return null;
    return html`<tbody class="${kind}">${heading && html`<tr class="group"><th colspan="${cols.length + 1}" scope="rowgroup">${heading}</th></tr>`}${rows.map(
      (row) => {
        const line = (row.after ?? row.before) as ScoreLine;
        return html`<tr><th scope="row">${lineTitle(line)}<small>${plural(line.tasks, 'task')}${
          row.before && row.after
            ? html`, <span class="nowrap">${row.before.dependable} → ${row.after.dependable} at ${kOfK(k)}</span>`
            : html`, <span class="nowrap">${line.dependable} at ${kOfK(k)}</span>`
        }</small></th>${cols.map((column) => cell(column, row.before, row.after))}</tr>`;
      },
    )}</tbody>`;
  });
  return html`<table class="scores stack"><thead><tr><th scope="col">Tasks</th>${cols.map((column) => html`<th scope="col">${column.title}</th>`)}</tr></thead>${body}</table>`;
}

/** Both sides in figures: what the tracks show, for reading, copying and screen readers. */
function numbers(before: EvaluationReport | null, after: EvaluationReport | null): Html {
  const sides = [before, after].filter((each): each is EvaluationReport => each?.scores != null);
  const power = sides.some(({ scores }) => scores?.some(({ passPowerK }) => passPowerK));
  const figure = (value: Estimate): string =>
    `${percent(value.value)}${interval(value) && ` (${interval(value)})`}`;
  return plainTable(
    'All scores with their intervals',
    [
      'Tasks',
      'Evaluation',
      'Passed',
      ...columns(sides.at(-1)?.k ?? 0).map((column) => column.title),
      ...(power ? [`pass^${sides.at(-1)?.k}`] : []),
    ],
    sides.flatMap((side) =>
      (side.scores ?? []).map((line) => [
        lineTitle(line),
        side.label,
        `${count(line.passed)} of ${count(line.attempts)}`,
        ...columns(side.k).map((column) => figure(column.pick(line))),
        ...(power ? [line.passPowerK ? figure(line.passPowerK) : '–'] : []),
      ]),
    ),
  );
}

/** `heading` differs between a report and a comparison. Empty when neither evaluation has scores. */
export function scoresSection(
  before: EvaluationReport | null,
  after: EvaluationReport | null,
  heading: string,
): Html {
  if (!before?.scores && !after?.scores) return html``;
  const k = (after ?? before)?.k ?? 0;
  const both = before?.scores && after?.scores;
  const partial = partialWords(before, after) !== '';
  return section(
    'scores',
    partial ? `${heading}, of incomplete coverage` : heading,
    html`${kOfK(k)}: share of tasks whose every attempt passed. pass@1: chance that a single attempt passes. ${k > 1 && `pass@${k}: share of tasks that at least one of ${k} attempts solves. `}${both ? html`Lines are 95 % intervals over tasks: <span class="swatch before">before</span> <span class="swatch after">after</span>, from 0 to 100 %.` : 'Lines are 95 % intervals over tasks, from 0 to 100 %.'}`,
    html`${scoreTable(before?.scores ? before : null, after?.scores ? after : null)}${fold('All scores with their intervals', numbers(before, after))}`,
  );
}
