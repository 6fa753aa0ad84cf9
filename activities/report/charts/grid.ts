/** One small square a task, shaded by the share of attempts that passed; full colour only where every attempt did. */
import type { TaskScore } from '../../../core/report-data.js';
import { type Html, html } from '../html.js';

/** Columns to rows of a grid. */
const WIDE = 2;

/** 0 (none passed) to 4 (nearly all), 5 (all). */
export function shade(task: Pick<TaskScore, 'passed' | 'attempts'>): number {
  if (task.attempts === 0 || task.passed === 0) return 0;
  if (task.passed === task.attempts) return 5;
  return 1 + Math.min(3, Math.floor((4 * task.passed) / task.attempts));
}

/** `alone`: it has the whole card to itself, so it is twice as wide for its height. */
export function taskGrid(
  label: string,
  tasks: readonly TaskScore[],
  order: readonly string[],
  alone: boolean,
): Html {
  const byId = new Map(tasks.map((task) => [task.taskId, task]));
  const columns = Math.max(6, Math.ceil(Math.sqrt(order.length * WIDE * (alone ? 2 : 1))));
  return html`<div class="${order.length > 120 ? 'grid-tasks small' : 'grid-tasks'}" style="${`--cols:${columns};--phone:${alone ? columns : Math.ceil(columns * 1.6)}`}" role="img" aria-label="${label}">${order.map(
    (id) => {
      const task = byId.get(id);
      if (!task) return html`<i class="g absent" title="${id}: not evaluated"></i>`;
      return html`<i class="${`g g${shade(task)}`}" title="${id}: ${task.passed} of ${task.attempts}"></i>`;
    },
  )}</div>`;
}
