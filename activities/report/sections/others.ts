/** Every further evaluation of a comparison against the first, paired by task. */
import { differenceTrack, reachOf } from '../charts/difference.js';
import type { ComparisonData } from '../comparison-data.js';
import { kOfK, percent, points } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { section } from './section.js';
import { overall } from './totals.js';

export function othersSection({ before, after, paired, others }: ComparisonData): Html {
  if (others.length === 0) return html``;
  const lines = [{ evaluation: after, paired }, ...others];
  const reach = reachOf(
    lines.flatMap((line) => (line.paired ? [line.paired.passAt1, line.paired.observedK] : [])),
  );
  const cell = (line: (typeof lines)[number], measure: 'passAt1' | 'observedK', title: string): Part => {
    const all = overall(line.evaluation);
    if (!all || !line.paired) return html`<td data-label="${title}">not comparable</td>`;
    const difference = line.paired[measure];
    const text = `${line.evaluation.id}, ${title}: ${points(difference.value)}`;
    return html`<td data-label="${title}"><span class="pair"><b>${points(difference.value)}</b><small>${percent(all[measure].value)}</small></span>${differenceTrack(difference, reach, text)}</td>`;
  };
  return section(
    'others',
    `Each against ${before.id}`,
    html`Differences of the same tasks, from ${points(-reach)} to ${points(reach)}, with 95 % intervals over tasks.`,
    html`<table class="scores stack"><thead><tr><th scope="col">Evaluation</th><th scope="col">pass@1</th><th scope="col">${kOfK(after.k)}</th><th scope="col">gained, lost</th></tr></thead><tbody>${lines.map(
      (line) =>
        html`<tr><th scope="row">${line.evaluation.id}<small>${line.evaluation.model}</small></th>${cell(line, 'passAt1', 'pass@1')}${cell(line, 'observedK', kOfK(after.k))}<td data-label="gained, lost">${line.paired ? html`<b class="gain">+${line.paired.gained.length}</b> / <b class="loss">−${line.paired.lost.length}</b>` : '–'}</td></tr>`,
    )}</tbody></table>`,
  );
}
