/** Seconds per stage, stacked, one bar a step. Positions across are percentages, so that it fits any width. */
import { scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import { duration } from '../format.js';
import { type Html, html } from '../html.js';
import { stepTicks } from './axis.js';
import { fluidSvg, pct, px } from './frame.js';

export interface StackedStep {
  readonly step: number;
  /** seconds[stage] */
  readonly seconds: Readonly<Record<string, number>>;
}

const HEIGHT = 200;
const TOP = 16;
const FLOOR = HEIGHT - 22;
/** Room for the labels of the seconds, as a share of the width; enough on a phone too. */
const LEFT = 0.07;
const WIDEST = 0.05;

export function stackedSeconds(
  id: string,
  steps: readonly StackedStep[],
  stages: readonly { readonly key: string; readonly label: string }[],
): Html {
  const most = Math.max(
    0,
    ...steps.map((step) => stages.reduce((sum, stage) => sum + (step.seconds[stage.key] ?? 0), 0)),
  );
  const first = steps[0]?.step ?? 1;
  const last = steps.at(-1)?.step ?? 1;
  const x = scaleLinear()
    .domain([first - 0.6, last + 0.6])
    .range([LEFT, 1]);
  const y = scaleLinear()
    .domain([0, most || 1])
    .range([FLOOR, TOP])
    .nice(3);
  const width = Math.min(WIDEST, (x(1) - x(0)) * 0.72);
  const layers = stack<StackedStep, string>()
    .keys(stages.map((stage) => stage.key))
    .value((step, key) => step.seconds[key] ?? 0)([...steps]);
  const bars = layers.map((layer, index) => {
    const label = stages[index]?.label ?? layer.key;
    return html`<g class="stage s${index}">${layer.map((segment) => {
      const [low, high] = [segment[0], segment[1]];
      const { step } = segment.data;
      return (
        high > low &&
        html`<rect x="${pct(x(step) - width / 2)}" y="${px(y(high))}" width="${pct(width)}" height="${px(y(low) - y(high))}"><title>step ${step}, ${label}: ${duration(high - low)}</title></rect>`
      );
    })}</g>`;
  });
  return fluidSvg(
    id,
    'Seconds per stage',
    `Wall seconds of each step by stage; the longest step took ${duration(most)}.`,
    HEIGHT,
    html`<g class="axis">${y
      .ticks(3)
      .map(
        (tick) =>
          html`<line class="grid" x1="0" x2="100%" y1="${px(y(tick))}" y2="${px(y(tick))}"/><text x="0" y="${px(y(tick) - 4)}">${tick} s</text>`,
      )}${stepTicks(first, last).map(
      (step) => html`<text x="${pct(x(step))}" y="${HEIGHT - 5}" text-anchor="middle">${step}</text>`,
    )}</g>${bars}<line class="baseline" x1="0" x2="100%" y1="${FLOOR}" y2="${FLOOR}"/>`,
  );
}
