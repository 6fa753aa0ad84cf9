/** Seconds per stage, stacked, one bar a step. */
import { scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { duration } from '../format.js';
import { type Html, html } from '../html.js';
import { type Margin, px, scalingSvg } from './frame.js';
import { stepTicks } from './series.js';

export interface StackedStep {
  readonly step: number;
  /** seconds[stage] */
  readonly seconds: Readonly<Record<string, number>>;
}

const SIZE = { width: 660, height: 190 };
const MARGIN: Margin = { top: 10, right: 10, bottom: 22, left: 46 };

export function stackedSeconds(
  id: string,
  steps: readonly StackedStep[],
  stages: readonly { readonly key: string; readonly label: string }[],
): Html {
  const totals = steps.map((step) => stages.reduce((sum, stage) => sum + (step.seconds[stage.key] ?? 0), 0));
  const most = Math.max(0, ...totals);
  const first = steps[0]?.step ?? 1;
  const last = steps.at(-1)?.step ?? 1;
  const x = scaleLinear()
    .domain([first - 0.6, last + 0.6])
    .range([MARGIN.left, SIZE.width - MARGIN.right]);
  const floor = SIZE.height - MARGIN.bottom;
  const y = scaleLinear()
    .domain([0, most || 1])
    .range([floor, MARGIN.top])
    .nice(3);
  const width = Math.min(34, Math.max(1, (x(1) - x(0)) * 0.7));
  const layers = stack<StackedStep, string>()
    .keys(stages.map((stage) => stage.key))
    .value((step, key) => step.seconds[key] ?? 0)([...steps]);
  const bars = layers.map((layer, index) => {
    const label = stages[index]?.label ?? layer.key;
    return html`<g class="stage s${index}">${layer.map((segment) => {
      const [low, high] = [segment[0], segment[1]];
      const step = segment.data;
      return (
        high > low &&
        html`<rect x="${px(x(step.step) - width / 2)}" y="${px(y(high))}" width="${px(width)}" height="${px(y(low) - y(high))}"><title>${`step ${step.step}, ${label}: ${duration(high - low)}`}</title></rect>`
      );
    })}</g>`;
  });
  const about = `Wall seconds of each step by stage; the longest step took ${duration(most)}.`;
  return scalingSvg(
    id,
    'Seconds per stage',
    about,
    SIZE,
    html`<g class="axis">${y
      .ticks(3)
      .map(
        (tick) =>
          html`<line class="grid" x1="${MARGIN.left}" x2="${SIZE.width - MARGIN.right}" y1="${px(y(tick))}" y2="${px(y(tick))}"/><text x="${MARGIN.left - 7}" y="${px(y(tick) + 3.5)}" text-anchor="end">${`${tick} s`}</text>`,
      )}${stepTicks(first, last).map(
      (step) => html`<text x="${px(x(step))}" y="${SIZE.height - 6}" text-anchor="middle">${step}</text>`,
    )}</g>${bars}<line class="baseline" x1="${MARGIN.left}" x2="${SIZE.width - MARGIN.right}" y1="${floor}" y2="${floor}"/>`,
  );
}
