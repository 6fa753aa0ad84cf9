/**
 * Result rows that reproduce the counts of the published before/after table: 507 tasks × 20 attempts in five domains.
 *
 *   before   38 tasks at 20/20, 453 at least once, 5,242 successes, $925.80
 *   after   107 tasks at 20/20, 446 at least once, 6,163 successes, $855.58
 *
 * 80 tasks become dependable and 11 are it no more. Which tasks those are, and how the other successes spread, is drawn.
 */
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomStream } from '../../core/random.js';

export const REPEAT = 20;

/** Scenario and its number of cases. */
const SCENARIOS = [
  ['sandbox_external_retail', 98],
  ['external_booking_v1', 104],
  ['sandbox_auto_insurance', 100],
  ['sandbox_neobank_support_v1', 104],
  ['sandbox_consulting', 101],
] as const;

interface Task {
  readonly scenario: string;
  readonly file: string;
  readonly name: string;
}

const TASKS: readonly Task[] = SCENARIOS.flatMap(([scenario, cases]) =>
  Array.from({ length: cases }, (_, index) => {
    const number = String(index + 1).padStart(3, '0');
    return { scenario, file: `${scenario}_${number}.py`, name: `test_case_${number}` };
  }),
);

export const PRICE = { promptPerMillion: 0.4, sampledPerMillion: 1.6 };

interface Side {
  readonly whole: number;
  readonly once: number;
  readonly successes: number;
  readonly promptTokens: number;
  readonly dollars: number;
}

const SIDES: Readonly<Record<'before' | 'after', Side>> = {
  before: { whole: 38, once: 453, successes: 5242, promptTokens: 180_000, dollars: 925.8 },
  after: { whole: 107, once: 446, successes: 6163, promptTokens: 165_000, dollars: 855.58 },
};
const LOST = 11;

/** Writes the rows, the list of tests and the prices; returns the paths. `padding`: about so many characters more in each row. */
export async function writePaper(
  folder: string,
  padding = 0,
): Promise<{ before: string; after: string; tests: string; prices: string }> {
  const tests = join(folder, 'tests.json');
  const prices = join(folder, 'prices.json');
  await writeFile(tests, JSON.stringify(TASKS.map(({ file, name }) => `${file}:${name}`)));
  await writeFile(prices, JSON.stringify({ before: PRICE, after: PRICE }));
  const files = { before: join(folder, 'before.jsonl'), after: join(folder, 'after.jsonl') };
  for (const side of ['before', 'after'] as const) await writeRows(files[side], side, padding);
  return { ...files, tests, prices };
}

export async function writeRows(file: string, side: 'before' | 'after', padding: number): Promise<void> {
  await pipeline(Readable.from(rows(side, padding)), createWriteStream(file));
}

/** passes[task], from 0 to 20, by the counts of the side. */
function passes(side: 'before' | 'after'): readonly number[] {
  const { whole, once, successes } = SIDES[side];
  const order = shuffled(TASKS.length, 'order');
  // The strongest tasks come first; after training some of the first are lost and others take their place.
  const ranked = side === 'before' ? order : [...order.slice(LOST), ...order.slice(0, LOST)];
  const random = randomStream('paper', side);
  const partial = Array.from({ length: once - whole }, () => 1 + random.below(REPEAT - 1));
  const wanted = successes - whole * REPEAT;
  for (let sum = partial.reduce((a, b) => a + b, 0); sum !== wanted; ) {
    const at = random.below(partial.length);
    const next = (partial[at] as number) + Math.sign(wanted - sum);
    if (next < 1 || next >= REPEAT) continue;
    partial[at] = next;
    sum += Math.sign(wanted - sum);
  }
  // Tasks that are lost keep most of their successes.
  partial.sort((a, b) => b - a);
  const all = new Array<number>(TASKS.length).fill(0);
  const lost = side === 'after' ? ranked.slice(-LOST) : [];
  const rest = side === 'after' ? ranked.slice(0, -LOST) : ranked;
  for (const task of rest.slice(0, whole)) all[task] = REPEAT;
  for (const [index, task] of [...lost, ...rest.slice(whole)].slice(0, partial.length).entries()) {
    all[task] = partial[index] as number;
  }
  return all;
}

