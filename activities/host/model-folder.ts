/**
 * A model folder looked at without loading it: configuration, tokenizer, and every shard by its header and size. Names
 * a hub id for what it is; a download that was cut off is found by the bytes that its header promises.
 */

import { createHash } from 'node:crypto';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Finding, ModelFacts } from '../../core/cluster.js';
import { isObject, type JsonObject } from '../../core/message.js';
import type { HashCache } from './hash-cache.js';

/** A larger header is no header. */
const MAX_HEADER_BYTES = 100 * 2 ** 20;
const INDEX = 'model.safetensors.index.json';
const ONE_FILE = 'model.safetensors';
/** Findings that are told: more would not fit a reply, and the first say what to do. */
const MOST_FINDINGS = 6;

/** Never throws for what is wrong with the folder. It is hashed when nothing is. */
export async function modelFacts(
  folder: string,
  tokens: readonly string[],
  cache: HashCache,
  signal: AbortSignal,
): Promise<ModelFacts> {
  const problems: Finding[] = [];
  const nothing = { digest: null, files: 0, bytes: 0, parameters: 0, type: null };
  const unread = { ...nothing, attentionHeads: null, keyValueHeads: null, positions: null };
  const names = await fileNames(folder);
  if (typeof names === 'string') return { ...unread, problems: [noFolder(folder, names)] };

  const config = await jsonFile(folder, 'config.json', problems);
  const shards = names.includes(INDEX) ? await indexed(folder, problems) : [ONE_FILE];
  let bytes = 0;
  let parameters = 0;
  for (const shard of shards) {
    const read = await shardFacts(folder, shard, problems);
    bytes += read.bytes;
    parameters += read.elements;
  }
  await checkTokens(folder, tokens, problems);
  const facts = { files: names.length, bytes, parameters, ...shapeOf(config) };
  if (problems.length > 0) return { ...facts, digest: null, problems: problems.slice(0, MOST_FINDINGS) };
  return { ...facts, digest: await folderDigest(folder, names, cache, signal), problems };
}

function noFolder(folder: string, found: string): Finding {
  const hub = /^[\w.-]+\/[\w.-]+$/.test(folder);
  return {
    place: 'trainer.model',
    expected: 'a folder with the model on every host',
    found: hub ? `${JSON.stringify(folder)}, which looks like a hub id` : found,
    fix: 'Download the model to every host, and name the folder by its absolute path.',
  };
}

const NO_FOLDER: Readonly<Record<string, (folder: string) => string>> = {
  ENOENT: (folder) => `no folder ${folder}`,
  ENOTDIR: (folder) => `${folder}, a file or below one`,
  EACCES: (folder) => `${folder}, which this worker may not read`,
  ELOOP: (folder) => `${folder}, a symbolic link that leads to itself`,
};

/** Regular files by their names, sorted; hidden ones are a downloader's own. Else what the folder is instead. */
async function fileNames(folder: string): Promise<readonly string[] | string> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'));
    return files.map(({ name }) => name).toSorted();
  } catch (error) {
    const words = NO_FOLDER[(error as NodeJS.ErrnoException).code ?? ''];
    if (words === undefined) throw error;
    return words(folder);
  }
}

async function jsonFile(folder: string, name: string, problems: Finding[]): Promise<JsonObject | undefined> {
  const place = path.join(folder, name);
  try {
    const value: unknown = JSON.parse(await readFile(place, 'utf8'));
    if (isObject(value)) return value;
    problems.push(damaged(place, 'a JSON object', 'another value'));
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    problems.push(damaged(place, 'a JSON file', missing ? 'no such file' : (error as Error).message));
  }
  return undefined;
}

function damaged(place: string, expected: string, found: string): Finding {
  return { place, expected, found, fix: 'Download the model again: the folder is not whole.' };
}

