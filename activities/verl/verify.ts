/**
 * `verify checkpoint` of what Verl has saved, which has no manifest of its own: every rank's shards to their end, every
 * file as the ledger recorded it when it had just been saved, and the tracker file, which is what Verl goes on from.
 */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { CheckpointManifest } from '../../core/trainer.js';
import { type CheckpointVerification, fileProblems } from '../trainer/checkpoint-files.js';
import { savedWorld, wholeProblems } from './checkpoint.js';
import { savedSteps, stepFolder, TRACKER, trackedText } from './folder.js';

/** Is it one step that Verl has saved, whole or not? */
export async function isVerlStep(dir: string): Promise<boolean> {
  return /^(global|unusable)_step_\d+$/.test(path.basename(dir)) || (await savedWorld(dir)) !== undefined;
}

/** Is it the folder of a run, with steps in it? */
export async function isVerlRun(dir: string): Promise<boolean> {
  return (await stepsIn(dir)).length > 0 || (await trackedText(dir)) !== undefined;
}

/** Also of a folder that is not there. */
function stepsIn(folder: string): Promise<readonly number[]> {
  return savedSteps(folder).catch((): readonly number[] => []);
}

export interface Known {
  /** As the ledger has it; absent: no ledger knows the folder. */
  readonly manifest?: CheckpointManifest;
  /** Processes of the run; absent: as many as its files say. */
  readonly world?: number;
}

/** Never throws for what is wrong with the folder. */
export async function verifyVerlStep(
  dir: string,
  { manifest, world: wanted }: Known = {},
): Promise<CheckpointVerification> {
  const world = wanted ?? (await savedWorld(dir));
  const problems =
    world === undefined
      ? [`${dir}: expected shards of every process, found none`]
      : [...(await wholeProblems(dir, world, Number.POSITIVE_INFINITY))];
  const notes: string[] = [];
  if (manifest === undefined) notes.push('digests not compared: no ledger that was asked knows this folder');
  else problems.push(...(await recordedProblems(dir, manifest, problems)));
  return { path: dir, manifest, problems, notes };
}

/** `known`: what is wrong already, each with its place in front. */
async function recordedProblems(
  dir: string,
  { files }: CheckpointManifest,
  known: readonly string[],
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const { name, bytes, sha256 } of files) {
    const place = path.join(dir, name);
    if (!known.some((problem) => problem.startsWith(`${place}: `)))
      problems.push(...(await fileProblems(place, bytes, sha256)));
  }
  const named = new Set(files.map(({ name }) => name));
  for (const name of await readdir(dir, { recursive: true }).catch(() => [])) {
    if (named.has(name) || !(await stat(path.join(dir, name))).isFile()) continue;
    problems.push(
      `${path.join(dir, name)}: expected nothing, found a file that was not there when it was recorded`,
    );
  }
  return problems;
}

/**
 * Verl goes on from the step that the tracker names. `recorded`: those of the ledger; a newer one may just have been
 * saved.
 */
export async function verifyTracker(
  folder: string,
  recorded?: readonly number[],
): Promise<CheckpointVerification> {
  const place = path.join(folder, TRACKER);
  const steps = await stepsIn(folder);
  const text = await trackedText(folder);
  const result = (problem?: string): CheckpointVerification => ({
    ...{ path: place, manifest: undefined, notes: [] },
    problems: problem === undefined ? [] : [`${place}: ${problem}`],
  });
  const newest = Math.max(0, ...steps);
  if (text === undefined) {
    return result(steps.length > 0 ? `expected the newest step, ${newest}, found no such file` : undefined);
  }
  if (!/^\d+\s*$/.test(text)) return result(`expected a step, found ${JSON.stringify(text.slice(0, 40))}`);
  const step = Number(text);
  if (!steps.includes(step)) {
    return result(`expected one of the steps that lie there (${steps.join(', ') || 'none'}), found ${step}`);
  }
  const world = await savedWorld(stepFolder(folder, step));
  const [broken] = await wholeProblems(stepFolder(folder, step), world ?? 1);
  if (broken !== undefined) return result(`expected a step that is whole, found ${step}: ${broken}`);
  const last = Math.max(0, ...(recorded ?? []));
  return result(step < last ? `expected ${last}, the newest that is recorded, found ${step}` : undefined);
}
