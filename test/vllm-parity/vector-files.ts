/** The vectors of test/interpret/vectors: written by hand, answered by vLLM. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../infra/setup/root.mjs';
import type { Output } from '../fuzz/outputs.js';
import type { WireTool } from '../fuzz/tools.js';
import type { Answer } from './compare.js';
import { answers, type Engine, VLLM_VERSION } from './engine.js';

const FOLDER = path.join(ROOT, 'test', 'interpret', 'vectors');

/** `vllm`: its answer. `expected`: ours, where it is not vLLM's, with the reason in `why`. */
export interface Vector {
  readonly name: string;
  readonly input: string;
  readonly tools?: readonly WireTool[];
  readonly vllm?: Answer;
  readonly expected?: unknown;
  readonly why?: string;
}

interface VectorFile {
  readonly note: string;
  readonly format: Output['format'];
  readonly tools: readonly WireTool[];
  readonly cases: readonly Vector[];
}

export function vectorFiles(): readonly (readonly [string, VectorFile])[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => [name, JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as VectorFile]);
}

function outputsOf({ format, tools, cases }: VectorFile): Output[] {
  return cases.map(({ input, tools: own }) => ({ format, kind: 'vector', input, tools: own ?? tools }));
}

export function vectorOutputs(): readonly Output[] {
  return vectorFiles().flatMap(([, file]) => outputsOf(file));
}

/** Writes vLLM's answer into each vector; what we expect besides is left as it is. */
export async function recordVectors(engine: Engine, say: (line: string) => void): Promise<void> {
  for (const [name, file] of vectorFiles()) {
    const replies = await answers(engine, outputsOf(file));
    const cases = file.cases.map(({ name, input, tools, expected, why }, index) => ({
      name,
      input,
      ...(tools ? { tools } : {}),
      vllm: replies[index]!,
      ...(expected === undefined ? {} : { expected }),
      ...(why === undefined ? {} : { why }),
    }));
    writeFileSync(path.join(FOLDER, name), `${JSON.stringify({ ...file, cases }, null, 2)}\n`);
    say(`${name}: ${cases.length} answers of vLLM ${VLLM_VERSION}`);
  }
}
