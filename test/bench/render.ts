/**
 * `render`: what a turn costs as the conversation grows. The delta must cost the same at 100,000 tokens of context as
 * at 1,000, since nothing is tokenised twice; the request carries all ids, so its body grows, and is shown beside it.
 * With the tokenizer and template of Qwen 3.5.
 */
import { TokenBuffer } from '../../activities/policy/token-buffer.js';
import type { Message } from '../../core/message.js';
import { Renderer } from '../../core/render/renderer.js';
import { ownCpu } from '../../workers/plain-loop/cpu.js';
import { modelFiles } from '../render-parity/models.js';
import type { Bench, Figure } from './figure.js';
import { rounded } from './figure.js';

const SHORT = 1_000;
const LONG = 100_000;
/** A tool's result of about 400 tokens, another one each turn. */
const RESULT_ROWS = 12;
const TURNS = 20;
const ROUNDS = 15;
const BAR_RATIO = 1.25;

async function run(): Promise<readonly Figure[]> {
  const renderer = new Renderer(modelFiles('qwen3.5'));
  const system = Array.from({ length: 60 }, (_, i) => `Rule ${i}: the desk refunds what came broken .`).join(
    '\n',
  );
  const first = renderer.first({ systemMessages: [system], tools: [], messages: [result(0, 'user')] });
  const contexts = [SHORT, LONG];
  /** Milliseconds a turn; the best of several rounds on fresh buffers: whatever else runs on the machine only adds. */
  const best = (work: (buffer: TokenBuffer, turn: number) => void): readonly number[] => {
    const rounds = Array.from({ length: ROUNDS }, () =>
      contexts.map((tokens) => {
        const buffer = filled(first, tokens);
        return timed(() => {
          for (let turn = 0; turn < TURNS; turn++) work(buffer, turn);
        });
      }),
    );
    return contexts.map((_, i) => (1_000 * Math.min(...rounds.map((round) => round[i]!))) / TURNS);
  };
  let deltaTokens = 0;
  const [short = 0, long = 0] = best((buffer, turn) => {
    const delta = renderer.delta([result(turn, 'tool')], true);
    deltaTokens = delta.length;
    buffer.append(delta);
  });
  const copies = best((buffer) => void buffer.prompt());
  const bodies = best((buffer) => void JSON.stringify({ prompt: buffer.prompt() }));
  const ratio = long / short;
  const milliseconds = ([atShort = 0, atLong = 0]: readonly number[]) => ({
    [SHORT]: rounded(atShort, 3),
    [LONG]: rounded(atLong, 3),
  });
  return [
    {
      figure: 'CPU of a rendered delta at 100,000 tokens of context, relative to 1,000',
      bar: `≤ ${BAR_RATIO} times`,
      target: null,
      measured: rounded(ratio),
      unit: 'times',
      holds: ratio <= BAR_RATIO,
      details: {
        deltaTokens,
        deltaMs: milliseconds([short, long]),
        idsOfRequestMs: milliseconds(copies),
        idsAndJsonOfRequestMs: milliseconds(bodies),
        requestBytes: JSON.stringify({ prompt: filled(first, LONG).prompt() }).length,
      },
    },
  ];
}

/** A buffer of `tokens` ids: the first prompt, then its end again and again. */
function filled(first: readonly number[], tokens: number): TokenBuffer {
  const buffer = new TokenBuffer();
  buffer.append(first.slice(0, tokens));
  while (buffer.length < tokens) buffer.append(first.slice(0, tokens - buffer.length));
  return buffer;
}

function result(turn: number, role: 'user' | 'tool'): Message {
  const rows = Array.from({ length: RESULT_ROWS }, (_, row) => ({
    order: `r${turn}-${row}`,
    total: `$${turn * row}`,
    state: 'sent to the customer',
  }));
  const content = JSON.stringify(rows);
  return role === 'user'
    ? { role, content }
    : { role, callId: `c${turn}`, name: 'list_orders', content, isError: false };
}

function timed(work: () => void): number {
  const from = ownCpu();
  work();
  return ownCpu() - from;
}

export const renderBench: Bench = {
  name: 'render',
  about: 'a delta at 1,000 and at 100,000 tokens of context, some seconds',
  run,
};
