/** `steadfast interpret` as a program: lines in, lines out, and a name for the line that cannot be read. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { outputLine } from '../../core/interpret/output-line.js';

const program = fileURLToPath(new URL('../../cli/steadfast.mjs', import.meta.url));

async function interpret(input: string, ...options: string[]) {
  const child = spawn(process.execPath, [program, 'interpret', ...options]);
  const heard = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    heard.err += text;
  });
  // The program may end before it has read everything.
  child.stdin.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  child.stdin.end(input);
  const code = await new Promise((done) => child.once('close', done));
  return { code, ...heard, lines: heard.out.split('\n').slice(0, -1) };
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const parameters = { type: 'object', properties: { n: { type: 'integer' } } };
const call = (text: string): string => `r</think><function=f><parameter=n>${text}</parameter></function>`;

describe('lines', () => {
  test('one out for one in, with tools in both forms, formats by line, blank lines passed over', async () => {
    const mcp = [{ name: 'f', inputSchema: parameters }];
    const openai = [{ type: 'function', function: { name: 'f', parameters } }];
    const json = '<tool_call>{"name": "f", "arguments": {"n": 5}}</tool_call>';
    const { code, lines, err } = await interpret(
      `\uFEFF${line({ input: call('5'), tools: mcp })}\r\n${line({ input: call('5'), tools: openai })}   \n${line({ input: call('5') })}${line({ input: `r</think>${json}`, format: 'hermes' })}`,
    );
    expect({ code, err }).toMatchObject({ code: 0 });
    const reply = (n: number | string) => ({
      reasoning: 'r',
      content: '',
      tool_calls: [{ name: 'f', arguments: { n } }],
    });
    expect(lines.map((text) => JSON.parse(text))).toEqual([reply(5), reply(5), reply('5'), reply(5)]);
  });

  test('with --problems, what could not be read, and the words for it', async () => {
    const tools = [{ name: 'f', inputSchema: parameters }];
    const { lines } = await interpret(line({ input: call('9007199254740993'), tools }), '--problems');
    const [problem] = JSON.parse(lines[0]!).problems;
    expect(problem).toMatchObject({ kind: 'integer_range', parameter: 'n' });
    expect(problem.message).toContain('9007199254740993');
  });

  test('lines of many megabytes', async () => {
    const long = line({ input: `r</think>${'x'.repeat(8_000_000)}` });
    const { code, lines } = await interpret(long.repeat(3));
    expect({ code, lengths: lines.map((text) => JSON.parse(text).content.length) }).toEqual({
      code: 0,
      lengths: [8_000_000, 8_000_000, 8_000_000],
    });
  });
});

test('a line that cannot be read ends it, after what came before', async () => {
  const input = `${line({ input: 'x' })}{"input": 5}\n${line({ input: 'x' })}`;
  const { code, lines, err } = await interpret(input);
  expect({ code, lines: lines.length }).toEqual({ code: 2, lines: 1 });
  expect(err).toContain('steadfast: standard input, line 2, input: expected a string, found 5\n');
});

test.each([
  ['{"input": ', 'here: expected a JSON object, found Un'],
  ['[1]', 'here: expected a JSON object, found [1]'],
  ['null', 'here: expected a JSON object, found null'],
  ['{}', 'here, input: expected a string, found nothing'],
  ['{"input": "x", "tools": {}}', 'here, tools: expected a list of tools, found {}'],
  ['{"input": "x", "tools": [{"name": "f"}, {}]}', 'here, tool 2: expected a tool with a name, found {}'],
  ['{"input": "x", "tools": [null]}', 'here, tool 1: expected a tool with a name, found null'],
  ['{"input": "x", "format": 1}', 'here, format: expected the name of a format, found 1'],
])('%s is refused with its place', (text, words) => {
  expect(() => outputLine(text, 'here')).toThrow(words);
});
