/** `steadfast interpret`: model output as JSON Lines in, what the agent loop reads in it as JSON Lines out. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { problemText } from '../core/interpret/format.js';
import { FORMAT_NAMES, outputFormat } from '../core/interpret/interpret.js';
import { outputLine } from '../core/interpret/output-line.js';

interface InterpretOptions {
  readonly format: string;
  readonly problems?: boolean;
}

export function registerInterpret(program: Command): void {
  program
    .command('interpret')
    .description(
      'Read {"input", "tools"} lines on standard input; write {"reasoning", "content", "tool_calls"} lines.',
    )
    .option(
      '--format <name>',
      `output format of lines that name none: ${FORMAT_NAMES.join(', ')}`,
      'qwen3_xml',
    )
    .option(
      '--problems',
      'add "problems": what could not be read, each with the sentence that the model is told',
    )
    .addHelpText(
      'after',
      `
One line out for each line in, in order. A line may hold "format"; tools come in MCP's form ({"name", "inputSchema"})
or OpenAI's ({"type": "function", "function": {...}}). A line that cannot be read ends the command with exit code 2,
its number, and what was expected.

Examples:
  $ steadfast interpret < outputs.jsonl > read.jsonl
  $ echo '{"input": "hm</think>Hello <DONE>"}' | steadfast interpret
  $ steadfast interpret --format hermes --problems < outputs.jsonl
`,
    )
    .action(async (options: InterpretOptions) => {
      // Before anything is read: a name that nobody knows.
      outputFormat(options.format);
      let line = 0;
      const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
      for await (const text of lines) {
        line += 1;
        if (text.trim() === '') continue;
        // A slow reader is waited for, so that a file of any length needs the memory of its longest line.
        if (!process.stdout.write(`${readLine(text, `standard input, line ${line}`, options)}\n`))
          await once(process.stdout, 'drain');
      }
    });
}

function readLine(text: string, place: string, options: InterpretOptions): string {
  const { input, tools, format } = outputLine(text, place);
  const { reasoning, content, calls, problems } = outputFormat(
    format ?? options.format,
    `${place}, format`,
  ).interpret(input, tools);
  const told = problems.map((problem) => ({ ...problem, message: problemText(problem) }));
  return JSON.stringify({
    reasoning,
    content,
    tool_calls: calls,
    ...(options.problems ? { problems: told } : {}),
  });
}
