/** The suite's list of tasks: 150 candidates for training and 48 benchmark tasks. */
import type { TaskRef } from '../../core/suite.js';
import type { Split } from './draw.js';
import { type DeskTask, drawTask, taskDigest, templateDigest } from './scene.js';
import { TEMPLATES, trainedTemplates } from './templates/all.js';
import type { Template } from './templates/template.js';

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
  const openings = new Set<string>();
  const entry = (template: Template, split: Split, index: number): DeskEntry => {
    const task = unheard(openings, template, split, index);
    return { ref: refOf(task, index), task };
  };
  const candidates = Array.from({ length: CANDIDATES }, (_, n) => {
    const template = trainedTemplates[n % trainedTemplates.length];
    if (!template) throw new Error('no template is trained on');
    return entry(template, 'train', Math.floor(n / trainedTemplates.length));
  });
  const benchmark = TEMPLATES.flatMap((template) => {
    const length = trainedTemplates.includes(template) ? BENCHMARK_TASKS.trained : BENCHMARK_TASKS.heldOut;
    return Array.from({ length }, (_, index) => entry(template, 'benchmark', index));
  });
  return [...candidates, ...benchmark];
}

/** The task, drawn again until no other task opens with the same words: people and the scripted policy tell tasks apart by them. */
function unheard(openings: Set<string>, template: Template, split: Split, index: number): DeskTask {
  for (let salt = 0; ; salt++) {
    const task = drawTask(template, split, index, salt === 0 ? '' : `${salt}`);
    if (openings.has(task.opening)) continue;
    openings.add(task.opening);
    return task;
  }
}

function refOf(task: DeskTask, index: number): TaskRef {
  const { name, domain } = task.template;
  const file = task.split === 'train' ? domain : `${domain}_benchmark`;
  return {
    id: `${file}:${name}-${String(index + 1).padStart(2, '0')}`,
    domain,
    template: name,
    digest: taskDigest(task),
    templateDigest: templateDigest(task),
    split: task.split,
  };
}
