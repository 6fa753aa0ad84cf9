/**
 * The serving engine's own answers: `../shared/vectors/interpret.json` beside the repository, and our own vectors,
 * answered by vLLM's parsers (`npm run compare:vllm -- --record`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { JsonObject } from '../../core/message.js';
import type { WireTool } from '../fuzz/tools.js';
import { specs, stripped } from '../vllm-parity/compare.js';
import { vectorFiles } from '../vllm-parity/vector-files.js';

interface SharedVectors {
  readonly tools: readonly WireTool[];
  readonly cases: readonly {
    readonly name: string;
    readonly input: string;
    readonly tools?: readonly WireTool[];
    readonly expected: {
      readonly reasoning: string;
      readonly content: string;
      readonly tool_calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
    };
  }[];
}

const path = fileURLToPath(new URL('../../../shared/vectors/interpret.json', import.meta.url));
const shared: SharedVectors = existsSync(path)
  ? (JSON.parse(readFileSync(path, 'utf8')) as SharedVectors)
  : { tools: [], cases: [] };

function read(format: string, input: string, tools: readonly WireTool[]): unknown {
  const { reasoning, content, calls } = outputFormat(format).interpret(input, specs(tools));
  const tool_calls = calls.map(({ name, arguments: values, argumentsText }) => {
    // The text is there for numbers that JavaScript writes otherwise, and says nothing else.
    if (argumentsText !== undefined) expect(JSON.parse(argumentsText)).toEqual(values);
    return { name, arguments: values };
  });
  // As JSON: -0 is 0.
  return JSON.parse(JSON.stringify({ reasoning, content, tool_calls }));
}

describe.skipIf(shared.cases.length === 0)('vectors of the serving engine (needs ../shared/vectors)', () => {
  test.each(shared.cases.map((c) => [c.name, c] as const))('%s', (_name, { input, tools, expected }) => {
    expect(read('qwen3_xml', input, tools ?? shared.tools)).toEqual(expected);
  });
});

describe.each(vectorFiles())('%s', (_file, { format, tools, cases }) => {
  test.each(cases.map((one) => [one.name, one] as const))('%s', (_name, { input, tools: own, ...vector }) => {
    if (!vector.vllm || 'crash' in vector.vllm) throw new Error('no answer of vLLM is recorded');
    const theirs = JSON.parse(JSON.stringify(stripped(vector.vllm)));
    expect(read(format, input, own ?? tools)).toEqual(vector.expected ?? theirs);
    // A difference on purpose has a reason, and is one.
    if (vector.expected !== undefined) {
      expect(vector.why).toBeTruthy();
      expect(vector.expected).not.toEqual(theirs);
    }
  });
});
