/** Is all of a checkpoint of Verl there? Every rank's shards of a whole world, each archive to its end. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Digest } from '../../core/artifacts.js';
import type { CheckpointManifest } from '../../core/trainer.js';
import type { HashCache } from '../host/hash-cache.js';
import { archiveProblem, readShardedFolder } from '../serving/sharded.js';

const SHARD = /_world_size_(\d+)_rank_\d+\.pt$/;
const OTHER_PARTS = ['optim', 'extra_state'] as const;
const SOME = 3;

/** Place, what was expected, what was found; the first few. Never throws for what is wrong with the folder. */
export async function wholeProblems(folder: string, world: number, most = SOME): Promise<readonly string[]> {
  const actor = path.join(folder, 'actor');
  const other = await otherWorld(actor, world);
  if (other !== undefined) return [`${actor}: expected shards of ${world} processes, found some of ${other}`];
  const { shards, problems } = await readShardedFolder(actor);
  if (shards === undefined) return [`${actor}: expected fsdp_config.json and shards, found none`];
  const found = [...problems];
  const archives = [path.join(folder, 'data.pt')];
  for (let rank = 0; rank < world; rank++) {
    // Also the model's: `fsdp_config.json` may speak of another world.
    for (const part of problems.length > 0 ? OTHER_PARTS : (['model', ...OTHER_PARTS] as const))
      archives.push(path.join(actor, `${part}_world_size_${world}_rank_${rank}.pt`));
  }
  for (const archive of archives) {
    if (found.length >= most) break;
    const problem = await archiveProblem(archive);
    if (problem) found.push(problem);
  }
  return found.slice(0, most);
}

async function otherWorld(actor: string, world: number): Promise<number | undefined> {
  return (await worlds(actor)).find((found) => found !== world);
}

/** Processes that have saved a step, as its files say; undefined: none. */
export async function savedWorld(folder: string): Promise<number | undefined> {
  return (await worlds(path.join(folder, 'actor')))[0];
}

async function worlds(actor: string): Promise<readonly number[]> {
  const names = await readdir(actor).catch(() => []);
  return names.flatMap((name) => SHARD.exec(name)?.[1] ?? []).map(Number);
}

/** Of a whole one: every file by its digest. A file whose size and time are known is not read again. */
export async function manifestOf(
  folder: string,
  { run, step, build }: { readonly run: string; readonly step: number; readonly build: string },
  hashes: HashCache,
  signal: AbortSignal,
): Promise<CheckpointManifest> {
  const files: { name: string; bytes: number; sha256: string }[] = [];
  let newest = 0;
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    const place = path.join(folder, name);
    const { size, mtimeMs } = await stat(place);
    if (!(await stat(place)).isFile()) continue;
    newest = Math.max(newest, mtimeMs);
    files.push({ name, bytes: size, sha256: await hashes.digest(place, signal) });
  }
  await hashes.save();
  const digestOf = (prefix: string): Digest => {
    const hash = createHash('sha256');
    for (const { name, sha256 } of files) if (name.startsWith(prefix)) hash.update(`${name} ${sha256}\n`);
    return `sha256:${hash.digest('hex')}`;
  };
  return {
    ...{ format: 1, run, step, files, trainerBuild: build },
    weightDigest: digestOf('actor/model_'),
    optimizerDigest: digestOf('actor/optim_'),
    appliedOps: [],
    numerics: {},
    createdAt: new Date(newest).toISOString(),
  };
}

/** What differs from what was recorded when it had just been saved. */
export async function changedProblems(
  folder: string,
  { files }: Pick<CheckpointManifest, 'files'>,
  hashes: HashCache,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (const { name, bytes, sha256 } of files) {
    const place = path.join(folder, name);
    try {
      const { size } = await stat(place);
      if (size !== bytes) return [`${place}: expected ${bytes} bytes, found ${size}`];
      if ((await hashes.digest(place, signal)) !== sha256)
        return [`${place}: expected SHA-256 ${sha256}, found another`];
    } catch (error) {
      signal.throwIfAborted();
      return [`${place}: expected ${bytes} bytes, found ${(error as Error).message}`];
    }
  }
  return [];
}
