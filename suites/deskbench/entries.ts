/** The suite's list of tasks: 150 candidates for training and 48 benchmark tasks. */
import type { TaskRef } from '../../core/suite.js';
import { type DeskTask, drawTask, taskDigest, templateDigest } from './scene.js';
import { TEMPLATES, trainedTemplates } from './templates/all.js';

export const CANDIDATES = 150;
/** Benchmark tasks of a template that is trained on, and of one that is held out. */
const BENCHMARK_TASKS = { trained: 3, heldOut: 2 } as const;

/** A task with the reference that the pipeline knows it by. */
export interface DeskEntry {
  readonly ref: TaskRef;
  readonly task: DeskTask;
}

let entries: readonly DeskEntry[] | undefined;

/** All tasks in a fixed order: candidates first, templates in turn. Drawn once per process. */
export function deskEntries(): readonly DeskEntry[] {
  entries ??= draw();
  return entries;
}

function draw(): readonly DeskEntry[] {
  const drawn: { task: DeskTask; index: number }[] = [];
  for (let n = 0; n < CANDIDATES; n++) {
    const template = trainedTemplates[n % trainedTemplates.length];
    const index = Math.floor(n / trainedTemplates.length);
    if (template) drawn.push({ task: drawTask(template, 'train', index), index });
  }
  for (const template of TEMPLATES) {
    const count = trainedTemplates.includes(template) ? BENCHMARK_TASKS.trained : BENCHMARK_TASKS.heldOut;
    for (let index = 0; index < count; index++)
      drawn.push({ task: drawTask(template, 'benchmark', index), index });
  }
  return drawn.map(({ task, index }) => {
    const { name, domain } = task.template;
    const file = task.split === 'train' ? domain : `${domain}_benchmark`;
    const ref: TaskRef = {
      id: `${file}:${name}-${String(index + 1).padStart(2, '0')}`,
      domain,
      template: name,
      digest: taskDigest(task),
      templateDigest: templateDigest(task),
      split: task.split,
    };
    return { ref, task };
  });
}
