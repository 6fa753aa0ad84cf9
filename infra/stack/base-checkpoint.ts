/** The shipped base checkpoint: every file as its maker wrote it, looked at before anything is started. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault, UsageError } from '../../core/faults.js';
import { decodeTensors } from '../../core/safetensors.js';
import { ROOT } from '../setup/root.mjs';

const FOLDER = join(ROOT, 'native', 'trainer', 'base');
const FIX = 'Run "git checkout native/trainer/base", or make it again with native/trainer/make-base.sh';

/** The folder. Throws `UsageError` for the first file that is missing or not the one that `provenance.json` names. */
export function requireBaseCheckpoint(folder = FOLDER): string {
  const provenance = join(folder, 'provenance.json');
  for (const [name, digest] of Object.entries(filesOf(provenance))) {
    const file = join(folder, name);
    const bytes = read(file);
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== digest) {
      throw new UsageError(file, `SHA-256 ${digest}`, `${found} (${bytes.length} bytes)`, FIX);
    }
  }
  requireShape(folder);
  return folder;
}

/** Sizes in `config.json`, and the tensors that they decide (native/trainer). */
interface Shape {
  readonly vocab: number;
  readonly width: number;
  readonly layers: number;
  readonly feed: number;
}

/** A base that was made again, digests and all, may still be cut off, or be of another model than it says. */
function requireShape(folder: string): void {
  const weights = join(folder, 'model.safetensors');
  const shape = shapeOf(join(folder, 'config.json'));
  const { vocab, width, layers, feed } = shape;
  const words = Object.entries(shape)
    .map(([name, size]) => `${name} ${size}`)
    .join(', ');
  const expected = `the weights of a model of ${words} (config.json)`;
  const found = sizesOf(weights, expected);
  const wanted = {
    'embed.token': vocab * width,
    head: width * vocab,
    norm: width,
    'layers.0.up': width * feed,
  };
  for (const [name, size] of Object.entries(wanted)) {
    if (found.get(name) === size) continue;
    throw new UsageError(
      weights,
      expected,
      `${name} with ${found.get(name) ?? 'no'} numbers, not ${size}`,
      FIX,
    );
  }
  const last = Math.max(...[...found.keys()].map((name) => Number(/^layers\.(\d+)\./.exec(name)?.[1] ?? -1)));
  if (last + 1 !== layers) throw new UsageError(weights, expected, `${last + 1} layers`, FIX);
}

function shapeOf(file: string): Shape {
  const text = read(file).toString('utf8');
  let config: Partial<Shape> = {};
  try {
    config = (JSON.parse(text) ?? {}) as Partial<Shape>;
  } catch {
    // Said below, together with a document that is JSON but something else.
  }
  const { vocab = 0, width = 0, layers = 0, feed = 0 } = config;
  if ([vocab, width, layers, feed].every((size) => Number.isSafeInteger(size) && size > 0)) {
    return { vocab, width, layers, feed };
  }
  throw new UsageError(
    file,
    'JSON with vocab, width, layers and feed',
    text.slice(0, 80).trim() || 'nothing',
    FIX,
  );
}

/** Numbers in each tensor. */
function sizesOf(file: string, expected: string): ReadonlyMap<string, number> {
  try {
    const { tensors } = decodeTensors(read(file));
    return new Map([...tensors].map(([name, values]) => [name, values.length]));
  } catch (error) {
    if (error instanceof Fault) throw new UsageError(file, expected, error.message, FIX);
    throw error;
  }
}

function filesOf(provenance: string): Readonly<Record<string, string>> {
  const text = read(provenance).toString('utf8');
  try {
    const { files } = JSON.parse(text) as { files?: Record<string, string> };
    if (files?.['model.safetensors']) return files;
  } catch {
    // Said below, together with a document that is JSON but something else.
  }
  throw new UsageError(
    provenance,
    'JSON with the digest of each file',
    `${text.length} characters of something else`,
    FIX,
  );
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(file, 'a file', 'none', FIX);
    throw error;
  }
}
