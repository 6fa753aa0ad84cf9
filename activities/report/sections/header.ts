/** The top of the page: what ran, with what, for how long, and what came of it. */
import type { ReportData } from '../../../core/report-data.js';
import { count, duration, moment, secondsBetween, shortDigest } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { lede } from './lede.js';
import { totalClean } from './totals.js';

const STATES: Readonly<Record<string, string>> = {
  running: 'running',
  paused: 'paused',
  done: 'finished',
  failed: 'failed',
  stopped: 'stopped',
};

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
