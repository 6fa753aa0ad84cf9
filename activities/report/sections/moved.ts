/** Tasks that became dependable and tasks that are it no more: every run as a square, and the way to its conversations. */
import type { ComparisonData, MovedTask } from '../comparison-data.js';
import { kOfK, plural } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { fold, section } from './section.js';

type Runs = MovedTask['before'];

/** Beyond this the rest is folded. */
const OPEN_LIST = 24;

const WORDS = { p: 'passed', f: 'failed', n: 'no score' } as const;

function strip(runs: Runs, side: 'before' | 'after', taskId: string): Html {
  const passed = runs.filter((run) => run.passed).length;
  return html`<span>${side}</span><span class="${`strip ${side}`}" role="img" aria-label="${taskId}, ${side}: ${passed} of ${runs.length} passed">${runs.map(
    ({ repetition, passed }) => {
      const kind = passed === null ? 'n' : passed ? 'p' : 'f';
      return html`<i class="${kind}" title="repetition ${repetition}: ${WORDS[kind]}"></i>`;
    },
  )}</span>`;
}

function line({ taskId, domain, before, after, page }: MovedTask): Html {
  const count = (runs: Runs): number => runs.filter(({ passed }) => passed).length;
  const name = page === null ? taskId : html`<a href="${page}">${taskId}</a>`;
  return html`<li><div class="head"><span class="tid">${name}</span><span class="nums">${domain} · <span class="from">${count(before)}</span> → <b>${count(after)}</b></span></div><div class="runs">${strip(before, 'before', taskId)}${strip(after, 'after', taskId)}</div></li>`;
}

function part(title: string, tasks: readonly MovedTask[]): Part {
  if (tasks.length === 0) return html`<h3>${title}: none</h3>`;
  const list = (part: readonly MovedTask[]): Html => html`<ol class="moves">${part.map(line)}</ol>`;
  const rest = tasks.slice(OPEN_LIST);
  return html`<h3>${title}: ${plural(tasks.length, 'task')}</h3>${list(tasks.slice(0, OPEN_LIST))}${rest.length > 0 && fold(`${plural(rest.length, 'more task')}, by how far they moved`, list(rest))}`;
}

export function movedSection({ moved, paired, after }: ComparisonData): Html {
  if (!paired) return html``;
  const linked = moved.some(({ page }) => page !== null);
  const of = (kind: MovedTask['kind']): readonly MovedTask[] => moved.filter((task) => task.kind === kind);
  return section(
    'moved',
    'What became dependable, and what was lost',
    html`Tasks that pass ${kOfK(after.k)} on one side only; each square is one attempt.${linked && ' A name leads to two of its conversations, one that failed and one that passed.'}`,
    html`${part('Became dependable', of('gained'))}${part('No longer dependable', of('lost'))}`,
  );
}
