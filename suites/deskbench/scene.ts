/** One drawn task of a template: everything that decides it, without the harness around it. */
import { createHash } from 'node:crypto';
import { Draw, type Split } from './draw.js';
import type { Slots } from './script.js';
import { type Facts, fill, type Scene, type Template } from './templates/template.js';
import { applyWrites } from './world/domains.js';
import type { Tables } from './world/tables.js';

export interface DeskTask {
  readonly template: Template;
  readonly split: Split;
  readonly scene: Scene;
  /** The request with placeholders, before filling: what tasks of one wording have in common. */
  readonly wording: string;
  /** First message of the user. */
  readonly opening: string;
  readonly facts: Facts;
  /** Tables that the check wants. */
  readonly expected: Tables;
}

/** Courtesies around a request. They carry nothing, and both splits use them. */
const OPENERS = ['', 'hello , ', '', 'please help . '];
const CLOSERS = ['', '', ' thanks .'];

/** The task number `index` of a template's split; `salt` draws other parameters for the same branch and wording. */
export function drawTask(template: Template, split: Split, index: number, salt = ''): DeskTask {
  // Cycles of one length would marry each branch to one wording: each full cycle of branches shifts the wordings by one.
  const wordings = template.wordings[split];
  const core = wordings[(index + Math.floor(index / template.branches.length)) % wordings.length];
  const branch = template.branches[index % template.branches.length];
  if (core === undefined || branch === undefined)
    throw new Error(`template ${template.name} has no ${split} wording`);
  const draw = new Draw(split, `${template.name} ${index} ${salt}`);
  const wording = `${draw.pick(OPENERS)}${core}${draw.pick(CLOSERS)}`;
  const scene = template.scene(draw, branch);
  return {
    template,
    split,
    scene,
    wording,
    opening: fill(wording, scene.slots),
    facts: scene.facts,
    expected: applyWrites(template.domain, scene.start, template.writes(scene)),
  };
}

/** The slots that the request names: all that an agent is told of the scene. */
export function namedSlots({ wording, scene }: DeskTask): Slots {
  return Object.fromEntries(Object.entries(scene.slots).filter(([name]) => wording.includes(`{${name}}`)));
}

/** The system message of a desk; short, since the embedded policy reads it on every episode. */
export function systemMessage(domain: string): string {
  return `${domain} desk . end with <DONE>`;
}

/** Yes-or-no question for the judge, or undefined where the message is free. */
export function rubricOf(task: DeskTask): string | undefined {
  return task.scene.tell === undefined ? undefined : `Does the message tell the amount "${task.scene.tell}"?`;
}

/** SHA-256 of everything that decides the task. */
export function taskDigest(task: DeskTask): string {
  const { template, split, scene, opening, facts, expected } = task;
  return sha256(
    JSON.stringify([
      template.domain,
      template.name,
      split,
      opening,
      facts,
      scene.start,
      expected,
      rubricOf(task),
    ]),
  );
}

/** SHA-256 of what tasks share whatever their parameters: desk, kind of request, and the sentence with its placeholders. */
export function templateDigest(task: DeskTask): string {
  return sha256(JSON.stringify([task.template.domain, task.template.name, task.wording]));
}

export function sha256(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
