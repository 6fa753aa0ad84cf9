/** `steadfast interpret`: model output as JSON Lines in, what the agent loop reads in it as JSON Lines out. */
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import { outputFormat } from '../core/interpret/interpret.js';
import { print } from './output.js';

export function registerInterpret(program: Command): void {
  program
    .command('interpret')
    .description(
      'Read {"input", "tools"} lines on standard input; write {"reasoning", "content", "tool_calls"} lines.',
    )
    .option('--format <name>', 'output format of the model', 'qwen3_xml')
    .addHelpText('after', '\nExample:\n  $ steadfast interpret < outputs.jsonl\n')
    .action(async (options: { format: string }) => {
      const format = outputFormat(options.format);
      let line = 0;
      for await (const text of createInterface({
        input: process.stdin,
        crlfDelay: Number.POSITIVE_INFINITY,
      })) {
        line++;
        if (text.trim() === '') continue;
        const { input, tools } = parseLine(text, line);
        const { reasoning, content, calls } = format.interpret(input, tools);
        print(
          JSON.stringify({
            reasoning,
            content,
            tool_calls: calls,
          }),
        );
      }
    });
}

type Tools = Parameters<ReturnType<typeof outputFormat>['interpret']>[1];

/** Tools come in MCP's form (`inputSchema`) or OpenAI's (`{type: "function", function: {parameters}}`). */
function parseLine(text: string, line: number): { input: string; tools: Tools } {
  const place = `standard input, line ${line}`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(place, 'a JSON object', (error as Error).message);
  }
  const { input, tools = [] } = (value ?? {}) as { input?: unknown; tools?: unknown };
  if (typeof input !== 'string')
    throw new UsageError(`${place}, input`, 'a string', JSON.stringify(input) ?? 'nothing');
  if (!Array.isArray(tools))
    throw new UsageError(`${place}, tools`, 'a list of tools', JSON.stringify(tools));
  return { input, tools: tools.map((tool, index) => toolOf(tool, `${place}, tool ${index + 1}`)) as Tools };
}

function toolOf(value: unknown, place: string): unknown {
  const tool = value as {
    function?: { name?: unknown; parameters?: unknown };
    name?: unknown;
    inputSchema?: unknown;
  };
  const name = tool?.function?.name ?? tool?.name;
  if (typeof name !== 'string') throw new UsageError(place, 'a tool with a name', JSON.stringify(value));
  return { name, inputSchema: tool.function?.parameters ?? tool.inputSchema ?? {} };
}
