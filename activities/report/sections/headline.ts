/** The top of the page: what ran, what came of it in one sentence, and the figures that matter in cards. */
import type { EvaluationReport, ReportData, ScoreLine } from '../../../core/report-data.js';
import { taskGrid } from '../charts/grid.js';
import {
  compact,
  count,
  dollars,
  duration,
  interval,
  kOfK,
  moment,
  percent,
  plural,
  points,
  secondsBetween,
  shortDigest,
} from '../format.js';
import { clip, type Html, html, type Part } from '../html.js';
import { policyTokens, tokensPer } from './cost.js';

/** A cause may carry a trace; its beginning says what happened. */
const CAUSE_LIMIT = 1_000;

const STATES: Readonly<Record<string, string>> = {
  running: 'running',
  paused: 'paused',
  done: 'finished',
  failed: 'failed',
  stopped: 'stopped',
};

/** The `all` line, or null where coverage is incomplete. */
export function overall(evaluation: EvaluationReport | null): ScoreLine | null {
  return evaluation?.scores?.find((line) => line.kind === 'all') ?? null;
}

/** The result in one sentence; the same text opens the Markdown. */
export function lede(data: ReportData): string {
  const before = overall(data.before);
  const after = overall(data.after);
  const steps =
    data.training?.steps.filter((step) => step.state === 'done' || step.state === 'skipped').length ?? 0;
  if (before && after && data.after) {
    const trained = steps > 0 ? `After ${plural(steps, 'training step')}, ` : '';
    return `${trained}${after.dependable} of ${plural(after.tasks, 'benchmark task')} pass on every one of ${data.after.k} attempts, ${
      after.dependable === before.dependable
        ? 'as many as before'
        : `${after.dependable > before.dependable ? 'up' : 'down'} from ${before.dependable}`
    }. A single attempt passes ${percent(after.passAt1.value)} of the time, ${
      after.passAt1.value >= before.passAt1.value ? 'up' : 'down'
    } from ${percent(before.passAt1.value)}.`;
  }
  const one = after ?? before;
  const source = after ? data.after : data.before;
  if (one && source) {
    const when = data.training !== null && source === data.before ? 'Before training, ' : '';
    return `${when}${one.dependable} of ${plural(one.tasks, 'task')} pass on every one of ${source.k} attempts; a single attempt passes ${percent(one.passAt1.value)} of the time.`;
  }
  if (data.before ?? data.after) return 'The evaluation is not complete yet, so no score is shown.';
  if (steps > 0) return `${plural(steps, 'training step')} finished; no evaluation has been run.`;
  if (data.probe)
    return `${plural(data.probe.candidates, 'candidate')} probed; nothing has been trained yet.`;
  return 'Nothing has finished yet.';
}

