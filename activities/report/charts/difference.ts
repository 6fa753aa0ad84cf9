/** One difference with its interval on a line whose middle is "no change". For table cells; fills its cell at any width. */
import type { Estimate } from '../../../core/report-data.js';
import { type Html, html } from '../html.js';
import { pct } from './frame.js';

/** Half-width of the line that shows all of these whole: a round number of points. */
export function reachOf(differences: readonly Estimate[]): number {
  const ends = differences.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const most = Math.max(0.05, ...ends.map((end) => Math.abs(end)));
  const steps = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1];
  return steps.find((step) => step >= most) ?? 1;
}

/** `reach` as of `reachOf`. `label` is read aloud. */
export function differenceTrack({ value, low, high }: Estimate, reach: number, label: string): Html {
  const at = (difference: number): string => pct(0.5 + difference / (2 * reach));
  const way = value > 0 ? 'up' : value < 0 ? 'down' : 'even';
  const clear = low !== null && high !== null && (low > 0 || high < 0);
  return html`<svg class="track diff" role="img" aria-label="${label}" width="100%" height="18"><title>${label}</title><line class="rail" x1="0" x2="100%" y1="9" y2="9"/><line class="zero" x1="50%" x2="50%" y1="1" y2="17"/>${
    low !== null &&
    high !== null &&
    html`<line class="${`reach ${way}`}" x1="${at(low)}" x2="${at(high)}" y1="9" y2="9"/>`
  }<circle class="${`point ${way}${clear ? ' clear' : ''}`}" cx="${at(value)}" cy="9" r="5"/></svg>`;
}
