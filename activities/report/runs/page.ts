/** Two training runs as one HTML file: where they part, what was set otherwise, their curves over each other, every step. */
import { type ConfigChange, shortValue } from '../../../core/fingerprint.js';
import { type MetricSpec, STEP_METRICS, type StepMetric } from '../../../core/step-metrics.js';
import { type OverlayPoint, overlayChart } from '../charts/overlay.js';
import { count, moment, plural, shortDigest } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { metricText, tickText } from '../metric-text.js';
import { page } from '../page.js';
import { fold, plainTable, section } from '../sections/section.js';
import type { RunComparison, RunSide, StepPair } from './compare.js';
import { parting, relation, valueText } from './words.js';

export interface Writing {
  readonly programVersion: string;
  readonly generatedAt: string;
}

interface Panel {
  readonly metric: StepMetric;
  readonly domain?: readonly [number, number];
  readonly fromZero: boolean;
  /** Measured after some steps only. */
  readonly rare?: boolean;
}

/** In the order in which an engineer looks; what neither run has measured is left out. */
const PANELS: readonly Panel[] = [
  { metric: 'reward', domain: [0, 1], fromZero: true },
  { metric: 'validationPassAt1', domain: [0, 1], fromZero: true, rare: true },
  { metric: 'entropy', fromZero: false },
  { metric: 'gradNorm', fromZero: true },
  { metric: 'klToBase', fromZero: true },
  { metric: 'zeroVarianceShare', domain: [0, 1], fromZero: true },
  { metric: 'loss', fromZero: false },
  { metric: 'clipFraction', fromZero: true },
  { metric: 'responseTokens', fromZero: false },
  { metric: 'mismatchMean', fromZero: true },
  { metric: 'truncatedShare', fromZero: true },
  { metric: 'systemErrors', fromZero: true },
];
const MOST_CHANGES = 80;

/** Pure: the same comparison gives the same page. */
export function renderRunComparison(comparison: RunComparison, writing: Writing): string {
  const title = `${comparison.before} and ${comparison.after}`;
  const sections: readonly (readonly [{ readonly id: string; readonly label: string }, Html])[] = [
    [{ id: 'curves', label: 'Curves' }, curves(comparison)],
    [{ id: 'settings', label: 'Settings' }, settings(comparison.changes, comparison)],
    [{ id: 'steps', label: 'Steps' }, stepsSection(comparison)],
  ];
  return page(
    `${title} · Steadfast comparison`,
    parting(comparison),
    sections.map(([item]) => item),
    html`<header class="top"><p class="brand">Steadfast <span>comparison of training runs</span></p><div class="title"><h1>${title}</h1></div><p class="lede">${relation(comparison)} ${parting(comparison)}</p></header>`,
    html`${figures(comparison)}${sections.map(([, body]) => body)}<footer><p>Steadfast ${writing.programVersion}, written ${moment(writing.generatedAt)}.</p></footer>`,
  );
}

function figures({ steps, changes, firstDifference, sameWeights }: RunComparison): Html {
  const last = steps.filter(({ before, after }) => before && after).at(-1);
  const pairs = steps.filter(({ before, after }) => before && after).length;
  const parts = firstDifference
    ? card(
        'They part at step',
        html`<b>${firstDifference.beforeStep}</b>`,
        html`${firstDifference.what}: ${valueText(firstDifference.before)} → ${valueText(firstDifference.after)}`,
      )
    : card('They part', html`<b>nowhere</b>`, `${plural(pairs, 'step')} are the same, number by number`);
  return html`<section class="cards runs-cards" aria-label="Headline figures"><div class="smalls four">${parts}${card(
    'Same weights',
    html`<b>${sameWeights}</b><span class="slash">of</span>${pairs}`,
    'steps that both have, and that end with the same digest',
  )}${last && pairOf('Reward', 'reward', last)}${card(
    'Settings that differ',
    html`<b>${count(changes.length)}</b>`,
    changes
      .slice(0, 3)
      .map(({ path }) => path)
      .join(', ') || 'none: the same configuration',
  )}</div></section>`;
}

function pairOf(title: string, metric: StepMetric, { place, before, after }: StepPair): Html {
  const show = (side: RunSide | null) => metricText(metric, side?.metrics[metric]);
  return card(
    `${title} at step ${place}`,
    html`<span class="from">${show(before)}</span><span class="arrow" aria-label="against">|</span><b>${show(after)}</b>`,
    'the last step that both have',
  );
}

function card(title: string, figure: Part, note: Part): Html {
  return html`<div class="card"><h2>${title}</h2><p class="figure">${figure}</p><p class="note">${note}</p></div>`;
}

