/**
 * A checkpoint as Verl's FSDP workers write it: one file a rank, beside the model's configuration. Is all of it there?
 *
 *   <folder>[/actor]/fsdp_config.json                      {"world_size": 8, ...}
 *   <folder>[/actor]/model_world_size_8_rank_<0…7>.pt      PyTorch archives
 *   <folder>[/actor]/huggingface/config.json               and the tokenizer's files
 *
 * Read from verl 0.9.1, `verl/model_merger`.
 */
import { access, open, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isObject } from '../../core/message.js';

/** A PyTorch archive is a zip file: its directory ends with this record, which a file that was cut off has not. */
const END_OF_ZIP = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const END_BYTES = 66_000;

export interface ShardedFolder {
  /** Where the shards are; `undefined`: it is no sharded checkpoint. */
  readonly shards: string | undefined;
  /** Place, what was expected, what was found. */
  readonly problems: readonly string[];
}

/** Never throws for what is wrong with the folder. */
export async function readShardedFolder(folder: string): Promise<ShardedFolder> {
  for (const shards of [folder, path.join(folder, 'actor')]) {
    const place = path.join(shards, 'fsdp_config.json');
    if (await exists(place)) return { shards, problems: await problemsOf(shards, place) };
  }
  return { shards: undefined, problems: [] };
}

async function problemsOf(shards: string, place: string): Promise<readonly string[]> {
  let world: unknown;
  try {
    const value: unknown = JSON.parse(await readFile(place, 'utf8'));
    world = isObject(value) ? value.world_size : undefined;
  } catch (error) {
    return [`${place}: expected a JSON file, found ${(error as Error).message}`];
  }
  if (!Number.isSafeInteger(world) || Number(world) < 1)
    return [`${place}: expected world_size, a number of ranks, found ${JSON.stringify(world) ?? 'nothing'}`];
  const problems: string[] = [];
  for (let rank = 0; rank < Number(world); rank++) {
    const problem = await archiveProblem(path.join(shards, `model_world_size_${world}_rank_${rank}.pt`));
    if (problem) problems.push(problem);
  }
  const config = path.join(shards, 'huggingface', 'config.json');
  if (!(await exists(config)))
    problems.push(`${config}: expected the model's configuration, found no such file`);
  return problems;
}

/** Undefined: it is whole. */
export async function archiveProblem(place: string): Promise<string | undefined> {
  let size: number;
  try {
    ({ size } = await stat(place));
  } catch (error) {
    return `${place}: expected the shard of a rank, found ${(error as Error).message}`;
  }
  const file = await open(place, 'r');
  try {
    const length = Math.min(size, END_BYTES);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    if (buffer.includes(END_OF_ZIP)) return undefined;
    return `${place}: expected a whole PyTorch archive, found ${size} bytes without its end`;
  } finally {
    await file.close();
  }
}

async function exists(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
}
