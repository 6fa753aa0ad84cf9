/**
 * The checkpoint folder of a run: whose it is, what its tracker file names, and what is put aside so that it is never
 * mixed with what is written after it.
 *
 *   .steadfast-run.json                     {"run": "train/q38", "fingerprint": "sha256:…"}
 *   latest_checkpointed_iteration.txt       written last by Verl, and by us before it is started again
 *   global_step_5 …                         Verl's
 *   steadfast/                              metrics of each start, Hydra's own notes
 *   unusable_step_10                        the newest one that did not verify, for people
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '../../core/artifacts.js';
import { OWNER_FILE } from '../../core/cluster.js';
import { Fault } from '../../core/faults.js';
import { isObject } from '../../core/message.js';

const STEP_FOLDER = /^global_step_(\d+)$/;
const UNUSABLE = 'unusable_step_';
export const TRACKER = 'latest_checkpointed_iteration.txt';

export interface Owner {
  readonly run: string;
  readonly fingerprint: Digest;
}

export function stepFolder(folder: string, step: number): string {
  return path.join(folder, `global_step_${step}`);
}

/** Steps of which something lies there, ascending. */
export async function savedSteps(folder: string): Promise<readonly number[]> {
  return (await readdir(folder))
    .flatMap((name) => STEP_FOLDER.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

/**
 * Makes the folder this run's, once. Throws `Fault('trainer', code: 'folder_taken')` for one that is another's, or that
 * has checkpoints of nobody knows which run.
 */
export async function claimFolder(folder: string, owner: Owner): Promise<void> {
  await mkdir(folder, { recursive: true });
  const place = path.join(folder, OWNER_FILE);
  const found = await ownerAt(place);
  if (found === undefined) {
    const steps = await savedSteps(folder);
    if (steps.length > 0) {
      throw taken(folder, `checkpoints of nobody knows which run, the newest of step ${steps.at(-1)}`);
    }
    await writeOnce(place, JSON.stringify(owner));
  }
  const now = found ?? (await ownerAt(place));
  if (now?.run !== owner.run)
    throw taken(folder, `that of ${now?.run ?? 'somebody whose claim cannot be read'}`);
  if (now.fingerprint !== undefined && now.fingerprint !== owner.fingerprint)
    throw taken(folder, `that of another run of this name, whose configuration is ${now.fingerprint}`);
}

function taken(folder: string, found: string): Fault {
  const words = `${folder}: expected the folder of this run, or an empty one, found ${found}. Give each run a checkpoint folder of its own: trainer.checkpoints`;
  return new Fault('trainer', words, { code: 'folder_taken', retry: false });
}

async function ownerAt(place: string): Promise<Partial<Owner> | undefined> {
  const text = await textOf(place);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as Partial<Owner>) : {};
  } catch {
    // Somebody's, and no run's that we know.
    return {};
  }
}

/** The step that the tracker names; undefined: none. */
export async function trackedStep(folder: string): Promise<number | undefined> {
  const text = await trackedText(folder);
  return text !== undefined && /^\d+\s*$/.test(text) ? Number(text) : undefined;
}

/** What the tracker holds, whatever that is; undefined: there is none. */
export function trackedText(folder: string): Promise<string | undefined> {
  return textOf(path.join(folder, TRACKER));
}

/** Replaces it as a whole, or removes it. */
export async function setTracked(folder: string, step: number | null): Promise<void> {
  const place = path.join(folder, TRACKER);
  if (step === null) return rm(place, { force: true });
  const beside = await written(place, String(step));
  await rename(beside, place);
}

/**
 * Verl would write the step again over what lies there, and files of two saves would pass for one whole. `keep`: the
 * newest stays under another name for people to look at; earlier ones go.
 */
export async function putAside(folder: string, steps: readonly number[], keep: boolean): Promise<void> {
  if (steps.length === 0) return;
  for (const name of await readdir(folder)) {
    if (name.startsWith(UNUSABLE)) await rm(path.join(folder, name), { recursive: true, force: true });
  }
  const newest = Math.max(...steps);
  for (const step of steps) {
    const from = stepFolder(folder, step);
    const to = path.join(folder, `${UNUSABLE}${step}`);
    await rename(from, to);
    if (!keep || step !== newest) await rm(to, { recursive: true, force: true });
  }
}

/** Two that write at once: one of them wins, and neither is half there. */
async function writeOnce(place: string, text: string): Promise<void> {
  const beside = await written(place, text);
  try {
    await link(beside, place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(beside);
  }
}

async function written(place: string, text: string): Promise<string> {
  const beside = `${place}.${randomBytes(4).toString('hex')}`;
  const file = await open(beside, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return beside;
}

async function textOf(place: string): Promise<string | undefined> {
  try {
    return await readFile(place, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