/** Files that the index names. */
async function indexed(folder: string, problems: Finding[]): Promise<readonly string[]> {
  const index = await jsonFile(folder, INDEX, problems);
  const map = index?.weight_map;
  if (index && !isObject(map)) problems.push(damaged(path.join(folder, INDEX), 'a weight_map', 'none'));
  return isObject(map) ? [...new Set(Object.values(map).map(String))].toSorted() : [];
}

async function shardFacts(
  folder: string,
  name: string,
  problems: Finding[],
): Promise<{ bytes: number; elements: number }> {
  const place = path.join(folder, name);
  try {
    const { size } = await stat(place);
    const header = await shardHeader(place, size);
    let elements = 0;
    let end = 0;
    for (const [tensor, entry] of Object.entries(header.tensors)) {
      if (tensor === '__metadata__' || !isObject(entry)) continue;
      const shape = Array.isArray(entry.shape) ? entry.shape.map(Number) : [];
      elements += shape.reduce((product, length) => product * length, 1);
      end = Math.max(end, Array.isArray(entry.data_offsets) ? Number(entry.data_offsets[1]) : 0);
    }
    const promised = header.bytes + end;
    if (promised !== size) problems.push(damaged(place, `${promised} bytes, as its header says`, `${size}`));
    return { bytes: size, elements };
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    problems.push(
      damaged(place, 'a shard of the model', missing ? 'no such file' : (error as Error).message),
    );
    return { bytes: 0, elements: 0 };
  }
}

/** `bytes`: where the data begins. Throws for what is no safetensors file. */
async function shardHeader(place: string, size: number): Promise<{ bytes: number; tensors: JsonObject }> {
  const file = await open(place, 'r');
  try {
    const { buffer: length } = await file.read(Buffer.alloc(8), 0, 8, 0);
    const bytes = size < 8 ? 0 : Number(length.readBigUInt64LE(0));
    if (bytes === 0 || bytes > MAX_HEADER_BYTES || 8 + bytes > size) throw new Error('no safetensors header');
    const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, 8);
    const tensors: unknown = JSON.parse(buffer.toString('utf8'));
    if (!isObject(tensors)) throw new Error('no safetensors header');
    return { bytes: 8 + bytes, tensors };
  } finally {
    await file.close();
  }
}

/** Of a model with several parts (vision, language), the language's. */
function shapeOf(config: JsonObject | undefined) {
  const text = isObject(config?.text_config) ? config.text_config : config;
  const number = (name: string): number | null =>
    typeof text?.[name] === 'number' ? (text[name] as number) : null;
  return {
    type: typeof config?.model_type === 'string' ? config.model_type : null,
    attentionHeads: number('num_attention_heads'),
    keyValueHeads: number('num_key_value_heads'),
    positions: number('max_position_embeddings'),
  };
}

/** A control token that is not one token would be read as text, and no tool call would ever be seen. */
async function checkTokens(folder: string, tokens: readonly string[], problems: Finding[]): Promise<void> {
  const tokenizer = await jsonFile(folder, 'tokenizer.json', problems);
  if (!tokenizer) return;
  const added = Array.isArray(tokenizer.added_tokens) ? tokenizer.added_tokens : [];
  const known = new Set(added.flatMap((token) => (isObject(token) ? [token.content] : [])));
  const vocab = isObject(tokenizer.model) && isObject(tokenizer.model.vocab) ? tokenizer.model.vocab : {};
  const missing = tokens.filter((token) => !known.has(token) && !Object.hasOwn(vocab, token));
  if (missing.length === 0) return;
  problems.push({
    place: path.join(folder, 'tokenizer.json'),
    expected: 'the control tokens of the output format, each as one token',
    found: `none for ${missing.join(', ')}`,
    fix: 'Train a chat model of the family that `trainer.format` names, with its own tokenizer.',
  });
}

async function folderDigest(
  folder: string,
  names: readonly string[],
  cache: HashCache,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  for (const name of names) {
    const place = path.join(folder, name);
    hash.update(`${name}\0${(await stat(place)).size}\0${await cache.digest(place, signal)}\n`);
  }
  await cache.save();
  return `sha256:${hash.digest('hex')}`;
}
