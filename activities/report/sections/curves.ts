/** What k attempts would do: at least one of them passes, or every one of them does. Unbiased, from all attempts. */
import { type PassCurvePoint, passCurve } from '../../../core/metrics/scores.js';
import type { EvaluationReport } from '../../../core/report-data.js';
import { curveChart } from '../charts/curve.js';
import { type Html, html } from '../html.js';
import { section } from './section.js';

/** Empty where no evaluation with scores has two attempts of each task. */
export function curvesSection(before: EvaluationReport | null, after: EvaluationReport | null): Html {
  const curves = [
    { kind: 'before', points: curveOf(before) },
    { kind: 'after', points: curveOf(after) },
  ].filter((curve): curve is Shown => curve.points.length > 1);
  if (curves.length === 0) return html``;
  const panel = (id: string, title: string, about: string, of: (point: PassCurvePoint) => number): Html =>
    html`<figure class="panel metric"><figcaption><h3>${title}</h3><p class="about">${about}</p></figcaption>${curveChart(
      id,
      title,
      curves.map(({ kind, points }) => ({ kind, values: points.map(of) })),
    )}</figure>`;
  return section(
    'curves',
    'With more attempts',
    'A wide gap between the two is luck: a task that is solved once in a while, and cannot be depended on.',
    html`<div class="two">${panel('curve-once', 'pass@k', 'At least one of k attempts passes, by k.', ({ passAtK }) => passAtK)}${panel('curve-all', 'pass^k', 'Every one of k attempts passes, by k.', ({ passPowerK }) => passPowerK)}</div>${curves.length > 1 && html`<p class="legend"><span class="swatch before">before</span><span class="swatch after">after</span></p>`}`,
  );
}

interface Shown {
  readonly kind: 'before' | 'after';
  readonly points: readonly PassCurvePoint[];
}

function curveOf(evaluation: EvaluationReport | null): readonly PassCurvePoint[] {
  return evaluation?.scores ? passCurve(evaluation.tasks) : [];
}
