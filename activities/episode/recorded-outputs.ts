/** Model outputs in a JSON Lines file, with what was read in them, through today's interpreter. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { UsageError } from '../../core/faults.js';
import { configDiff } from '../../core/fingerprint.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import { outputLine, shown } from '../../core/interpret/output-line.js';
import { isObject, type ToolSpec } from '../../core/message.js';
import type { ParityCounts, ParityDifference } from './recorded-parity.js';

export interface RecordedOutput {
  readonly key: string;
  readonly input: string;
  readonly tools: readonly ToolSpec[];
  readonly format: string | undefined;
  /** Members among `reasoning`, `content` and `tool_calls`: those that are given are compared. */
  readonly expected: Readonly<Record<string, unknown>>;
}

const FIELDS = ['reasoning', 'content', 'tool_calls'] as const;

/**
 * Lines `{"input", "tools", "reasoning", "content", "tool_calls"}`: what `steadfast interpret` takes, beside what it
 * prints; or the latter under `expected`. Throws `UsageError` that names file and line.
 */
export async function checkOutputs(
  file: string,
  format: string,
  options: {
    readonly onDifference: (difference: ParityDifference) => void;
    readonly onEpisode?: (counts: ParityCounts) => void;
  },
): Promise<ParityCounts> {
  const counts: ParityCounts = {
    ...{ episodes: 0, turns: 0, read: 0, calls: 0, spans: 0, tokens: 0, differences: 0, unchecked: 0 },
  };
  let line = 0;
  const stream = createReadStream(file, 'utf8');
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const text of lines) {
      line += 1;
      if (text.trim() === '') continue;
      const { key, input, tools, format: own, expected } = outputOf(text, `${file}:${line}`, line);
      const { reasoning, content, calls } = outputFormat(own ?? format).interpret(input, tools);
      const found = { reasoning, content, tool_calls: calls };
      for (const name of FIELDS) {
        if (!(name in expected)) continue;
        for (const change of configDiff(expected[name], found[name])) {
          counts.differences += 1;
          const { path, old = 'absent', new: now = 'absent' } = change;
          options.onDifference({ key, turn: null, field: `${name}${path}`, expected: old, found: now });
        }
      }
      counts.turns += 1;
      counts.read += 1;
      counts.calls += calls.length;
      options.onEpisode?.(counts);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'EACCES')
      throw new UsageError('--file', 'a file of JSON Lines that can be read', `${file} (${code})`);
    throw error;
  } finally {
    stream.destroy();
  }
  return counts;
}

function outputOf(text: string, place: string, line: number): RecordedOutput {
  const { input, tools, format, value } = outputLine(text, place);
  const { key, expected = value } = value;
  if (!isObject(expected) || !FIELDS.some((name) => name in expected))
    throw new UsageError(place, `at least one of ${FIELDS.join(', ')}`, shown(Object.keys(value)));
  return { key: typeof key === 'string' ? key : `line ${line}`, input, tools, format, expected };
}
