/**
 * A folder that vLLM can load, from whatever a checkpoint is:
 *
 * - a model as Hugging Face lays it out: as it is, when every shard is whole;
 * - shards of Verl's FSDP workers: merged by Verl's own program;
 * - bare weights of a model whose folder is known (the PyTorch trainer's): with that folder's configuration and tokenizer;
 * - other bare weights (the embedded trainer's): by the program that the host names, if it does.
 *
 * What a program makes is written aside, looked at, and only then given its name, the digest of what it was made from:
 * nothing is ever served that was written by halves, and no checkpoint is merged twice.
 */
import { createHash } from 'node:crypto';
import {
  access,
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../core/faults.js';
import type { ServedWeights } from '../../core/serving/servings.js';
import type { HashCache } from '../host/hash-cache.js';
import { missingTensors, readModelFolder } from './model-folder.js';
import { readShardedFolder } from './sharded.js';

/** Written last: what the program made, by name and size. */
const RECORD = 'steadfast-made.json';
const WEIGHTS = 'model.safetensors';
/** Weights of a model folder, in any of their formats. */
const LARGE = /\.(?:safetensors|bin|pt|pth|gguf)(?:\.index\.json)?$/;

export interface PreparedModel {
  readonly folder: string;
  readonly vocabulary: number | null;
}

export interface PrepareDeps {
  /** Where what was made is kept. */
  readonly cache: string;
  readonly hashes: HashCache;
  /** Programs with `{folder}` and `{out}` among their arguments. `make`: for weights without a configuration. */
  readonly programs: { readonly merge: readonly string[]; readonly make: readonly string[] | null };
  /** Runs a program to its end, supervised. Throws `Fault('trainer')`. */
  readonly run: (command: readonly string[], out: string, signal: AbortSignal) => Promise<void>;
}

/** Throws `Fault('trainer')`: `no_folder`, `bad_checkpoint` for input that is not whole, `merge_failed` for what a program made of it. */
export async function prepareModel(
  deps: PrepareDeps,
  weights: ServedWeights,
  signal: AbortSignal,
): Promise<PreparedModel> {
  const { folder } = weights;
  if (!(await exists(folder)))
    throw new Fault('trainer', `no folder ${folder} on this host`, { code: 'no_folder', retry: false });
  await requireFiles(deps, weights, signal);
  if (await exists(path.join(folder, 'config.json'))) {
    const { problems, vocabulary } = await readModelFolder(folder);
    if (problems.length > 0) throw bad(problems);
    return { folder, vocabulary };
  }
  const { shards, problems } = await readShardedFolder(folder);
  if (problems.length > 0) throw bad(problems);
  if (shards !== undefined) return made(deps, deps.programs.merge, weights, shards, signal);
  if (weights.base !== undefined) return dressed(deps, weights, weights.base);
  if (deps.programs.make === null) {
    const expected = 'config.json (a model) or fsdp_config.json (shards)';
    const hint = 'STEADFAST_MAKE_MODEL names a program that makes a model of other weights (docs/serving.md)';
    throw bad([`${folder}: expected ${expected}, found neither. ${hint}`]);
  }
  return made(deps, deps.programs.make, weights, folder, signal);
}

/** Every file as the manifest says; digests of files that have not changed since are not computed again. */
async function requireFiles(
  { hashes }: PrepareDeps,
  { folder, files = [] }: ServedWeights,
  signal: AbortSignal,
): Promise<void> {
  const problems: string[] = [];
  for (const { name, bytes, sha256 } of files) {
    const place = path.join(folder, name);
    try {
      const { size } = await stat(place);
      if (size !== bytes) problems.push(`${place}: expected ${bytes} bytes, found ${size}`);
      else {
        const found = await hashes.digest(place, signal);
        if (found !== sha256) problems.push(`${place}: expected SHA-256 ${sha256}, found ${found}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      problems.push(`${place}: expected ${bytes} bytes, found ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw bad(problems);
  await hashes.save();
}

async function made(
  deps: PrepareDeps,
  program: readonly string[],
  weights: ServedWeights,
  folder: string,
  signal: AbortSignal,
): Promise<PreparedModel> {
  const place = path.join(deps.cache, await sourceDigest(folder, weights, program));
  const command = (out: string) =>
    program.map((part) => part.replaceAll('{folder}', folder).replaceAll('{out}', out));
  return kept(deps, place, folder, (out) => deps.run(command(out), out, signal));
}

/** The checkpoint's weights beside what else its base's folder has. */
async function dressed(deps: PrepareDeps, weights: ServedWeights, base: string): Promise<PreparedModel> {
  const { folder } = weights;
  const place = path.join(deps.cache, await sourceDigest(folder, weights, ['dressed', base]));
  const missing = await missingTensors(path.join(folder, WEIGHTS), base);
  if (missing.length > 0) {
    const hint = 'Adapters alone are served by the trainer that has them.';
    throw bad([
      `${path.join(folder, WEIGHTS)}: expected all tensors of ${base}, found no ${missing[0]} (${missing.length} missing). ${hint}`,
    ]);
  }
  return kept(deps, place, folder, async (out) => {
    for (const name of await readdir(base)) {
      const source = path.join(base, name);
      if (!LARGE.test(name) && (await stat(source)).isFile()) await copyFile(source, path.join(out, name));
    }
    await copyFile(path.join(folder, WEIGHTS), path.join(out, WEIGHTS));
  });
}

async function kept(
  deps: PrepareDeps,
  place: string,
  folder: string,
  write: (out: string) => Promise<void>,
): Promise<PreparedModel> {
  if (await isWhole(place)) {
    const { problems, vocabulary } = await readModelFolder(place);
    if (problems.length === 0) return { folder: place, vocabulary };
  }
  await rm(place, { recursive: true, force: true });
  return { folder: place, vocabulary: await make(deps, folder, place, write) };
}

async function make(
  deps: PrepareDeps,
  folder: string,
  place: string,
  write: (out: string) => Promise<void>,
): Promise<number | null> {
  await mkdir(deps.cache, { recursive: true });
  // One server a host, one keeper: what is still aside is of a worker that was killed.
  for (const name of await readdir(deps.cache)) {
    if (name.endsWith('.aside')) await rm(path.join(deps.cache, name), { recursive: true, force: true });
  }
  const out = `${place}.aside`;
  await mkdir(out);
  await write(out);
  const { problems, vocabulary } = await readModelFolder(out);
  if (problems.length > 0) {
    const found = problems.map((problem) => `\n  ${problem}`).join('');
    throw new Fault('trainer', `what was made of ${folder} is no model:${found}`, {
      code: 'merge_failed',
      retry: false,
    });
  }
  await onDisk(out);
  await writeFile(path.join(out, RECORD), JSON.stringify(await sizes(out)));
  await rename(out, place);
  return vocabulary;
}

/** A machine that loses its power after the new name is on disk must not have lost what it names. */
async function onDisk(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = await open(path.join(folder, name), 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** What it is made from and by: the manifest's digests where there are some, else sizes and times. */
async function sourceDigest(
  folder: string,
  { files }: ServedWeights,
  program: readonly string[],
): Promise<string> {
  const source = files ?? (await stamps(folder));
  return createHash('sha256')
    .update(JSON.stringify([folder, source, program]))
    .digest('hex')
    .slice(0, 32);
}

async function stamps(folder: string): Promise<readonly (readonly [string, number, number])[]> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  return Promise.all(
    names.map(async (name): Promise<[string, number, number]> => {
      const { size, mtimeMs } = await stat(path.join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
}

async function sizes(folder: string): Promise<Readonly<Record<string, number>>> {
  const names = (await readdir(folder)).filter((name) => name !== RECORD).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, (await stat(path.join(folder, name))).size] as const)),
  );
}

async function isWhole(place: string): Promise<boolean> {
  try {
    const recorded: unknown = JSON.parse(await readFile(path.join(place, RECORD), 'utf8'));
    return JSON.stringify(recorded) === JSON.stringify(await sizes(place));
  } catch {
    // Absent, or damaged: it is made again.
    return false;
  }
}

function bad(problems: readonly string[]): Fault {
  const text = problems.length === 1 ? problems[0]! : problems.map((problem) => `\n  ${problem}`).join('');
  return new Fault('trainer', `this checkpoint cannot be served: ${text}`, {
    code: 'bad_checkpoint',
    retry: false,
  });
}

async function exists(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  );
}
