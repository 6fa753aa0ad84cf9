/**
 * What a policy's outputs were read with and its prompts rendered from, kept beside its episodes, so that both can be
 * done again by a later program (`verify parity`). Artifacts are content-addressed: a campaign keeps each thing once.
 */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault } from '../../core/faults.js';
import type { ToolSpec } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';

/** What a policy that samples tokens says of itself. */
export interface PolicyReading {
  /** Name of the output format. */
  readonly format: string;
  /** Tokenizer and chat template; the same object for the same model. */
  readonly files: ModelFiles;
}

/** As a trajectory holds it. */
export interface Reading {
  readonly format: string;
  /** JSON list of the tools that the policy was offered. */
  readonly tools: Digest;
  /** JSON of `ModelFiles`. */
  readonly modelFiles: Digest;
}

/** Tool lists of a process; tasks of one suite share a few. */
const MOST_LISTS = 256;

const stored = new WeakMap<
  ArtifactStore,
  { readonly tools: Map<string, Promise<Digest>>; readonly files: WeakMap<ModelFiles, Promise<Digest>> }
>();

/** Writes what is not there yet, once per process. Throws `Fault('artifacts')`. */
export async function storeReading(
  artifacts: ArtifactStore,
  { format, files }: PolicyReading,
  offered: readonly ToolSpec[],
): Promise<Reading> {
  const known = stored.get(artifacts) ?? { tools: new Map(), files: new WeakMap() };
  stored.set(artifacts, known);
  const text = JSON.stringify(offered);
  let tools = known.tools.get(text);
  if (!tools) {
    if (known.tools.size >= MOST_LISTS) known.tools.clear();
    tools = put(artifacts, text);
    known.tools.set(text, tools);
    tools.catch(() => known.tools.delete(text));
  }
  let modelFiles = known.files.get(files);
  if (!modelFiles) {
    modelFiles = put(artifacts, JSON.stringify(modelFilesOf(files)));
    known.files.set(files, modelFiles);
    modelFiles.catch(() => known.files.delete(files));
  }
  return { format, tools: await tools, modelFiles: await modelFiles };
}

/** The tools of a reading. Throws `Fault('artifacts')`, naming digest and path. */
export async function readTools(artifacts: ArtifactStore, digest: Digest): Promise<readonly ToolSpec[]> {
  const value: unknown = parse(artifacts, digest, await artifacts.get(digest));
  if (Array.isArray(value)) return value as readonly ToolSpec[];
  throw notA(artifacts, digest, 'a list of tools');
}

/** The model files of a reading. Throws `Fault('artifacts')`, naming digest and path. */
export async function readModelFiles(artifacts: ArtifactStore, digest: Digest): Promise<ModelFiles> {
  const value: unknown = parse(artifacts, digest, await artifacts.get(digest));
  if (typeof value === 'object' && value !== null && 'tokenizer' in value && 'config' in value) {
    return value as ModelFiles;
  }
  throw notA(artifacts, digest, 'a tokenizer and its configuration');
}

/** A JSON artifact. Throws `Fault('artifacts', code: 'corrupt')`. */
export function parse(artifacts: ArtifactStore, digest: Digest, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw notA(artifacts, digest, 'JSON');
  }
}

function notA(artifacts: ArtifactStore, digest: Digest, expected: string): Fault {
  return new Fault('artifacts', `artifact ${digest} is not ${expected}: ${artifacts.path(digest)}`, {
    code: 'corrupt',
    retry: false,
  });
}

/** What a renderer is made from; absent options leave no trace, so that equal models keep equal digests. */
function modelFilesOf({ tokenizer, config, templateOptions }: ModelFiles): ModelFiles {
  return { tokenizer, config, ...(templateOptions ? { templateOptions } : {}) };
}

function put(artifacts: ArtifactStore, text: string): Promise<Digest> {
  return artifacts.put(new TextEncoder().encode(text));
}