function shuffled(count: number, name: string): number[] {
  const random = randomStream('paper', name);
  const order = Array.from({ length: count }, (_, index) => index);
  for (let at = count - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
  return order;
}

function* rows(side: 'before' | 'after', padding: number): Generator<string> {
  const { promptTokens, dollars } = SIDES[side];
  const attempts = TASKS.length * REPEAT;
  const prompt = promptTokens * attempts * PRICE.promptPerMillion;
  const sampled = Math.round((dollars * 1e6 - prompt) / PRICE.sampledPerMillion);
  const counts = passes(side);
  let ordinal = 0;
  for (const [index, task] of TASKS.entries()) {
    let block = '';
    for (let repetition = 0; repetition < REPEAT; repetition++) {
      // Spread over the repetitions, otherwise for every task.
      const passed = (repetition * 7 + index) % REPEAT < (counts[index] as number);
      const output = Math.floor(sampled / attempts) + (ordinal < sampled % attempts ? 1 : 0);
      block += `${JSON.stringify(row(task, repetition, passed, { input: promptTokens, output }, padding))}\n`;
      ordinal += 1;
    }
    yield block;
  }
}

function row(
  { scenario, file, name }: Task,
  repetition: number,
  passed: boolean,
  tokens: { readonly input: number; readonly output: number },
  padding: number,
): object {
  const failedCall = repetition % 5 === 0;
  const call = {
    T: 'ToolCall',
    metadata: {},
    name: 'find_order',
    arguments: { id: `A-${repetition}` },
    id: 'c1',
  };
  const answer = failedCall
    ? "Error: order 'A-0' is unknown"
    : '{"status": "ok", "order": {"state": "open"}}';
  const filler = padding > 0 ? fillerOf(padding) : [];
  return {
    uid: name,
    messages: [
      ...filler,
      text('system', 'You help customers.'),
      text('user', 'Please refund my last order.'),
      text('assistant', 'I look it up first.', { tag: 'think' }),
      { T: 'ParallelToolCall', metadata: {}, tool_calls: [call] },
      { T: 'ToolResponse', metadata: {}, name: 'find_order', content: answer, id: 'c1' },
      text('assistant', passed ? 'It is refunded. <DONE>' : 'I cannot do that. <DONE>'),
    ],
    test_result: passed
      ? { result: true, reward: 1, is_system_error: false, tb: '', metadata: {} }
      : {
          result: false,
          reward: 0,
          is_system_error: false,
          tb: 'Traceback (most recent call last):\nAssertionError: the refund is missing',
          lineno: 12,
          line_content: 'assert refunds == expected',
          metadata: {},
        },
    usage: [{ input_tokens: tokens.input, output_tokens: tokens.output, total_tokens: null }],
    metadata: {
      scenario,
      agent: 'think',
      test_case_file: `/data/dataset/test_case/${file}`,
      test_case_name: name,
      repetition,
      execution_time: 20 + ((repetition * 13) % 40),
    },
    is_system_error: false,
    finish_reason: repetition % 10 === 9 && !passed ? 'agent_limit' : 'done',
  };
}

/** Answers of a tool as they come: JSON inside a text, with quotes, line ends and letters beyond ASCII. */
function fillerOf(characters: number): readonly object[] {
  const known = fillers.get(characters);
  if (known) return known;
  const orders = Array.from({ length: 12 }, (_, index) => ({
    id: `A-${index}`,
    note: 'née "Çelik"\n– paid',
  }));
  const content = JSON.stringify({ status: 'ok', orders }, null, 1);
  const answer = { T: 'ToolResponse', metadata: {}, name: 'list_orders', content, id: 'c0' };
  const count = Math.ceil(characters / JSON.stringify(answer).length);
  const filler = new Array<object>(count).fill(answer);
  fillers.set(characters, filler);
  return filler;
}

const fillers = new Map<number, readonly object[]>();

function text(role: string, content: string, metadata: object = {}): object {
  return { T: 'Text', metadata, role, content };
}
