/** The serving engine's own answers: `../shared/vectors/interpret.json`, beside the repository. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { JsonObject, ToolSpec } from '../../core/message.js';

interface WireTool {
  readonly function: { readonly name: string; readonly parameters?: JsonObject };
}
interface Vectors {
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
const vectors: Vectors = existsSync(path)
  ? (JSON.parse(readFileSync(path, 'utf8')) as Vectors)
  : { tools: [], cases: [] };

function specs(tools: readonly WireTool[]): ToolSpec[] {
  return tools.map((tool) => ({ name: tool.function.name, inputSchema: tool.function.parameters ?? {} }));
}

describe.skipIf(vectors.cases.length === 0)('vectors of the serving engine (needs ../shared/vectors)', () => {
  test.each(vectors.cases.map((c) => [c.name, c] as const))('%s', (_name, { input, tools, expected }) => {
    const read = outputFormat('qwen3_xml').interpret(input, specs(tools ?? vectors.tools));
    expect({ reasoning: read.reasoning, content: read.content, tool_calls: read.calls }).toEqual(expected);
  });
});
