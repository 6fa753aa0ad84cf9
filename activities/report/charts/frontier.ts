/** Cost against score, one dot an evaluation; those that no other one beats on both are joined by the front. */
import { scaleLinear } from 'd3-scale';
import { paretoFront } from '../../../core/metrics/pareto.js';
import type { Estimate } from '../../../core/report-data.js';
import { percent } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { decimalsOf } from './axis.js';
import { fluidSvg, pct, px } from './frame.js';

export interface FrontierPoint {
  readonly name: string;
  readonly cost: number;
  readonly score: number;
  readonly estimate: Estimate;
  /** `before` and `after` are drawn as everywhere in a comparison. */
  readonly kind: 'before' | 'after' | 'other';
}

const HEIGHT = 320;
const TOP = 18;
const FLOOR = HEIGHT - 30;
/** Shares of the width that stay free at both sides, for names. */
const SIDE = 0.1;
const LINE = 15;

/** `costText` of a dot, `tickText` of a tick. Points need not be sorted. */
export function frontierChart(
  id: string,
  points: readonly FrontierPoint[],
  costText: (cost: number) => string,
  tickText: (cost: number) => string,
): Html {
  const costs = points.map(({ cost }) => cost);
  const [low, high] = [Math.min(...costs), Math.max(...costs)];
  const slack = (high - low) * 0.12 || high * 0.1 || 1;
  const x = scaleLinear()
    .domain([Math.max(0, low - slack), high + slack])
    .range([SIDE, 1 - SIDE]);
  const ends = points.flatMap(({ score, estimate }) => [
    score,
    estimate.low ?? score,
    estimate.high ?? score,
  ]);
  const y = scaleLinear()
    .domain([Math.max(0, Math.min(...ends) - 0.02), Math.min(1, Math.max(...ends) + 0.02)])
    .nice(4)
    .range([FLOOR, TOP]);
  const front = paretoFront(points);
  const ticks = { x: x.ticks(5), y: y.ticks(4) };
  const axis = html`<g class="axis">${ticks.y.map(
    (tick) =>
      html`<line class="grid" x1="0" x2="100%" y1="${px(y(tick))}" y2="${px(y(tick))}"/><text x="0" y="${px(y(tick) - 4)}">${percent(tick, decimalsOf(ticks.y, 100))}</text>`,
  )}${ticks.x.map(
    (tick) => html`<text x="${pct(x(tick))}" y="${HEIGHT - 8}" text-anchor="middle">${tickText(tick)}</text>`,
  )}<line class="baseline" x1="0" x2="100%" y1="${FLOOR}" y2="${FLOOR}"/></g>`;
  const names = front.map(({ name }) => name).join(', ');
  return fluidSvg(
    id,
    'Cost against pass@1',
    `On the front: ${names}.`,
    HEIGHT,
    html`${axis}${steps(front, x, y)}${points.map((point) => dot(point, x, y, front.includes(point), costText))}${labels(points, x, y)}`,
  );
}

type Scale = (value: number) => number;

/** From each front point level to the cost of the next, then up to it: what a budget buys. */
function steps(front: readonly FrontierPoint[], x: Scale, y: Scale): Part {
  return html`<g class="front">${front.map((point, index) => {
    const next = front[index + 1];
    const to = next ? pct(x(next.cost)) : '100%';
    return html`<line x1="${pct(x(point.cost))}" x2="${to}" y1="${px(y(point.score))}" y2="${px(y(point.score))}"/>${
      next && html`<line x1="${to}" x2="${to}" y1="${px(y(point.score))}" y2="${px(y(next.score))}"/>`
    }`;
  })}</g>`;
}

function dot(
  { name, cost, score, estimate, kind }: FrontierPoint,
  x: Scale,
  y: Scale,
  onFront: boolean,
  costText: (cost: number) => string,
): Html {
  const at = pct(x(cost));
  const { low, high } = estimate;
  return html`<g class="${`dot ${kind}${onFront ? ' best' : ''}`}"><title>${name}: pass@1 ${percent(score, 2)} at ${costText(cost)}${onFront ? ', on the front' : ''}</title>${
    low !== null &&
    high !== null &&
    html`<line class="whisker" x1="${at}" x2="${at}" y1="${px(y(low))}" y2="${px(y(high))}"/>`
  }<circle cx="${at}" cy="${px(y(score))}" r="6"/></g>`;
}

/** Above and beside the dot, away from the nearer edge; names that would lie on each other move apart. */
function labels(points: readonly FrontierPoint[], x: Scale, y: Scale): Part {
  const placed: { readonly left: boolean; readonly at: number }[] = [];
  return [...points]
    .sort((a, b) => b.score - a.score)
    .map((point) => {
      const left = x(point.cost) > 0.5;
      let at = y(point.score) - 9;
      while (placed.some((other) => other.left === left && Math.abs(other.at - at) < LINE)) at += 1;
      placed.push({ left, at });
      return html`<text class="${`name ${point.kind}`}" x="${pct(x(point.cost))}" dx="${left ? -12 : 12}" y="${px(at)}" text-anchor="${left ? 'end' : 'start'}">${point.name}</text>`;
    });
}