export function header(data: ReportData): Html {
  const { run } = data;
  const seconds = secondsBetween(run.createdAt, run.endedAt ?? run.generatedAt);
  const seeds = Object.values(run.seeds).join(', ');
  const facts: readonly (readonly [string, Part])[] = [
    ['Suite', run.suite],
    ['Model', run.model],
    ['Seed', seeds || '–'],
    ['Started', moment(run.createdAt)],
    [run.endedAt ? 'Took' : 'Running for', seconds === null ? '–' : duration(seconds)],
    ['Episodes', count(totalClean(data))],
    ...(run.finalDigest && run.baseDigest
      ? [
          [
            'Weights',
            html`<code>${shortDigest(run.baseDigest)} → ${shortDigest(run.finalDigest)}</code>`,
          ] as const,
        ]
      : []),
  ];
  return html`<header class="top"><p class="brand"><svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="M3 17l5-5 4 3 8-9" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/><circle cx="20" cy="6" r="2.6" fill="currentColor"/></svg>Steadfast <span>report</span></p><div class="title"><h1>${run.id}</h1><span class="${`pill ${run.state}`}">${STATES[run.state] ?? run.state}</span></div><p class="lede">${lede(data)}</p><dl class="facts">${facts.map(([name, value]) => html`<div${name === 'Weights' && html` class="both"`}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></header>`;
}

function totalClean(data: ReportData): number {
  return [data.probe, data.training, data.before, data.after].reduce(
    (sum, part) => sum + (part?.coverage.clean ?? 0),
    0,
  );
}

export function totalFaults(data: ReportData): number {
  return [data.probe, data.training, data.before, data.after].reduce(
    (sum, part) => sum + Object.values(part?.coverage.faults ?? {}).reduce((all, each) => all + each, 0),
    0,
  );
}

/** Gaps and failures, said before any number: nothing below is read without them. */
export function banners(data: ReportData): readonly Html[] {
  const { run } = data;
  const found: Html[] = [];
  if (run.state === 'failed') {
    found.push(
      banner(
        'bad',
        'This campaign failed.',
        run.cause === null ? 'No cause was recorded.' : clip(run.cause, CAUSE_LIMIT).text,
      ),
    );
  } else if (run.state === 'stopped') {
    found.push(
      banner(
        'warn',
        'This campaign was stopped.',
        'What had finished is shown. Start it again under the same name and it goes on.',
      ),
    );
  } else if (run.state !== 'done') {
    found.push(
      banner(
        'info',
        'This campaign has not finished.',
        `The page shows the state of ${moment(run.generatedAt)}.`,
      ),
    );
  }
  for (const evaluation of [data.before, data.after]) {
    if (!evaluation || evaluation.coverage.complete) continue;
    const { planned, clean, exhausted, pending, missing } = evaluation.coverage;
    const parts = [
      pending > 0 && `${count(pending)} still to run`,
      exhausted > 0 && `${count(exhausted)} exhausted by system errors`,
    ];
    found.push(
      banner(
        'warn',
        `Incomplete coverage of ${evaluation.id}: ${count(clean)} of ${count(planned)} attempts are clean, so no score is shown.`,
        html`${parts.filter(Boolean).join(', ')}.${missing.length > 0 && html`<ul>${missing.slice(0, 3).map((key) => html`<li><code>${key}</code></li>`)}${planned - clean > 3 && missing.length > 3 && html`<li>and ${count(planned - clean - 3)} more</li>`}</ul>`}`,
      ),
    );
  }
  for (const evaluation of [data.before, data.after]) {
    if (!evaluation?.coverage.exhaustedAsFailed || evaluation.coverage.exhausted === 0) continue;
    found.push(
      banner(
        'warn',
        `${plural(evaluation.coverage.exhausted, 'exhausted attempt')} of ${evaluation.id} scored 0 on request (--exhausted-as-failed).`,
        'They met system errors on every try; the scores below are lower bounds.',
      ),
    );
  }
  for (const broken of data.integrity.invariants.filter((each) => !each.holds)) {
    found.push(banner('bad', `The ledger is inconsistent: ${broken.name}.`, broken.detail));
  }
  for (const warning of data.warnings) found.push(banner('warn', 'Something could not be read.', warning));
  return found;
}

function banner(kind: 'info' | 'warn' | 'bad', title: string, detail: Part): Html {
  return html`<div class="${`banner ${kind}`}" role="note"><strong>${title}</strong> ${detail}</div>`;
}

function arrow(before: string | null, after: string): Html {
  return before === null
    ? html`<b>${after}</b>`
    : html`<span class="from">${before}</span><span class="arrow" aria-label="to">→</span><b>${after}</b>`;
}

/** Tasks from best to worst after, so that squares of both grids are the same task. */
export function taskOrder(
  before: EvaluationReport | null,
  after: EvaluationReport | null,
): readonly string[] {
  const lookup = (evaluation: EvaluationReport | null): Map<string, number> =>
    new Map(
      evaluation?.tasks.map((task) => [task.taskId, task.attempts > 0 ? task.passed / task.attempts : 0]),
    );
  const [from, to] = [lookup(before), lookup(after)];
  const first = to.size > 0 ? to : from;
  const second = to.size > 0 ? from : to;
  return [...new Set([...to.keys(), ...from.keys()])].sort(
    (a, b) =>
      (first.get(b) ?? -1) - (first.get(a) ?? -1) ||
      (second.get(b) ?? -1) - (second.get(a) ?? -1) ||
      (a < b ? -1 : 1),
  );
}

export function cards(data: ReportData): Html {
  const before = overall(data.before);
  const after = overall(data.after);
  const shown = after ?? before;
  const k = (data.after ?? data.before)?.k ?? 0;
  const order = taskOrder(before ? data.before : null, after ? data.after : null);
  const hero =
    shown &&
    html`<div class="card hero"><h2>Solved on every one of ${k} attempts</h2><p class="figure">${arrow(before && after ? String(before.dependable) : null, String(shown.dependable))}<span class="unit">of ${plural(shown.tasks, 'task')}</span></p><div class="grids">${before && data.before && html`<div><h3>${after ? 'before' : 'each task'} <span>${percent(before.observedK.value)}</span></h3>${taskGrid(`Before: ${before.dependable} of ${before.tasks} tasks at ${kOfK(k)}`, data.before.tasks, order, !after)}</div>`}${after && data.after && html`<div><h3>${before ? 'after' : 'each task'} <span>${percent(after.observedK.value)}</span></h3>${taskGrid(`After: ${after.dependable} of ${after.tasks} tasks at ${kOfK(k)}`, data.after.tasks, order, !before)}</div>`}</div><p class="key"><span><i class="g g0"></i>never passes</span><span><i class="g g2"></i>sometimes</span><span><i class="g g4"></i>nearly always</span><span><i class="g g5"></i>every attempt</span></p></div>`;
  const small: Part[] = [];
  if (shown) {
    small.push(
      card(
        'One attempt passes',
        arrow(before && after ? percent(before.passAt1.value) : null, percent(shown.passAt1.value)),
        data.paired
          ? `${points(data.paired.passAt1.value)}${pairedInterval(data)}, pass@1`
          : `pass@1, 95 % interval ${interval(shown.passAt1)}`,
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
  if (totalClean(data) > 0) {
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
  const priced = prices !== null && last.cost !== null;
  const figure = (evaluation: EvaluationReport): string => {
    const value = priced ? (evaluation.cost?.perDependable ?? null) : tokensPer(evaluation, 'dependable');
    return value === null ? 'none' : priced ? dollars(value) : compact(value);
  };
  return card(
    priced ? 'Cost per dependable task' : 'Tokens per dependable task',
    arrow(first && figure(first), figure(last)),
    priced
      ? `one evaluation costs ${dollars(last.cost?.total ?? 0)} at the prices of ${prices.model}`
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
