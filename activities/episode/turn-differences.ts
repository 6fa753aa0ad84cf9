/** A trajectory's outputs through an interpreter, turn by turn, against what was read in them when they were sampled. */
import { configDiff } from '../../core/fingerprint.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Message, ToolSpec } from '../../core/message.js';
import { type ReadAgain, readAgain } from './read-again.js';
import type { Trajectory } from './trajectory.js';

/** The format before trajectories named theirs. */
const FIRST_FORMAT = 'qwen3_xml';

export interface TurnDifference {
  /** From 0. */
  readonly turn: number;
  /** `calls[0].arguments.order`, `content`, `reasoning`, `problems[1]` ... */
  readonly field: string;
  readonly recorded: string;
  readonly today: string;
}

export interface TurnsRead {
  /** By turn, where there was text to read; the others' policies write none. */
  readonly read: ReadonlyMap<number, ReadAgain>;
  readonly differences: readonly TurnDifference[];
}

export type AssistantAt = {
  readonly message: Extract<Message, { role: 'assistant' }>;
  readonly turn: number;
};

/** The format that a token policy's outputs are in; undefined for other policies. Throws `UsageError` for one that is not known today. */
export function formatOf({ tokens, reading }: Trajectory): OutputFormat | undefined {
  return tokens === null ? undefined : outputFormat(reading?.format ?? FIRST_FORMAT);
}

export function turnDifferences(
  trajectory: Trajectory,
  tools: readonly ToolSpec[],
  format: OutputFormat | undefined,
): TurnsRead {
  const read = new Map<number, ReadAgain>();
  const differences: TurnDifference[] = [];
  let first = 0;
  for (const { message, turn } of assistantTurns(trajectory)) {
    const { raw = '', problems = [] } = trajectory.turns[turn] ?? {};
    const again = readAgain(raw, format, tools, first);
    first += message.toolCalls.length;
    if (!again) continue;
    read.set(turn, again);
    const compare = (field: string, recorded: unknown, today: unknown) => {
      for (const { path, old = 'absent', new: now = 'absent' } of configDiff(recorded, today)) {
        differences.push({ turn, field: `${field}${path}`, recorded: old, today: now });
      }
    };
    compare('calls', message.toolCalls, again.message.toolCalls);
    compare('content', message.content, again.message.content);
    if (format) compare('reasoning', message.reasoning, again.message.reasoning);
    compare('problems', problems, again.problems);
  }
  return { read, differences };
}

/** The agent's own messages, one a turn; what a task's history put into its mouth comes before them. */
export function assistantTurns({
  messages,
  turns,
}: Pick<Trajectory, 'messages' | 'turns'>): readonly AssistantAt[] {
  const all = messages.filter((message) => message.role === 'assistant').filter(({ direct }) => !direct);
  const given = turns.length === 0 ? 0 : Math.max(0, all.length - turns.length);
  return all.slice(given).map((message, turn) => ({ message, turn }));
}
