/** A share over k = 1 .. n, before and after. */
import { percent } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { stepTicks } from './axis.js';
import { fluidSvg, pct, px } from './frame.js';

export interface Curve {
  readonly kind: 'before' | 'after';
  /** values[k - 1], shares. */
  readonly values: readonly number[];
}

const HEIGHT = 210;
const TOP = 14;
const FLOOR = HEIGHT - 26;

export function curveChart(id: string, title: string, curves: readonly Curve[]): Html {
  const most = Math.max(...curves.map(({ values }) => values.length));
  const x = (k: number): number => (most === 1 ? 0.5 : 0.09 + (0.87 * (k - 1)) / (most - 1));
  const y = (share: number): number => FLOOR - share * (FLOOR - TOP);
  const about = curves
    .map(
      ({ kind, values }) =>
        `${kind}: ${percent(values[0] ?? 0)} at 1, ${percent(values.at(-1) ?? 0)} at ${values.length}`,
    )
    .join('; ');
  return fluidSvg(
    id,
    title,
    `${about}.`,
    HEIGHT,
    html`<g class="axis">${[0, 0.25, 0.5, 0.75, 1].map(
      (share) =>
        html`<line class="grid" x1="0" x2="100%" y1="${px(y(share))}" y2="${px(y(share))}"/><text x="0" y="${px(y(share) - 3)}">${percent(share, 0)}</text>`,
    )}${stepTicks(1, most).map(
      (k) => html`<text x="${pct(x(k))}" y="${HEIGHT - 7}" text-anchor="middle">${k}</text>`,
    )}</g>${curves.map((curve) => marks(curve, x, y))}`,
  );
}

function marks({ kind, values }: Curve, x: (k: number) => number, y: (share: number) => number): Part {
  return html`<g class="${`curve ${kind}`}">${values.slice(1).map((value, index) => {
    const before = values[index] as number;
    return html`<line x1="${pct(x(index + 1))}" y1="${px(y(before))}" x2="${pct(x(index + 2))}" y2="${px(y(value))}"/>`;
  })}${values.map(
    (value, index) =>
      html`<circle cx="${pct(x(index + 1))}" cy="${px(y(value))}" r="3.5"><title>${kind}, k = ${index + 1}: ${percent(value)}</title></circle>`,
  )}</g>`;
}
