/** What success costs under the price table: per successful attempt, and per task that can be depended on. */
import type { EvaluationReport, ReportData } from '../../../core/report-data.js';
import { count, dollars, kOfK, number } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { plainTable, section } from './section.js';

const NONE = 'none to divide by';

function money(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : dollars(value);
}

function change(before: number | null | undefined, after: number | null | undefined): string {
  if (!before || after === null || after === undefined) return '–';
  const ratio = after / before;
  return ratio < 1 ? `${number(1 / ratio)}× cheaper` : ratio > 1 ? `${number(ratio)}× dearer` : 'the same';
}

export function costSection(data: ReportData): Html {
  const evaluations = [data.before, data.after].filter(
    (each): each is EvaluationReport => each?.scores != null && each.cost !== null,
  );
  const last = evaluations.at(-1);
  if (!last || !data.prices) return html``;
  const two = evaluations.length === 2;
  const first = evaluations[0];
  const row = (name: string, pick: (each: EvaluationReport) => string, compare: string): Part[] => [
    name,
    ...evaluations.map(pick),
    ...(two ? [compare] : []),
  ];
  const { prices } = data;
  const passed = (each: EvaluationReport): number => each.scores?.[0]?.passed ?? 0;
  const dependable = (each: EvaluationReport): number => each.scores?.[0]?.dependable ?? 0;
  return section(
    'cost',
    'What success costs',
    `At the prices of ${prices.model}: ${dollars(prices.promptPerMillion)} per million prompt tokens and ${dollars(prices.sampledPerMillion)} per million sampled tokens. The prices are a table in the configuration; the tokens are measured.`,
    plainTable(
      'Cost of the evaluations',
      ['', ...evaluations.map((each) => each.label), ...(two ? ['change'] : [])],
      [
        row(
          'Prompt tokens',
          (each) => count(each.usage.policyPromptTokens),
          change(first?.usage.policyPromptTokens, last.usage.policyPromptTokens)
            .replace('cheaper', 'fewer')
            .replace('dearer', 'more'),
        ),
        row(
          'Sampled tokens',
          (each) => count(each.usage.policySampledTokens),
          change(first?.usage.policySampledTokens, last.usage.policySampledTokens)
            .replace('cheaper', 'fewer')
            .replace('dearer', 'more'),
        ),
        row(
          'Cost of the evaluation',
          (each) => money(each.cost?.total),
          change(first?.cost?.total, last.cost?.total),
        ),
        row(
          'Successful attempts',
          (each) => count(passed(each)),
          first ? `+${count(passed(last) - passed(first))}`.replace('+−', '−') : '',
        ),
        row(
          'Cost per successful attempt',
          (each) => money(each.cost?.perSuccess),
          change(first?.cost?.perSuccess, last.cost?.perSuccess),
        ),
        row(
          `Tasks at ${kOfK(last.k)}`,
          (each) => count(dependable(each)),
          first ? `+${count(dependable(last) - dependable(first))}`.replace('+−', '−') : '',
        ),
        row(
          'Cost per dependable task',
          (each) => money(each.cost?.perDependable),
          change(first?.cost?.perDependable, last.cost?.perDependable),
        ),
      ],
    ),
  );
}
