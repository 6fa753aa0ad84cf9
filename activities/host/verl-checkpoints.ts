/**
 * Checkpoints as Verl 0.9 lays them out, by their names and sizes:
 *
 *   latest_checkpointed_iteration.txt                      the step that a restart goes on from, whole or not
 *   global_step_5/data.pt                                  place in the data
 *   global_step_5/actor/{model,optim,extra_state}_world_size_24_rank_0.pt …
 *   global_step_5/actor/huggingface/config.json            configuration and tokenizer
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { type CheckpointFound, type CheckpointsFound, OWNER_FILE } from '../../core/cluster.js';
import { isObject } from '../../core/message.js';

const STEP_FOLDER = /^global_step_(\d+)$/;
const SHARD = /^(model|optim|extra_state)_world_size_(\d+)_rank_(\d+)\.pt$/;
const PARTS = ['model', 'optim', 'extra_state'] as const;
/** Steps and files that are told of: a reply is small. */
const MOST_STEPS = 12;
const MOST_MISSING = 2;

/** Never throws for what lies there; a folder that does not exist holds nothing. */
export async function verlCheckpoints(folder: string): Promise<CheckpointsFound> {
  const steps = (await namesIn(folder))
    .flatMap((name) => STEP_FOLDER.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b)
    .slice(-MOST_STEPS);
  const [owner, latest] = await Promise.all([ownerOf(folder), latestOf(folder)]);
  const found: CheckpointFound[] = [];
  for (const step of steps) found.push(await checkpoint(path.join(folder, `global_step_${step}`), step));
  return { owner, latest, steps: found };
}

async function checkpoint(folder: string, step: number): Promise<CheckpointFound> {
  const actor = path.join(folder, 'actor');
  const shards = (await namesIn(actor)).flatMap((name) => {
    const match = SHARD.exec(name);
    return match?.[1] === 'model' ? [Number(match[2])] : [];
  });
  const worldSize = shards.length === 0 ? null : Math.max(...shards);
  const ranks = Array.from({ length: worldSize ?? 0 }, (_, rank) => rank);
  const wanted = [
    'data.pt',
    'actor/huggingface/config.json',
    ...ranks.flatMap((rank) => PARTS.map((part) => `actor/${part}_world_size_${worldSize}_rank_${rank}.pt`)),
  ];
  const missing: string[] = [];
  for (const name of wanted) {
    if (!(await hasBytes(path.join(folder, name)))) missing.push(name);
    if (missing.length === MOST_MISSING) break;
  }
  return { step, worldSize, missing };
}

async function hasBytes(file: string): Promise<boolean> {
  try {
    return (await stat(file)).size > 0;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function ownerOf(folder: string): Promise<string | null> {
  const text = await textOf(path.join(folder, OWNER_FILE));
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && typeof value.run === 'string') return value.run;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return `somebody whose ${OWNER_FILE} cannot be read`;
}

async function latestOf(folder: string): Promise<number | null> {
  const text = await textOf(path.join(folder, 'latest_checkpointed_iteration.txt'));
  return text !== null && /^\d+\s*$/.test(text) ? Number(text) : null;
}

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
