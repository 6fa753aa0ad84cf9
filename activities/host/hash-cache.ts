/**
 * Digests of large files, computed once: a file whose size and time of change are those that were hashed is not read
 * again. The cache is a file of this machine; a lost or damaged one costs time, never correctness.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isObject } from '../../core/message.js';

interface Known {
  readonly size: number;
  readonly mtimeMs: number;
  readonly sha256: string;
}

const CHUNK = 2 ** 22;

export class HashCache {
  readonly #file: string;
  #known: Map<string, Known> | undefined;
  #changed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** SHA-256 in hex. Throws where the file cannot be read, or `signal` is aborted. */
  async digest(file: string, signal: AbortSignal): Promise<string> {
    this.#known ??= await this.#read();
    const { size, mtimeMs } = await stat(file);
    const known = this.#known.get(file);
    if (known?.size === size && known.mtimeMs === mtimeMs) return known.sha256;
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file, { highWaterMark: CHUNK, signal })) hash.update(chunk);
    const sha256 = hash.digest('hex');
    this.#known.set(file, { size, mtimeMs, sha256 });
    this.#changed = true;
    return sha256;
  }

  /** Keeps what was computed. */
  async save(): Promise<void> {
    if (!this.#changed || !this.#known) return;
    await mkdir(path.dirname(this.#file), { recursive: true });
    const beside = `${this.#file}.${randomBytes(4).toString('hex')}`;
    await writeFile(beside, JSON.stringify(Object.fromEntries(this.#known)));
    await rename(beside, this.#file);
    this.#changed = false;
  }

  async #read(): Promise<Map<string, Known>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#file, 'utf8'));
      return new Map(Object.entries(value as Record<string, unknown>).flatMap(entry));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && !(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
      return new Map();
    }
  }
}

function entry([file, value]: [string, unknown]): [string, Known][] {
  if (!isObject(value)) return [];
  const { size, mtimeMs, sha256 } = value;
  if (typeof size !== 'number' || typeof mtimeMs !== 'number' || typeof sha256 !== 'string') return [];
  return [[file, { size, mtimeMs, sha256 }]];
}
