/** The foot of the page: words explained, how to make it again, and the exact configuration. */
import type { ReportData } from '../../../core/report-data.js';
import { moment } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { fold, section } from './section.js';

/** Words that a colleague who has not seen Steadfast needs to read this page. Also printed in the Markdown. */
export const GLOSSARY: readonly (readonly [string, string])[] = [
  ['task', 'one scenario: a start state, a request, tools, and an executable check of the final state'],
  ['episode', 'one full conversation of policy, simulated user and tools on a fresh backend, then a verdict'],
  ['attempt', 'one planned episode of a task; it ends clean (passed or failed) or exhausted'],
  ['try', 'one execution of an attempt; a try lost to a system error is run again and never scored'],
  [
    'system error',
    'something that went wrong and was not the agent’s doing: sandbox, endpoint, judge, a wall clock',
  ],
  ['exhausted', 'every allowed try of the attempt met a system error; coverage stays incomplete'],
  ['pass@1', 'chance that a single attempt passes, averaged over tasks'],
  ['pass@k', 'chance that at least one of k attempts passes'],
  [
    'k/k',
    'tasks whose every one of k attempts passed: 20/20 when each was tried 20 times. Such a task is dependable',
  ],
  ['interval', '95 %: tasks, not attempts, are the independent units'],
  ['band', 'how hard a task is for the base: where most of the posterior of its success rate lies'],
  [
    'group',
    'several episodes of one task in one training step; the advantage is reward minus the group’s mean',
  ],
  ['zero-variance group', 'all rewards equal: nothing to learn, so it is replaced (a refill)'],
  ['clip fraction', 'share of sampled tokens where the policy had moved beyond the clip range'],
  [
    'sampler–trainer difference',
    'how far apart two programs put the same token’s log-probability; large means unsound training',
  ],
  ['weight version', 'digest of the exact weights that a token was sampled from'],
];

/** Printed with the page in every form, since a report leaves its context. */
export function colophon(data: ReportData): string {
  return `Steadfast ${data.run.programVersion}, written ${moment(data.run.generatedAt)}`;
}

function facts(data: ReportData): readonly (readonly [string, string])[] {
  const { run } = data;
  return [
    ['campaign', run.id],
    ['suite', `${run.suite} ${run.suiteDigest}`],
    ['configuration', run.fingerprint],
    ...(run.baseDigest ? [['base weights', run.baseDigest] as const] : []),
    ...(run.finalDigest ? [['final weights', run.finalDigest] as const] : []),
    ...Object.entries(run.seeds).map(([name, seed]) => [`seed (${name})`, String(seed)] as const),
  ];
}

function list(rows: readonly (readonly [string, string])[]): Part {
  return html`<dl class="mini">${rows.map(([name, text]) => html`<div><dt>${name}</dt><dd><code>${text}</code></dd></div>`)}</dl>`;
}

export function endingSection(data: ReportData): Html {
  const config = Object.entries(data.run.config);
  return html`${section(
    'again',
    'Make it again',
    'The same seed, suite and weights give the same episodes; a campaign that was interrupted goes on where it stopped.',
    html`${data.reproduce.length > 0 && html`<pre class="commands"><code>${data.reproduce.join('\n')}</code></pre>`}${list(facts(data))}${config.length > 0 && fold('The whole configuration', list(config))}`,
  )}${section(
    'words',
    'Words',
    null,
    html`<dl class="glossary">${GLOSSARY.map(([word, meaning]) => html`<div><dt>${word}</dt><dd>${meaning}</dd></div>`)}</dl>`,
  )}<footer><p>${colophon(data)}. This page is one file: no scripts, no network.</p></footer>`;
}
