/** Expected and actual final state, side by side: the rows that differ in full, rows that were touched in one line. */
import type { EpisodeView } from '../../../core/report-data.js';
import { count, plural } from '../format.js';
import { clip, type Html, html, type Part } from '../html.js';
import { diffStates, type RowDiff, type TableDiff } from '../state-diff.js';

const CELL_LIMIT = 400;
const ROW_LIMIT = 40;

const KINDS: Readonly<Record<RowDiff['kind'], string>> = {
  changed: 'differs',
  missing: 'missing: expected, not written',
  extra: 'extra: written, not expected',
  same: 'as expected',
};

/** Texts that occur as argument values of the episode's tool calls. */
export function mentionedIn(episode: Pick<EpisodeView, 'messages'>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const message of episode.messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls) {
      for (const value of Object.values(call.arguments))
        if (typeof value !== 'object') found.add(String(value));
    }
  }
  return found;
}

function value(row: Readonly<Record<string, string>> | null, column: string): Part {
  if (row === null) return html`<span class="none">no row</span>`;
  const text = row[column];
  if (text === undefined) return html`<span class="none">–</span>`;
  const { text: shown, cut } = clip(text, CELL_LIMIT);
  return html`<bdi>${shown}</bdi>${cut > 0 && html`<span class="none"> … ${count(cut)} more characters</span>`}`;
}

function full(row: RowDiff, columns: readonly string[]): Html {
  const own = columns.filter(
    (column) => row.expected?.[column] !== undefined || row.actual?.[column] !== undefined,
  );
  return html`<tbody class="${row.kind}"><tr class="rowhead"><th colspan="3" scope="rowgroup"><bdi>${row.id}</bdi> <span class="${`tag ${row.kind}`}">${KINDS[row.kind]}</span></th></tr>${own.map(
    (column) =>
      html`<tr class="${row.columns.includes(column) ? 'differs' : 'equal'}"><th scope="row"><bdi>${column}</bdi></th><td>${value(row.expected, column)}</td><td>${value(row.actual, column)}</td></tr>`,
  )}</tbody>`;
}

function oneLine(row: RowDiff): Html {
  const cells = Object.entries(row.actual ?? {}).map(([name, text]) => `${name} ${clip(text, 60).text}`);
  return html`<tbody class="same"><tr><th scope="row"><bdi>${row.id}</bdi></th><td colspan="2"><span class="tag same">as expected</span> <bdi>${cells.join(' · ')}</bdi></td></tr></tbody>`;
}

function table(diff: TableDiff): Html {
  const changed = diff.rows.filter((row) => row.kind !== 'same');
  const context = diff.rows.filter((row) => row.kind === 'same');
  const shown = changed.slice(0, ROW_LIMIT);
  const rest = changed.length - shown.length;
  return html`<div class="scroll"><table class="state"><caption><bdi>${diff.name}</bdi>${diff.hidden > 0 && html` <small>${plural(diff.hidden, changed.length + context.length > 0 ? 'other row' : 'row')} as expected</small>`}</caption>${shown.length > 0 && html`<thead><tr><th scope="col"><span class="unseen">field</span></th><th scope="col">expected</th><th scope="col">actual</th></tr></thead>`}${shown.map((row) => full(row, diff.columns))}${rest > 0 && html`<tbody><tr><td colspan="3">${plural(rest, 'more differing row')} in the artifact</td></tr></tbody>`}${context.map(oneLine)}</table></div>`;
}

export function stateComparison(episode: EpisodeView): Html {
  if (!episode.expected || !episode.actual) {
    return html`<p class="quiet">${episode.actual ? 'The suite does not say which final state it expects.' : 'No final state was recorded.'}</p>`;
  }
  const diff = diffStates(episode.expected, episode.actual, mentionedIn(episode));
  const shown = diff.tables.filter((each) => each.rows.length > 0);
  const silent = diff.tables.filter((each) => each.rows.length === 0);
  return html`<p class="${diff.differing > 0 ? 'statesum bad' : 'statesum good'}">${diff.differing > 0 ? html`<b>${plural(diff.differing, 'row')}</b> not as expected, ${count(diff.equal)} equal` : html`All <b>${plural(diff.equal, 'row')}</b> as expected`}</p>${shown.map(table)}${silent.length > 0 && shown.length > 0 && html`<p class="quiet">Untouched and equal: ${silent.map((each) => each.name).join(', ')}.</p>`}`;
}
