/** What k attempts would do: at least one of them passes, or every one of them does. Unbiased, from all attempts. */
import { type PassCurvePoint, passCurve } from '../../../core/metrics/scores.js';
import type { EvaluationReport } from '../../../core/report-data.js';
import { curveChart } from '../charts/curve.js';
import type { ComparisonData } from '../comparison-data.js';
import { type Html, html } from '../html.js';
import { section } from './section.js';

export function curvesSection({ before, after }: ComparisonData): Html {
  if (!before.scores || !after.scores) return html``;
  const [from, to] = [curveOf(before), curveOf(after)];
  if (from.length < 2 || to.length < 2) return html``;
  const panel = (id: string, title: string, about: string, of: (point: PassCurvePoint) => number): Html =>
    html`<figure class="panel metric"><figcaption><h3>${title}</h3><p class="about">${about}</p></figcaption>${curveChart(
      id,
      title,
      [
        { kind: 'before', values: from.map(of) },
        { kind: 'after', values: to.map(of) },
      ],
    )}</figure>`;
  return section(
    'curves',
    'With more attempts',
    'A wide gap between the two is luck: a task that is solved once in a while, and cannot be depended on.',
    html`<div class="two">${panel('curve-once', 'pass@k', 'At least one of k attempts passes, by k.', ({ passAtK }) => passAtK)}${panel('curve-all', 'pass^k', 'Every one of k attempts passes, by k.', ({ passPowerK }) => passPowerK)}</div><p class="legend"><span class="swatch before">before</span><span class="swatch after">after</span></p>`,
  );
}

function curveOf({ tasks }: EvaluationReport): readonly PassCurvePoint[] {
  return passCurve(tasks);
}
