/** What success costs under the price table: per successful attempt, and per task that can be depended on. */
import type { EvaluationReport, ReportData } from '../../../core/report-data.js';
import { count, dollars, kOfK, number, percent } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { plainTable, section } from './section.js';

const NONE = 'none to divide by';

function money(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : dollars(value);
}

/** `−36 %`, or `3.1× less` once it is half or double. */
function change(before: number | null | undefined, after: number | null | undefined): string {
  if (!before || after === null || after === undefined) return '–';
  const ratio = after / before;
  if (ratio <= 0.5 && after > 0) return `${number(1 / ratio)}× less`;
  if (ratio >= 2) return `${number(ratio)}× more`;
  return `${ratio > 1 ? '+' : ''}${percent(ratio - 1)}`;
}

/** `+219`, `−3`, `0`. */
function moved(before: number, after: number): string {
  return `${after > before ? '+' : ''}${count(after - before)}`;
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
          change(first?.usage.policyPromptTokens, last.usage.policyPromptTokens),
        ),
        row(
          'Sampled tokens',
          (each) => count(each.usage.policySampledTokens),
          change(first?.usage.policySampledTokens, last.usage.policySampledTokens),
        ),
        row(
          'Cost of the evaluation',
          (each) => money(each.cost?.total),
          change(first?.cost?.total, last.cost?.total),
        ),
        row(
          'Successful attempts',
          (each) => count(passed(each)),
          first ? moved(passed(first), passed(last)) : '',
        ),
        row(
          'Cost per successful attempt',
          (each) => money(each.cost?.perSuccess),
          change(first?.cost?.perSuccess, last.cost?.perSuccess),
        ),
        row(
          `Tasks at ${kOfK(last.k)}`,
          (each) => count(dependable(each)),
          first ? moved(dependable(first), dependable(last)) : '',
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
