/**
 * A model folder as Hugging Face lays it out, looked at without loading it: is every shard that the index names there
 * and whole, and do the tensors' names and shapes fit the configuration?
 */
import { open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isObject, type JsonObject } from '../../core/message.js';
import { readHeader, type Tensor } from '../trainer/weight-digest.js';

const CONFIG = 'config.json';
const INDEX = 'model.safetensors.index.json';
const ONE_FILE = 'model.safetensors';
const HEAD = 'lm_head.weight';
const LAYER = /(?:^|\.)layers\.(\d+)\./;
const EMBEDDING = /(?:^|\.)embed_tokens\.weight$/;

export interface ModelFolder {
  /** Place, what was expected, what was found; empty when it may be served. */
  readonly problems: readonly string[];
  /** Ids that the weights have a row for; null where the configuration does not say. */
  readonly vocabulary: number | null;
}

/** Never throws for what is wrong with the folder. */
export async function readModelFolder(folder: string): Promise<ModelFolder> {
  const problems: string[] = [];
  const config = await json(path.join(folder, CONFIG), problems);
  const { tensors, map } = await readTensors(folder, problems);
  const missing = Object.keys(map ?? {}).filter((name) => !(name in tensors));
  if (missing.length > 0)
    problems.push(
      `${path.join(folder, INDEX)}: expected ${missing[0]} in a shard, found ${missing.length} that none holds`,
    );
  const text = config && isObject(config.text_config) ? config.text_config : config;
  if (text && problems.length === 0) problems.push(...shapeProblems(folder, text, tensors));
  const vocabulary = text?.vocab_size;
  return { problems, vocabulary: typeof vocabulary === 'number' ? vocabulary : null };
}

/** Tensors of a model folder that a weights file does not have. One that is tied to another is never written twice. */
export async function missingTensors(weights: string, base: string): Promise<readonly string[]> {
  const problems: string[] = [];
  const found = await shardTensors(weights, problems);
  const { tensors } = await readTensors(base, problems);
  const config = await json(path.join(base, CONFIG), problems);
  const tied = config?.tie_word_embeddings === true;
  if (problems.length > 0) return problems;
  return Object.keys(tensors).filter((name) => !(name in found) && !(tied && name === HEAD));
}

/** What fits no model of this configuration. A model whose tensors have other names is not judged by them. */
function shapeProblems(
  folder: string,
  config: JsonObject,
  tensors: Readonly<Record<string, Tensor>>,
): readonly string[] {
  const names = Object.keys(tensors);
  if (names.length === 0) return [`${folder}: expected tensors, found none`];
  const problems: string[] = [];
  const layers = new Set(names.flatMap((name) => LAYER.exec(name)?.[1] ?? []).map(Number));
  const { num_hidden_layers: count, vocab_size: rows, hidden_size: width } = config;
  if (typeof count === 'number' && layers.size > 0) {
    const absent = Array.from({ length: count }, (_, layer) => layer).filter((layer) => !layers.has(layer));
    // Further ones may be heads that predict several tokens.
    if (absent.length > 0)
      problems.push(
        `${folder}: expected tensors of ${count} layers, found none of layer ${absent.join(', ')}`,
      );
  }
  const embedding = names.find((name) => EMBEDDING.test(name));
  if (embedding && typeof rows === 'number' && typeof width === 'number') {
    const { shape } = tensors[embedding]!;
    if (shape.length !== 2 || shape[0] !== rows || shape[1] !== width)
      problems.push(
        `${folder}: ${embedding}: expected shape [${rows}, ${width}], found [${shape.join(', ')}]`,
      );
  }
  return problems;
}

async function readTensors(
  folder: string,
  problems: string[],
): Promise<{ tensors: Readonly<Record<string, Tensor>>; map: Readonly<Record<string, string>> | undefined }> {
  const names: readonly string[] = await readdir(folder).catch(() => []);
  const index = names.includes(INDEX) ? await json(path.join(folder, INDEX), problems) : undefined;
  const map = index && isObject(index.weight_map) ? (index.weight_map as Record<string, string>) : undefined;
  if (index && !map) problems.push(`${path.join(folder, INDEX)}: expected a weight_map, found none`);
  const tensors: Record<string, Tensor> = {};
  for (const shard of map ? [...new Set(Object.values(map))].toSorted() : [ONE_FILE]) {
    Object.assign(tensors, await shardTensors(path.join(folder, shard), problems));
  }
  return { tensors, map };
}

async function shardTensors(place: string, problems: string[]): Promise<Readonly<Record<string, Tensor>>> {
  try {
    const file = await open(place, 'r');
    try {
      const { size } = await file.stat();
      const header = await readHeader(file);
      if (!header) {
        problems.push(`${place}: expected a safetensors file, found no header of one`);
        return {};
      }
      const ends = Object.values(header.tensors).map(({ data_offsets: [, end] }) => end);
      const promised = header.dataStart + ends.reduce((most, end) => Math.max(most, end), 0);
      if (promised !== size)
        problems.push(`${place}: expected ${promised} bytes, as its header says, found ${size}`);
      return header.tensors;
    } finally {
      await file.close();
    }
  } catch (error) {
    problems.push(`${place}: expected a shard of the model, found ${(error as Error).message}`);
    return {};
  }
}

async function json(place: string, problems: string[]): Promise<JsonObject | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(place, 'utf8'));
    if (isObject(value)) return value;
    problems.push(`${place}: expected a JSON object, found another value`);
  } catch (error) {
    problems.push(`${place}: expected a JSON file, found ${(error as Error).message}`);
  }
  return undefined;
}
