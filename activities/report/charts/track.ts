/**
 * Before and after on one line from 0 to 1: a hollow ring before, a filled dot after, in table cells.
 * Positions are percentages, so a track fills its cell at any width. Told apart by shape as well as colour.
 */
import type { Estimate } from '../../../core/report-data.js';
import { type Html, html } from '../html.js';
import { pct } from './frame.js';

function direction(before: number, after: number): string {
  return after > before ? 'up' : after < before ? 'down' : 'even';
}

/** A dumbbell. Either end may be null (that evaluation does not have the task). `label` is read aloud. */
export function dumbbell(before: number | null, after: number | null, label: string): Html {
  const both = before !== null && after !== null;
  return html`<svg class="track" role="img" aria-label="${label}" width="100%" height="18"><title>${label}</title><line class="rail" x1="0" x2="100%" y1="9" y2="9"/>${
    both &&
    html`<line class="bar ${direction(before, after)}" x1="${pct(before)}" x2="${pct(after)}" y1="9" y2="9"/>`
  }${before !== null && html`<circle class="before" cx="${pct(before)}" cy="9" r="4"/>`}${
    after !== null &&
    html`<circle class="after ${both ? direction(before, after) : 'up'}" cx="${pct(after)}" cy="9" r="5"/>`
  }</svg>`;
}

function whisker(estimate: Estimate, y: number, kind: 'before' | 'after'): Html {
  const { value, low, high } = estimate;
  return html`${
    low !== null &&
    high !== null &&
    html`<line class="whisker ${kind}" x1="${pct(low)}" x2="${pct(high)}" y1="${y}" y2="${y}"/>`
  }<circle class="${kind}" cx="${pct(value)}" cy="${y}" r="4"/>`;
}

/** Two estimates with their intervals, before above after. */
export function intervals(before: Estimate | null, after: Estimate | null, label: string): Html {
  const two = before !== null && after !== null;
  const height = two ? 26 : 18;
  return html`<svg class="track" role="img" aria-label="${label}" width="100%" height="${height}"><title>${label}</title>${[
    0, 0.25, 0.5, 0.75, 1,
  ].map((at) => html`<line class="grid" x1="${pct(at)}" x2="${pct(at)}" y1="1" y2="${height - 1}"/>`)}${
    before !== null && whisker(before, two ? 7 : 9, 'before')
  }${after !== null && whisker(after, two ? 19 : 9, 'after')}</svg>`;
}
