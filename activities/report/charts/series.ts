/** One metric over the steps of a run: a line with its points, or bars for counts. Made for a card of about 320 units. */
import { scaleLinear } from 'd3-scale';
import { area, line } from 'd3-shape';
import { type Html, html } from '../html.js';
import { axes, domainOf } from './axis.js';
import { type Margin, px, scalingSvg } from './frame.js';

export interface SeriesPoint {
  readonly step: number;
  /** Null: not measured in this step; the line has a gap. */
  readonly value: number | null;
}

export interface SeriesOptions {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly mark: 'line' | 'bars';
  /** Fixed domain of the value axis; else from the data. */
  readonly domain?: readonly [number, number];
  /** Whether an axis from the data starts at 0. */
  readonly fromZero: boolean;
  readonly format: (value: number) => string;
  /** Label of one tick among the others. */
  readonly tick: (value: number, all: readonly number[]) => string;
}

const SIZE = { width: 320, height: 148 };
const MARGIN: Margin = { top: 10, right: 10, bottom: 22, left: 46 };
const MOST_DOTS = 30;

interface Present {
  readonly step: number;
  readonly value: number;
}

export function seriesChart(points: readonly SeriesPoint[], options: SeriesOptions): Html {
  const present = points.filter(
    (point): point is Present => point.value !== null && Number.isFinite(point.value),
  );
  const first = points[0]?.step ?? 1;
  const last = points.at(-1)?.step ?? 1;
  if (present.length === 0) {
    return scalingSvg(
      options.id,
      options.title,
      'not recorded',
      SIZE,
      html`<text class="empty" x="${SIZE.width / 2}" y="${SIZE.height / 2}" text-anchor="middle">not recorded</text>`,
    );
  }
  const bars = options.mark === 'bars';
  const pad = bars ? 0.6 : 0;
  const x = scaleLinear()
    .domain(last > first ? [first - pad, last + pad] : [first - 1, first + 1])
    .range([MARGIN.left, SIZE.width - MARGIN.right]);
  const y = scaleLinear()
    .domain(
      options.domain ??
        domainOf(
          present.map((point) => point.value),
          options.fromZero,
        ),
    )
    .range([SIZE.height - MARGIN.bottom, MARGIN.top]);
  if (!options.domain) y.nice(3);
  const floor = SIZE.height - MARGIN.bottom;
  const ticks = y.ticks(3).filter((tick) => options.mark === 'line' || Number.isInteger(tick));
  const describe = (point: Present): string => `step ${point.step}: ${options.format(point.value)}`;
  const final = present.at(-1) as Present;
  const about = `${options.about}. From ${describe(present[0] as Present)} to ${describe(final)}.`;
  return scalingSvg(
    options.id,
    options.title,
    about,
    SIZE,
    html`${axes({ size: SIZE, margin: MARGIN, x, y, ticks, steps: [first, last], tick: options.tick })}${bars ? barMarks(present, x, y, floor, describe) : lineMarks(points, present, x, y, floor, describe)}`,
  );
}

type Scale = (value: number) => number;

function barMarks(
  present: readonly Present[],
  x: Scale,
  y: Scale,
  floor: number,
  describe: (point: Present) => string,
): Html {
  const width = Math.min(18, Math.max(1, (x(1) - x(0)) * 0.66));
  return html`<line class="baseline" x1="${MARGIN.left}" x2="${SIZE.width - MARGIN.right}" y1="${floor}" y2="${floor}"/><g class="bars">${present.map(
    (point) =>
      html`<rect x="${px(x(point.step) - width / 2)}" y="${px(y(point.value))}" width="${px(width)}" height="${px(Math.max(0, floor - y(point.value)))}" rx="1.5"><title>${describe(point)}</title></rect>`,
  )}</g>`;
}

function lineMarks(
  points: readonly SeriesPoint[],
  present: readonly Present[],
  x: Scale,
  y: Scale,
  floor: number,
  describe: (point: Present) => string,
): Html {
  const at = { x: (point: SeriesPoint) => x(point.step), y: (point: SeriesPoint) => y(point.value ?? 0) };
  const defined = (point: SeriesPoint): boolean => point.value !== null && Number.isFinite(point.value);
  const path = line<SeriesPoint>().defined(defined).x(at.x).y(at.y)([...points]);
  const fill = area<SeriesPoint>().defined(defined).x(at.x).y0(floor).y1(at.y)([...points]);
  const final = present.at(-1) as Present;
  return html`<path class="area" d="${fill ?? ''}"/><path class="line" d="${path ?? ''}"/><g class="dots">${present.map(
    (point) =>
      html`<circle cx="${px(x(point.step))}" cy="${px(y(point.value))}" r="${present.length > MOST_DOTS ? 1.5 : 2.5}"><title>${describe(point)}</title></circle>`,
  )}</g><circle class="final" cx="${px(x(final.step))}" cy="${px(y(final.value))}" r="4"><title>${describe(final)}</title></circle>`;
}
