/** A comparison in one table: what is solved, how often, and what it costs; every evaluation a column. */
import type { Estimate, EvaluationReport } from '../../../core/report-data.js';
import { type ComparisonData, evaluationsOf } from '../comparison-data.js';
import { count, dollars, kOfK, number, percent, points } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { policyTokens, tokensPer } from './cost.js';
import { section } from './section.js';
import { isPartial, overall, partialMark } from './totals.js';

type Cell = { readonly value: number; readonly text: Part } | null;

interface Row {
  readonly name: string;
  readonly kind: 'lead' | 'rule' | '';
  readonly cell: (evaluation: EvaluationReport) => Cell;
  /** Of the first two, where there are only two. */
  readonly change: (before: number, after: number) => Part;
}

function countWithShare(value: number, of: number): Part {
  return html`<b>${count(value)}</b><small>${percent(of === 0 ? 0 : value / of, 2)}</small>`;
}

function moved(before: number, after: number): string {
  return `${after > before ? '+' : ''}${count(after - before)}`;
}

function ratio(before: number, after: number): string {
  if (before === 0 || after === 0) return '–';
  const by = after / before;
  if (by <= 0.5) return `${number(1 / by)}× less`;
  if (by >= 2) return `${number(by)}× more`;
  return `${by > 1 ? '+' : ''}${percent(by - 1)}`;
}

function withInterval(change: string, difference: Estimate | undefined): Part {
  if (!difference) return change;
  const { value, low, high } = difference;
  const range = low === null || high === null ? '' : `, 95 %: ${points(low)} to ${points(high)}`;
  return html`${change}<small>${points(value)}${range}</small>`;
}

function rows({ after, paired }: ComparisonData, priced: boolean): readonly Row[] {
  const passed = (of: EvaluationReport): Cell => {
    const all = overall(of);
    return all && { value: all.passed, text: countWithShare(all.passed, all.attempts) };
  };
  const dependable = (of: EvaluationReport): Cell => {
    const all = overall(of);
    return all && { value: all.dependable, text: countWithShare(all.dependable, all.tasks) };
  };
  const once = (of: EvaluationReport): Cell => {
    const all = overall(of);
    const value = of.tasks.filter((task) => task.passed > 0).length;
    return all && { value, text: countWithShare(value, all.tasks) };
  };
  const amount = (value: number | null | undefined): Cell =>
    value == null ? null : { value, text: html`<b>${(priced ? dollars : count)(value)}</b>` };
  const what = priced ? 'Cost' : 'Tokens';
  return [
    {
      name: `Tasks solved on every attempt (${kOfK(after.k)})`,
      kind: 'lead',
      cell: dependable,
      change: (from, to) => withInterval(moved(from, to), paired?.observedK),
    },
    {
      name: 'Attempts that passed (pass@1)',
      kind: '',
      cell: passed,
      change: (from, to) => withInterval(moved(from, to), paired?.passAt1),
    },
    { name: 'Tasks solved at least once', kind: '', cell: once, change: moved },
    {
      name: `${what} of the evaluation`,
      kind: 'rule',
      cell: (of) => amount(priced ? of.cost?.total : policyTokens(of)),
      change: ratio,
    },
    {
      name: `${what} per task solved on every attempt`,
      kind: 'lead',
      cell: (of) => amount(priced ? of.cost?.perDependable : tokensPer(of, 'dependable')),
      change: ratio,
    },
    {
      name: `${what} per attempt that passed`,
      kind: '',
      cell: (of) => amount(priced ? of.cost?.perSuccess : tokensPer(of, 'passed')),
      change: ratio,
    },
  ];
}

function intro(data: ComparisonData, priced: boolean): Part {
  const shown = evaluationsOf(data).filter((each) => each.scores);
  const size = overall(data.after) ?? overall(data.before);
  const counted = size ? `${count(size.tasks)} tasks × ${data.after.k} attempts. ` : '';
  if (!priced)
    return `${counted}No price is known for every evaluation, so cost is counted in tokens of the policy.`;
  const texts = shown.flatMap(({ id, price }) =>
    price
      ? [
          [
            id,
            `${dollars(price.promptPerMillion)} per million prompt tokens and ${dollars(price.sampledPerMillion)} per million sampled`,
          ] as const,
        ]
      : [],
  );
  const [[, first] = []] = texts;
  const prices = texts.every(([, text]) => text === first)
    ? `At ${first}`
    : texts.map(([id, text]) => `${id} at ${text}`).join('; ');
  return `${counted}${prices}. Prices are configuration; tokens are measured.`;
}

export function headlineSection(data: ComparisonData): Html {
  const shown = evaluationsOf(data).filter((each) => each.scores);
  if (shown.length === 0) return html``;
  const priced = shown.every((each) => each.cost !== null);
  const costly = priced || shown.every((each) => policyTokens(each) > 0);
  const [first, second] = shown;
  const two = shown.length === 2 && first && second;
  // Counts and costs of different attempts have no difference that says something.
  const comparable = data.paired !== null || !shown.some(isPartial);
  const body = rows(data, priced)
    .slice(0, costly ? undefined : 3)
    .map((row) => {
      const cells = shown.map(row.cell);
      const [from, to] = cells;
      const none = html`<span class="none">none</span>`;
      return html`<tr class="${row.kind}"><th scope="row">${row.name}</th>${cells.map((cell) => html`<td>${cell?.text ?? none}</td>`)}${two && html`<td class="change">${from && to && comparable ? row.change(from.value, to.value) : '–'}</td>`}</tr>`;
    });
  return section(
    'figures',
    'In figures',
    intro(data, priced),
    html`<div class="scroll" tabindex="0" role="region" aria-label="The evaluations in figures"><table class="figures"><thead><tr><th scope="col"><span class="unseen">figure</span></th>${shown.map((each) => html`<th scope="col">${each.id}${isPartial(each) && html`<br><small class="loss">${partialMark(each)}</small>`}</th>`)}${two && html`<th scope="col">change</th>`}</tr></thead><tbody>${body}</tbody></table></div>`,
  );
}
