/**
 * What success costs: per successful attempt, and per task that can be depended on. In dollars under the price table;
 * in tokens where there is none, since an unknown price is not a price of 0.
 */
import type { EvaluationReport, PriceReport, ReportData } from '../../../core/report-data.js';
import { count, dollars, kOfK, number, percent } from '../format.js';
import { type Html, html } from '../html.js';
import { plainTable, section } from './section.js';

type Value = (evaluation: EvaluationReport) => number | null;

interface Row {
  readonly name: string;
  readonly value: Value;
  readonly text: (value: number) => string;
  /** `ratio`: by how much it fell or rose; `difference`: how many more. */
  readonly change: 'ratio' | 'difference';
}

export function policyTokens({ usage }: EvaluationReport): number {
  return usage.policyPromptTokens + usage.policySampledTokens;
}

const passed: Value = (evaluation) => evaluation.scores?.[0]?.passed ?? 0;
const dependable: Value = (evaluation) => evaluation.scores?.[0]?.dependable ?? 0;

/** Tokens for each of what `of` counts; null when there is none. */
export function tokensPer(evaluation: EvaluationReport, of: 'passed' | 'dependable'): number | null {
  const divisor = (of === 'passed' ? passed : dependable)(evaluation) ?? 0;
  return divisor > 0 ? policyTokens(evaluation) / divisor : null;
}

function rows(k: number, priced: boolean): readonly Row[] {
  const tokens: readonly Row[] = [
    { name: 'Prompt tokens', value: (each) => each.usage.policyPromptTokens, text: count, change: 'ratio' },
    { name: 'Sampled tokens', value: (each) => each.usage.policySampledTokens, text: count, change: 'ratio' },
  ];
  const successes: Row = { name: 'Successful attempts', value: passed, text: count, change: 'difference' };
  const tasks: Row = { name: `Tasks at ${kOfK(k)}`, value: dependable, text: count, change: 'difference' };
  const ratio = (name: string, value: Value): Row => ({
    name,
    value,
    text: priced ? dollars : count,
    change: 'ratio',
  });
  return priced
    ? [
        ...tokens,
        ratio('Cost of the evaluation', (each) => each.cost?.total ?? null),
        successes,
        ratio('Cost per successful attempt', (each) => each.cost?.perSuccess ?? null),
        tasks,
        ratio('Cost per dependable task', (each) => each.cost?.perDependable ?? null),
      ]
    : [
        ...tokens,
        successes,
        ratio('Tokens per successful attempt', (each) => tokensPer(each, 'passed')),
        tasks,
        ratio('Tokens per dependable task', (each) => tokensPer(each, 'dependable')),
      ];
}

/** `−36 %`, or `3.1× less` once it is half or double. */
function changed(before: number | null, after: number | null): string {
  if (!before || after === null) return '–';
  const ratio = after / before;
  if (ratio <= 0.5 && after > 0) return `${number(1 / ratio)}× less`;
  if (ratio >= 2) return `${number(ratio)}× more`;
  return `${ratio > 1 ? '+' : ''}${percent(ratio - 1)}`;
}

/** `+219`, `−3`, `0`. */
function moved(before: number, after: number): string {
  return `${after > before ? '+' : ''}${count(after - before)}`;
}

function intro(prices: PriceReport | null): string {
  if (!prices) return 'No price table was given, so cost is counted in tokens of the policy.';
  return `At the prices of ${prices.model}: ${dollars(prices.promptPerMillion)} per million prompt tokens and ${dollars(prices.sampledPerMillion)} per million sampled tokens. Prices are configuration; the tokens are measured.`;
}

export function costSection(data: ReportData): Html {
  const evaluations = [data.before, data.after].filter(
    (each): each is EvaluationReport => each?.scores != null && policyTokens(each) > 0,
  );
  const last = evaluations.at(-1);
  if (!last) return html``;
  const prices = evaluations.every((each) => each.cost !== null) ? data.prices : null;
  const [first] = evaluations;
  const two = evaluations.length === 2 && first;
  const lines = rows(last.k, prices !== null).map(({ name, value, text, change }) => [
    name,
    ...evaluations.map((each) => {
      const found = value(each);
      return found === null ? html`<span class="none">none</span>` : text(found);
    }),
    ...(two
      ? [change === 'ratio' ? changed(value(first), value(last)) : moved(value(first) ?? 0, value(last) ?? 0)]
      : []),
  ]);
  return section(
    'cost',
    'What success costs',
    intro(prices),
    plainTable(
      'Cost of the evaluations',
      ['', ...evaluations.map((each) => each.label), ...(two ? ['change'] : [])],
      lines,
    ),
  );
}
