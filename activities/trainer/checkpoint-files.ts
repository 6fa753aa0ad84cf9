/**
 * A checkpoint folder read without a trainer: is every byte what the manifest says?
 *
 * Checked: the manifest itself (format, fields), every file's size and SHA-256, files that the manifest does not name,
 * and, where a `model.safetensors` of float32 tensors is part of it, the weight digest over the tensors.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { CheckpointManifest } from '../../core/trainer.js';
import { weightDigestOf } from './weight-digest.js';

const MANIFEST = 'manifest.json';
const WEIGHTS = 'model.safetensors';
const SHA256 = /^[0-9a-f]{64}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export interface CheckpointVerification {
  readonly path: string;
  /** Undefined where it could not be read. */
  readonly manifest: CheckpointManifest | undefined;
  /** Place, what was expected, what was found; empty when the checkpoint may be restored. */
  readonly problems: readonly string[];
  /** What could not be checked, and why that is no problem. */
  readonly notes: readonly string[];
}

/** Never throws for what is wrong with the folder. `recorded` is the manifest as the ledger has it. */
export async function verifyCheckpoint(
  dir: string,
  recorded?: CheckpointManifest,
): Promise<CheckpointVerification> {
  const place = path.join(dir, MANIFEST);
  const read = await readManifest(place);
  if (typeof read === 'string') return { path: dir, manifest: undefined, problems: [read], notes: [] };
  const problems = [...manifestProblems(place, read), ...recordedProblems(place, read, recorded)];
  if (problems.length > 0) return { path: dir, manifest: read, problems, notes: [] };

  for (const { name, bytes, sha256 } of read.files) {
    problems.push(...(await fileProblems(path.join(dir, name), bytes, sha256)));
  }
  const named = new Set([MANIFEST, ...read.files.map(({ name }) => name)]);
  for (const name of await readdir(dir)) {
    if (!named.has(name))
      problems.push(`${path.join(dir, name)}: expected nothing, found a file that is not in the manifest`);
  }
  const notes: string[] = [];
  if (problems.length === 0) {
    const digest = named.has(WEIGHTS) ? await weightDigestOf(path.join(dir, WEIGHTS)) : undefined;
    if (digest === undefined) notes.push(`weight digest not computed: no ${WEIGHTS} of float32 tensors`);
    else if (digest !== read.weightDigest) {
      problems.push(`${path.join(dir, WEIGHTS)}: expected weights ${read.weightDigest}, found ${digest}`);
    }
  }
  return { path: dir, manifest: read, problems, notes };
}

async function readManifest(place: string): Promise<CheckpointManifest | string> {
  let text: string;
  try {
    text = await readFile(place, 'utf8');
  } catch (error) {
    return `${place}: expected a manifest, found ${(error as Error).message}`;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as CheckpointManifest;
  } catch (error) {
    return `${place}: expected a JSON object, found ${(error as Error).message}`;
  }
  return `${place}: expected a JSON object, found ${text.slice(0, 40)}`;
}

/** The manifest comes from a disk: each field is looked at before it is used. */
function manifestProblems(place: string, manifest: Partial<CheckpointManifest>): string[] {
  const { format, run, step, weightDigest, optimizerDigest, appliedOps, files, trainerBuild } = manifest;
  const problems: string[] = [];
  const need = (name: string, holds: boolean, expected: string, found: unknown): void => {
    if (!holds)
      problems.push(`${place}: ${name}: expected ${expected}, found ${JSON.stringify(found) ?? 'nothing'}`);
  };
  const isDigest = (value: unknown): boolean => typeof value === 'string' && DIGEST.test(value);
  need('format', format === 1, '1', format);
  need('run', typeof run === 'string' && run !== '', 'a name', run);
  need('step', Number.isSafeInteger(step) && step! >= 0, 'a whole number from 0', step);
  need('weightDigest', isDigest(weightDigest), 'a digest', weightDigest);
  need('optimizerDigest', isDigest(optimizerDigest), 'a digest', optimizerDigest);
  need('trainerBuild', typeof trainerBuild === 'string', 'a name', trainerBuild);
  const ops = Array.isArray(appliedOps) && appliedOps.every((op) => typeof op === 'string');
  need('appliedOps', ops && new Set(appliedOps).size === appliedOps.length, 'different names', appliedOps);
  need('files', Array.isArray(files) && files.length > 0, 'a list of files', files);
  for (const file of Array.isArray(files) ? (files as readonly unknown[]) : []) {
    need('files', isFileEntry(file), 'name (no folder), bytes and sha256', file);
  }
  return problems;
}

function isFileEntry(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { name, bytes, sha256 } = value as Partial<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    name !== '' &&
    name === path.basename(name) &&
    Number.isSafeInteger(bytes) &&
    typeof sha256 === 'string' &&
    SHA256.test(sha256)
  );
}

function recordedProblems(
  place: string,
  found: CheckpointManifest,
  recorded: CheckpointManifest | undefined,
): string[] {
  if (recorded === undefined) return [];
  return (['run', 'step', 'weightDigest', 'optimizerDigest', 'trainerBuild', 'appliedOps', 'files'] as const)
    .filter((name) => !isDeepStrictEqual(found[name], recorded[name]))
    .map((name) => {
      const [expected, is] = [JSON.stringify(recorded[name]), JSON.stringify(found[name])];
      return `${place}: ${name}: expected ${expected} as in the ledger, found ${is}`;
    });
}

/** Of one file, against its record. */
export async function fileProblems(file: string, bytes: number, sha256: string): Promise<string[]> {
  try {
    const { size } = await stat(file);
    if (size !== bytes) return [`${file}: expected ${bytes} bytes, found ${size}`];
    const found = await sha256Of(file);
    return found === sha256 ? [] : [`${file}: expected SHA-256 ${sha256}, found ${found}`];
  } catch (error) {
    return [`${file}: expected ${bytes} bytes, found ${(error as Error).message}`];
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
