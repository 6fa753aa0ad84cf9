/**
 * The exact tokens of a recorded episode against today's renderer: the first prompt, every delta between two sampled
 * turns, and the text of what was sampled. Sampled ids are taken as they are; nothing of them is tokenised again.
 */
import type { Message, ToolSpec } from '../../core/message.js';
import type { EpisodeTokens } from '../../core/policy.js';
import type { Renderer } from '../../core/render/renderer.js';
import { firstDifference, shownTokens } from '../policy/token-text.js';
import type { Trajectory } from './trajectory.js';
import { assistantTurns, type TurnDifference } from './turn-differences.js';

export interface BufferChecked {
  /** Prompts and deltas that were rendered again. */
  readonly spans: number;
  readonly tokens: number;
  readonly differences: readonly TurnDifference[];
}

type Recorded = Pick<Trajectory, 'messages' | 'turns'>;

export function bufferDifferences(
  { messages, turns }: Recorded,
  buffer: EpisodeTokens,
  renderer: Renderer,
  tools: readonly ToolSpec[],
): BufferChecked {
  const systemMessages = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
  const differences: TurnDifference[] = [];
  let [spans, tokens, at, turn] = [0, 0, 0, 0];
  let ended = true;
  let observations: Message[] = [];
  const own = new Set<Message>(assistantTurns({ messages, turns }).map(({ message }) => message));
  for (const message of messages) {
    if (message.role === 'system') continue;
    if (message.role !== 'assistant' || !own.has(message)) {
      observations.push(message);
      continue;
    }
    const record = turns[turn];
    if (!record) break;
    const found = (field: string, recorded: string, today: string) =>
      differences.push({ turn, field, recorded, today });
    const end = record.promptTokens + record.sampledTokens;
    const span = buffer.ids.subarray(at, record.promptTokens);
    const prompt = { systemMessages, tools, messages: observations };
    const field = turn === 0 ? 'first prompt' : 'delta';
    const today = rendered(() => (turn === 0 ? renderer.first(prompt) : renderer.delta(observations, ended)));
    if (typeof today === 'string') found(field, `${span.length} tokens`, today);
    else {
      const place = firstDifference(span, today);
      if (place >= 0) {
        found(
          `${field}, token ${at + place}`,
          shownTokens(renderer.tokens, span, place),
          shownTokens(renderer.tokens, today, place),
        );
      }
    }
    const flags = buffer.sampled.subarray(at, end);
    const wrong = flags.findIndex((flag, index) => flag !== (at + index < record.promptTokens ? 0 : 1));
    if (wrong >= 0 || end > buffer.ids.length) {
      found(
        'token record',
        `sampled tokens from ${record.promptTokens} to ${end}`,
        whatIsSampled(buffer, at),
      );
    }
    const sampled = buffer.ids.subarray(record.promptTokens, end);
    const text = renderer.tokens.decode([...sampled]);
    if (text !== record.raw) found('raw', JSON.stringify(record.raw), JSON.stringify(text));
    ended = renderer.stopIds.includes(sampled.at(-1) ?? -1);
    [spans, tokens, at, turn] = [spans + 1, tokens + span.length + sampled.length, end, turn + 1];
    observations = [];
  }
  // A turn that came to nothing may have left its delta; what was sampled belongs to a turn.
  if (buffer.sampled.subarray(at).includes(1)) {
    const today = whatIsSampled(buffer, at);
    differences.push({ turn, field: 'token record', recorded: `${turn} turns, ${at} tokens`, today });
  }
  return { spans, tokens, differences };
}

/** Ids, or what today's template or tokenizer has against it. */
function rendered(render: () => readonly number[]): readonly number[] | string {
  try {
    return render();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function whatIsSampled({ sampled, ids }: EpisodeTokens, from: number): string {
  const first = sampled.indexOf(1, from);
  if (first < 0) return `no sampled token from ${from} on, of ${ids.length}`;
  const end = sampled.indexOf(0, first);
  return `sampled tokens from ${first} to ${end < 0 ? ids.length : end}, of ${ids.length}`;
}
