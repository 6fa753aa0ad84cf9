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

/** The line of a benchmark case in that file. */
export function benchmarkLine({ id, templateDigest }: Pick<ListedCase, 'id' | 'templateDigest'>): string {
  const idDigest = createHash('sha256').update(id).digest('hex');
  return `${idDigest.slice(0, DIGITS)} ${templateDigest.slice('sha256:'.length).slice(0, DIGITS)}`;
}
