/** Ticks: whole steps along the bottom, and value labels with just the decimals that tell them apart. */
import { type Html, html } from '../html.js';
import { type Margin, px, type Size } from './frame.js';

const STRIDES = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000];
const MOST_STRIDES = 4;

/** First and last step, and multiples of a round stride between them that stand clear of both. */
export function stepTicks(first: number, last: number): readonly number[] {
  if (last <= first) return [first];
  const span = last - first;
  const stride = STRIDES.find((each) => span / each <= MOST_STRIDES) ?? Math.ceil(span / MOST_STRIDES);
  const ticks: number[] = [first];
  for (let tick = Math.ceil((first + 1) / stride) * stride; tick < last; tick += stride) {
    if (tick - first >= stride * 0.6 && last - tick >= stride * 0.6) ticks.push(tick);
  }
  return [...ticks, last];
}

/** Decimals that tell neighbouring ticks apart: 0 for a stride of 5, 2 for 0.05. */
export function decimalsOf(ticks: readonly number[], scale = 1): number {
  const [first, second] = ticks;
  if (first === undefined || second === undefined) return 0;
  const stride = Math.abs(second - first) * scale;
  return stride > 0 ? Math.max(0, Math.min(8, -Math.floor(Math.log10(stride) + 1e-9))) : 0;
}

/** Of a value axis, with a little room around the data; [0, 1] for none. */
export function domainOf(values: readonly number[], fromZero: boolean): readonly [number, number] {
  const high = Math.max(...values);
  const low = Math.min(...values);
  if (values.length === 0) return [0, 1];
  if (fromZero) return [Math.min(0, low), high > 0 ? high : low < 0 ? 0 : 1];
  const slack = high > low ? (high - low) * 0.15 : Math.abs(high) * 0.2 || 1;
  return [low - slack, high + slack];
}

export interface Axes {
  readonly size: Size;
  readonly margin: Margin;
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
  readonly ticks: readonly number[];
  readonly steps: readonly [first: number, last: number];
  /** Label of one tick among the others. */
  readonly tick: (value: number, all: readonly number[]) => string;
}

/** Both axes of a chart over steps: a line and a label a value, and the steps along the bottom. */
export function axes({ size, margin, x, y, ticks, steps, tick: label }: Axes): Html {
  return html`<g class="axis">${ticks.map(
    (tick) =>
      html`<line class="grid" x1="${margin.left}" x2="${size.width - margin.right}" y1="${px(y(tick))}" y2="${px(y(tick))}"/><text x="${margin.left - 7}" y="${px(y(tick) + 3.5)}" text-anchor="end">${label(tick, ticks)}</text>`,
  )}${stepTicks(...steps).map(
    (step) => html`<text x="${px(x(step))}" y="${size.height - 6}" text-anchor="middle">${step}</text>`,
  )}</g>`;
}
