/** One metric of two runs on one pair of axes: the first dashed and grey, the second solid. For a card of about 320 units. */
import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import { type Html, html } from '../html.js';
import { axes, domainOf } from './axis.js';
import { type Margin, px, scalingSvg } from './frame.js';

export interface OverlayPoint {
  readonly place: number;
  /** Null: not measured; the line has a gap, unless the metric is a rare one. */
  readonly before: number | null;
  readonly after: number | null;
}

export interface OverlayOptions {
  readonly id: string;
  readonly title: string;
  readonly names: readonly [before: string, after: string];
  /** Fixed domain of the value axis; else from the data. */
  readonly domain?: readonly [number, number];
  readonly fromZero: boolean;
  /** Measured now and then: lines go on over steps without it. */
  readonly rare?: boolean;
  readonly format: (value: number) => string;
  readonly tick: (value: number, all: readonly number[]) => string;
  /** Where the two part: a line across; absent: nowhere. */
  readonly parts?: number;
}

const SIZE = { width: 320, height: 160 };
const MARGIN: Margin = { top: 10, right: 12, bottom: 22, left: 46 };
const MOST_DOTS = 40;

type Side = 'before' | 'after';

export function overlayChart(points: readonly OverlayPoint[], options: OverlayOptions): Html {
  const values = points.flatMap(({ before, after }) => [before, after]).filter(isNumber);
  const first = points[0]?.place ?? 1;
  const last = points.at(-1)?.place ?? 1;
  const x = scaleLinear()
    .domain(last > first ? [first, last] : [first - 1, first + 1])
    .range([MARGIN.left, SIZE.width - MARGIN.right]);
  const y = scaleLinear()
    .domain(options.domain ?? domainOf(values, options.fromZero))
    .range([SIZE.height - MARGIN.bottom, MARGIN.top]);
  if (!options.domain) y.nice(3);
  const ticks = y.ticks(3);
  const { parts } = options;
  return scalingSvg(
    options.id,
    options.title,
    `${options.title} by step. ${(['before', 'after'] as const).map((side, at) => words(points, side, options.names[at]!, options.format)).join(' ')}`,
    SIZE,
    html`${axes({ size: SIZE, margin: MARGIN, x, y, ticks, steps: [first, last], tick: options.tick })}${parts !== undefined && html`<line class="parts" x1="${px(x(parts))}" x2="${px(x(parts))}" y1="${MARGIN.top}" y2="${SIZE.height - MARGIN.bottom}"><title>the runs part at step ${parts}</title></line>`}${marks(points, 'before', x, y, options)}${marks(points, 'after', x, y, options)}`,
  );
}

type Scale = (value: number) => number;

function marks(
  points: readonly OverlayPoint[],
  side: Side,
  x: Scale,
  y: Scale,
  { names, format, rare = false }: OverlayOptions,
): Html {
  const dots = points.filter((point) => isNumber(point[side]));
  const path = line<OverlayPoint>()
    .defined((point) => isNumber(point[side]))
    .x(({ place }) => x(place))
    .y((point) => y(point[side] ?? 0))([...(rare ? dots : points)]);
  const name = names[side === 'before' ? 0 : 1];
  const radius = dots.length > MOST_DOTS ? 1.4 : 2.6;
  return html`<g class="${`run ${side}`}"><path d="${path ?? ''}"/>${dots.map(
    (point) =>
      html`<circle cx="${px(x(point.place))}" cy="${px(y(point[side]!))}" r="${radius}"><title>${name}, step ${point.place}: ${format(point[side]!)}</title></circle>`,
  )}</g>`;
}

/** For who cannot see the chart: where it begins and ends. */
function words(
  points: readonly OverlayPoint[],
  side: Side,
  name: string,
  format: (value: number) => string,
): string {
  const present = points.filter((point) => isNumber(point[side]));
  const [from, to] = [present[0], present.at(-1)];
  if (!from || !to) return `${name}: not measured.`;
  return `${name}: from ${format(from[side]!)} at ${from.place} to ${format(to[side]!)} at ${to.place}.`;
}

function isNumber(value: number | null): value is number {
  return value !== null && Number.isFinite(value);
}
