/** The figures that matter, in cards: 20/20 with every task as a square, pass@1, gains and losses, cost, faults. */
import type { EvaluationReport, ReportData } from '../../../core/report-data.js';
import { taskGrid } from '../charts/grid.js';
import { compact, count, dollars, interval, kOfK, percent, plural, points } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { policyTokens, tokensPer } from './cost.js';
import { overall, partialMark, taskOrder, totalClean, totalFaults } from './totals.js';

function arrow(before: string | null, after: string): Html {
  return before === null
    ? html`<b>${after}</b>`
    : html`<span class="from">${before}</span><span class="arrow" aria-label="to">→</span><b>${after}</b>`;
}

export function cards(data: ReportData): Html {
  const before = overall(data.before);
  const after = overall(data.after);
  const shown = after ?? before;
  const k = (data.after ?? data.before)?.k ?? 0;
  const mark = partialMark(data.before, data.after);
  const order = taskOrder(before ? data.before : null, after ? data.after : null);
  const hero =
    shown &&
    html`<div class="card hero"><h2>${k === 1 ? 'Solved in the one attempt' : `Solved on every one of ${k} attempts`}</h2><p class="figure">${arrow(before && after ? String(before.dependable) : null, String(shown.dependable))}<span class="unit">of ${plural(shown.tasks, 'task')}${mark && `, ${mark}`}</span></p><div class="grids">${before && data.before && html`<div><h3>${after ? 'before' : 'each task'} <span>${percent(before.observedK.value)}</span></h3>${taskGrid(`Before: ${before.dependable} of ${before.tasks} tasks at ${kOfK(k)}`, data.before.tasks, order, !after)}</div>`}${after && data.after && html`<div><h3>${before ? 'after' : 'each task'} <span>${percent(after.observedK.value)}</span></h3>${taskGrid(`After: ${after.dependable} of ${after.tasks} tasks at ${kOfK(k)}`, data.after.tasks, order, !before)}</div>`}</div><p class="key"><span><i class="g g0"></i>never passes</span><span><i class="g g2"></i>sometimes</span><span><i class="g g4"></i>nearly always</span><span><i class="g g5"></i>every attempt</span></p></div>`;
  const small: Part[] = [];
  if (shown) {
    small.push(
      card(
        'One attempt passes',
        arrow(before && after ? percent(before.passAt1.value) : null, percent(shown.passAt1.value)),
        data.paired
          ? `${points(data.paired.passAt1.value)}${pairedInterval(data)}, pass@1${mark && `; ${mark}`}`
          : `pass@1, 95 % interval ${interval(shown.passAt1)}${mark && `; ${mark}`}`,
      ),
    );
  }
  if (data.paired) {
    small.push(
      card(
        `Tasks at ${kOfK(k)} gained, lost`,
        html`<b class="gain">+${data.paired.gained.length}</b><span class="slash">/</span><b class="${data.paired.lost.length > 0 ? 'loss' : ''}">−${data.paired.lost.length}</b>`,
        `${plural(data.paired.improved, 'task')} pass more often, ${count(data.paired.worsened)} less often`,
      ),
    );
  }
  if (shown) small.push(costCard(data, before !== null && after !== null));
  const faults = totalFaults(data);
  // Of rows that ran elsewhere it is not known how many tries were lost.
  const elsewhere = (data.before?.imported ?? data.after?.imported) != null;
  if (totalClean(data) > 0 && !elsewhere) {
    small.push(
      card(
        'Tries lost to system errors',
        html`<b>${count(faults)}</b>`,
        `in ${plural(totalClean(data), 'clean episode')}; tried again, none scored as a wrong answer`,
      ),
    );
  }
  if (!hero && small.length === 0) return html``;
  return html`<section class="cards" aria-label="Headline figures">${hero}<div class="smalls">${small}</div></section>`;
}

/** Dollars where there is a price, else tokens. Nothing where no token was counted (scripted policies). */
function costCard(data: ReportData, both: boolean): Part {
  const last = (data.after?.scores ? data.after : data.before) as EvaluationReport;
  const first = both ? data.before : null;
  if (policyTokens(last) === 0) return null;
  const { prices } = data;
  const mark = partialMark(data.before, data.after);
  const priced = prices !== null && last.cost !== null;
  const figure = (evaluation: EvaluationReport): string => {
    const value = priced ? (evaluation.cost?.perDependable ?? null) : tokensPer(evaluation, 'dependable');
    return value === null ? 'none' : priced ? dollars(value) : compact(value);
  };
  return card(
    priced ? 'Cost per dependable task' : 'Tokens per dependable task',
    arrow(first && figure(first), figure(last)),
    priced
      ? `one evaluation costs ${dollars(last.cost?.total ?? 0)} at the prices of ${prices.model}${mark && `; ${mark}`}`
      : `one evaluation uses ${compact(policyTokens(last))} tokens; no price table was given`,
  );
}

function pairedInterval(data: ReportData): string {
  const difference = data.paired?.passAt1;
  if (!difference || difference.low === null || difference.high === null) return '';
  return ` (${points(difference.low)} to ${points(difference.high)})`;
}

function card(title: string, figure: Part, note: Part): Html {
  return html`<div class="card"><h2>${title}</h2><p class="figure">${figure}</p><p class="note">${note}</p></div>`;
}
