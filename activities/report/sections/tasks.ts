/** Every task, before and after: how the success counts moved, then one line a task. Shared with `compare`. */
import type { EvaluationReport, PairedReport, TaskScore } from '../../../core/report-data.js';
import { passesChart } from '../charts/passes.js';
import { dumbbell } from '../charts/track.js';
import { kOfK, plural } from '../format.js';
import { type Html, html, type Part } from '../html.js';
import { fold, section } from './section.js';
import { taskOrder } from './totals.js';

/** Beyond this the list is folded. */
const OPEN_LIST = 100;

function share(task: TaskScore | undefined): number | null {
  return task && task.attempts > 0 ? task.passed / task.attempts : null;
}

function line(
  id: string,
  before: TaskScore | undefined,
  after: TaskScore | undefined,
  paired: PairedReport | null,
): Html {
  const task = (after ?? before) as TaskScore;
  const [from, to] = [share(before), share(after)];
  const text = `${id}: ${before && after ? `${before.passed} then ${after.passed}` : task.passed} of ${task.attempts}`;
  const mark = paired?.gained.includes(id) ? 'gained' : paired?.lost.includes(id) ? 'lost' : '';
  return html`<li class="${mark}"><span class="name" title="${id}">${shortened(id)}${task.templateTrained === false && html`<abbr title="template never trained on">new</abbr>`}${mark !== '' && html`<em class="${mark}">${mark}</em>`}</span><span class="cell">${dumbbell(from, to, text)}</span><span class="nums">${before && after ? html`<span class="from">${before.passed}</span> → <b>${after.passed}</b>` : html`<b>${task.passed}</b>`}</span></li>`;
}

/** `file:name` with a file part that may shrink: names differ at their end. */
function shortened(id: string): Html {
  const colon = id.indexOf(':');
  return colon < 0
    ? html`<span class="leaf">${id}</span>`
    : html`<span class="file">${id.slice(0, colon + 1)}</span><span class="leaf">${id.slice(colon + 1)}</span>`;
}

function named(title: string, ids: readonly string[], kind: string): Part {
  if (ids.length === 0) return null;
  return html`<p class="named"><em class="${kind}">${title}</em> ${ids.map((id, index) => html`${index > 0 && ', '}<code>${id}</code>`)}</p>`;
}

export function tasksSection(
  before: EvaluationReport | null,
  after: EvaluationReport | null,
  paired: PairedReport | null,
  /** False where tasks that moved are told elsewhere on the page. */
  names = true,
): Html {
  const from = before?.scores ? before : null;
  const to = after?.scores ? after : null;
  const shown = to ?? from;
  if (!shown || shown.tasks.length === 0) return html``;
  const [old, now] = [from, to].map((each) => new Map(each?.tasks.map((task) => [task.taskId, task])));
  const order = taskOrder(from, to);
  const list = html`<p class="legend"><span class="swatch before">before</span><span class="swatch after">after</span><span>of ${shown.k} attempts, from 0 to ${shown.k}</span></p><ol class="tasks">${order.map((id) => line(id, old?.get(id), now?.get(id), paired))}</ol>`;
  return section(
    'tasks',
    'Task by task',
    from && to
      ? html`How many of ${shown.k} attempts each task passed. Training that works moves tasks to the right; only the last column, ${kOfK(shown.k)}, can be depended on.`
      : `How many of ${shown.k} attempts each task passed.`,
    html`<div class="panel">${passesChart('passes', shown.k, from && to ? from.tasks : null, shown.tasks)}${from && to && html`<p class="legend"><span class="swatch after">after, upwards</span><span class="swatch before">before, downwards</span></p>`}</div>${names && paired && named('gained', paired.gained, 'gained')}${names && paired && named('lost', paired.lost, 'lost')}${fold(`All ${plural(order.length, 'task')}, best first`, list, order.length <= OPEN_LIST)}`,
  );
}
