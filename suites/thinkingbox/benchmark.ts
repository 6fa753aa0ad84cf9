/**
 * What is never trained on: the 507 cases of ThinkingBox-Bench v1.0, by digest of their id and of their start state with
 * golden calls, so that a copy in another checkout is known too. `native/thinkingbox/benchmark.txt` holds both, shortened.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { nativeFile } from './native.js';
import type { ListedCase } from './protocol.js';

/** Hexadecimal digits that are kept of a digest: by chance one of a million cases would be taken for one of 507. */
const DIGITS = 16;

export interface BenchmarkDigests {
  readonly ids: ReadonlySet<string>;
  readonly templates: ReadonlySet<string>;
}

export async function benchmarkDigests(): Promise<BenchmarkDigests> {
  const lines = (await readFile(nativeFile('benchmark.txt'), 'utf8')).split('\n');
  const pairs = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(' '));
  return {
    ids: new Set(pairs.map(([id = '']) => id)),
    templates: new Set(pairs.map(([, template = '']) => template)),
  };
}

export function isBenchmark(listed: ListedCase, known: BenchmarkDigests): boolean {
  const [id = '', template = ''] = benchmarkLine(listed).split(' ');
  return known.ids.has(id) || known.templates.has(template);
}

/** By the id alone: all that rows of another runner tell of a case. */
export function isBenchmarkId(id: string, known: BenchmarkDigests): boolean {
  return known.ids.has(shortDigest(id));
}

function shortDigest(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, DIGITS);
}

/** The line of a benchmark case in that file. */
export function benchmarkLine({ id, templateDigest }: Pick<ListedCase, 'id' | 'templateDigest'>): string {
  return `${shortDigest(id)} ${templateDigest.slice('sha256:'.length).slice(0, DIGITS)}`;
}
