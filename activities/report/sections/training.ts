/** The training run: twelve small charts on one time axis, seconds per stage, and every number in a table. */
import type { StepReport, TrainingReport } from '../../../core/report-data.js';
import { type MetricSpec, STEP_METRICS, STEP_STAGES, type StepMetric } from '../../../core/step-metrics.js';
import { seriesChart } from '../charts/series.js';
import { stackedSeconds } from '../charts/stacked.js';
import { count, duration, percent, plural, shortDigest } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { metricText, tickText } from '../metric-text.js';
import { fold, plainTable, section } from './section.js';

interface Panel {
  readonly metric: StepMetric;
  readonly mark: 'line' | 'bars';
  readonly domain?: readonly [number, number];
  readonly fromZero: boolean;
}

/** In the order in which an engineer looks: is it learning, is there signal left, is it stable, is it sound. */
const PANELS: readonly Panel[] = [
  { metric: 'reward', mark: 'line', domain: [0, 1], fromZero: true },
  { metric: 'zeroVarianceShare', mark: 'line', domain: [0, 1], fromZero: true },
  { metric: 'refillGroups', mark: 'bars', fromZero: true },
  { metric: 'entropy', mark: 'line', fromZero: false },
  { metric: 'klToBase', mark: 'line', fromZero: true },
  { metric: 'gradNorm', mark: 'line', fromZero: true },
  { metric: 'clipFraction', mark: 'line', fromZero: true },
  { metric: 'responseTokens', mark: 'line', fromZero: false },
  { metric: 'truncatedShare', mark: 'line', fromZero: true },
  { metric: 'mismatchMean', mark: 'line', fromZero: true },
  { metric: 'systemErrors', mark: 'bars', fromZero: true },
];

/** The last place: the held-out score where it was measured, else the largest sampler–trainer difference. */
function lastPanel(steps: readonly StepReport[]): Panel {
  const validated = steps.some((step) => numberOf(step, 'validationPassAt1') !== null);
  return validated
    ? { metric: 'validationPassAt1', mark: 'line', domain: [0, 1], fromZero: true }
    : { metric: 'mismatchMax', mark: 'line', fromZero: true };
}

function numberOf(step: StepReport, metric: StepMetric): number | null {
  const value = step.metrics[metric];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function panel(steps: readonly StepReport[], item: Panel): Part {
  const spec: MetricSpec = STEP_METRICS[item.metric];
  const points = steps.map((step) => ({ step: step.step, value: numberOf(step, item.metric) }));
  const present = points.filter((point) => point.value !== null);
  const last = present.at(-1)?.value ?? null;
  const first = present[0]?.value ?? null;
  const sum = present.reduce((total, point) => total + (point.value ?? 0), 0);
  const figure =
    item.mark === 'bars'
      ? present.length > 0
        ? `${count(sum)} in all`
        : '–'
      : metricText(item.metric, last);
  return html`<figure class="${`panel metric m-${item.metric}`}"><figcaption><h3>${spec.label}</h3><p class="now"><b>${figure}</b>${item.mark === 'line' && present.length > 1 && html`<span class="from">from ${metricText(item.metric, first)}</span>`}</p></figcaption>${seriesChart(
    points,
    {
      id: `c-${item.metric}`,
      title: spec.label,
      about: spec.about,
      mark: item.mark,
      fromZero: item.fromZero,
      format: (value) => metricText(item.metric, value),
      tick: (value, all) => tickText(item.metric, value, all),
      ...(item.domain ? { domain: item.domain } : {}),
    },
  )}<p class="about">${spec.about}</p></figure>`;
}

function stages(steps: readonly StepReport[]): Part {
  const used = STEP_STAGES.filter((stage) => steps.some((step) => (numberOf(step, stage) ?? 0) > 0));
  if (used.length === 0) return null;
  const rows = steps.map((step) => ({
    step: step.step,
    seconds: Object.fromEntries(used.map((stage) => [stage, numberOf(step, stage) ?? 0])),
  }));
  const named = used.map((key) => ({ key, label: STEP_METRICS[key].label }));
  const total = (stage: string): number => rows.reduce((sum, row) => sum + (row.seconds[stage] ?? 0), 0);
  const all = used.reduce((sum, stage) => sum + total(stage), 0);
  return html`<figure class="panel metric wide"><figcaption><h3>Seconds per stage</h3><p class="now"><b>${duration(all)}</b><span class="from">in all, ${duration(all / Math.max(1, rows.length))} a step</span></p></figcaption>${stackedSeconds('c-stages', rows, named)}<p class="legend">${named.map(({ key, label }, index) => html`<span class="${`swatch stage s${index}`}">${label} <b>${percent(all > 0 ? total(key) / all : 0, 0)}</b></span>`)}</p></figure>`;
}

function stepsTable(steps: readonly StepReport[]): Html {
  const names = (Object.keys(STEP_METRICS) as StepMetric[]).filter((metric) =>
    steps.some((step) => step.metrics[metric] !== null && step.metrics[metric] !== undefined),
  );
  return plainTable(
    'Every step',
    ['Step', 'State', ...names.map((metric) => STEP_METRICS[metric].label), 'Weights'],
    steps.map((step) => [
      String(step.step),
      step.cause ? `${step.state}: ${step.cause}` : step.state,
      ...names.map((metric) => metricText(metric, step.metrics[metric])),
      step.weightDigest ? html`<code>${shortDigest(step.weightDigest)}</code>` : '–',
    ]),
  );
}

export function trainingSection(training: TrainingReport | null): Html {
  if (!training) return html``;
  const { steps } = training;
  const finished = steps.filter((step) => step.state === 'done' || step.state === 'skipped').length;
  const shape =
    training.groups !== null && training.groupSize !== null
      ? `${training.groups} groups of ${training.groupSize} episodes a step`
      : null;
  const facts = [
    training.plannedSteps === null
      ? plural(finished, 'step')
      : `${count(finished)} of ${plural(training.plannedSteps, 'step')}`,
    shape,
    training.poolTasks === null ? null : `a pool of ${plural(training.poolTasks, 'task')}`,
    plural(training.coverage.clean, 'clean episode'),
    training.checkpoints > 0 ? plural(training.checkpoints, 'checkpoint') : null,
  ].filter((fact) => fact !== null);
  if (steps.length === 0) return section('training', 'Training', 'No step has been recorded yet.', null);
  return section(
    'training',
    'Training, step by step',
    html`${facts.join(' · ')}.${training.cause && html` <strong class="loss">${training.cause}</strong>`}`,
    html`<div class="metrics">${[...PANELS, lastPanel(steps)].map((item) => panel(steps, item))}${stages(steps)}</div>${fold('Every number of every step', stepsTable(steps))}`,
  );
}