function curves(comparison: RunComparison): Html {
  const { before, after, steps, firstDifference } = comparison;
  const valuesOf = ({ metric }: Panel): readonly number[] =>
    steps
      .flatMap((pair) => [numberOf(pair.before, metric), numberOf(pair.after, metric)])
      .filter((value) => value !== null);
  const measured = PANELS.filter((item) => valuesOf(item).length > 0);
  // A chart of zeros tells less than its name does.
  const zero = measured.filter((item) => valuesOf(item).every((value) => value === 0));
  const shown = measured.filter((item) => !zero.includes(item));
  if (measured.length === 0) return section('curves', 'Curves', 'No step has been measured yet.', null);
  return section(
    'curves',
    'Curves, laid over each other',
    html`<span class="swatch before">${before}</span> <span class="swatch">${after}</span> by the steps of ${before}.${firstDifference && html` The dotted line is where they part.`}`,
    html`<div class="metrics">${shown.map((item) => panel(comparison, item))}</div>${zero.length > 0 && html`<p class="quiet">0 in every step of both: ${zero.map(({ metric }) => STEP_METRICS[metric].label).join(', ')}.</p>`}`,
  );
}

function panel({ before, after, steps, firstDifference }: RunComparison, item: Panel): Html {
  const { metric } = item;
  const spec: MetricSpec = STEP_METRICS[metric];
  const points: OverlayPoint[] = steps.map((pair) => ({
    place: pair.place,
    before: numberOf(pair.before, metric),
    after: numberOf(pair.after, metric),
  }));
  const last = (side: 'before' | 'after') => points.findLast((point) => point[side] !== null)?.[side] ?? null;
  return html`<figure class="${`panel metric m-${metric}`}"><figcaption><h3>${spec.label}</h3><p class="now"><span class="from">${metricText(metric, last('before'))}</span><b>${metricText(metric, last('after'))}</b></p></figcaption>${overlayChart(
    points,
    {
      id: `c-${metric}`,
      title: spec.label,
      names: [before, after],
      fromZero: item.fromZero,
      format: (value) => metricText(metric, value),
      tick: (value, all) => tickText(metric, value, all),
      ...(item.domain ? { domain: item.domain } : {}),
      ...(item.rare ? { rare: true } : {}),
      ...(firstDifference ? { parts: firstDifference.place } : {}),
    },
  )}<p class="about">${spec.about}</p></figure>`;
}

function settings(changes: readonly ConfigChange[], { before, after }: RunComparison): Html {
  if (changes.length === 0)
    return section('settings', 'Settings', 'The configurations are the same, path by path.', null);
  const rest = changes.length - MOST_CHANGES;
  return section(
    'settings',
    'What was set otherwise',
    `${plural(changes.length, 'path')} of the configuration ${changes.length === 1 ? 'differs' : 'differ'}.`,
    html`<div class="left">${plainTable(
      'Settings that differ',
      ['Path', before, after],
      changes
        .slice(0, MOST_CHANGES)
        .map(({ path, old, new: now }) => [
          html`<code>${path || '(everything)'}</code>`,
          html`<code>${shortValue(old)}</code>`,
          html`<code>${shortValue(now)}</code>`,
        ]),
    )}</div>${rest > 0 && html`<p class="quiet">${plural(rest, 'more path')}: compare --json has all.</p>`}`,
  );
}

function stepsSection({ before, after, steps, firstDifference }: RunComparison): Html {
  const names = (Object.keys(STEP_METRICS) as StepMetric[]).filter((metric) =>
    steps.some((pair) => pair.before?.metrics[metric] != null || pair.after?.metrics[metric] != null),
  );
  const row = (place: number, name: string, side: RunSide): readonly Part[] => [
    html`${place}<small>${name} ${side.step}</small>`,
    place === firstDifference?.place
      ? html`<strong class="loss">${side.stepState}, parts here</strong>`
      : side.stepState,
    side.weightDigest ? html`<code>${shortDigest(side.weightDigest)}</code>` : '–',
    ...names.map((metric) => metricText(metric, side.metrics[metric])),
  ];
  return section(
    'steps',
    'Step by step',
    'Two rows a step, one above the other.',
    fold(
      'Every number of every step',
      plainTable(
        'Every step of both runs',
        ['Step', 'State', 'Weights', ...names.map((metric) => STEP_METRICS[metric].label)],
        steps.flatMap((pair) => [
          ...(pair.before ? [row(pair.place, before, pair.before)] : []),
          ...(pair.after ? [row(pair.place, after, pair.after)] : []),
        ]),
      ),
    ),
  );
}

function numberOf(side: RunSide | null, metric: StepMetric): number | null {
  const value = side?.metrics[metric];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
