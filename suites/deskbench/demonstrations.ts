/**
 * Noisy demonstrations for the base policy of the embedded trainer: training wordings and ids only, fresh parameters.
 *
 *   node dist/suites/deskbench/demonstrations.js --seed 1 --count 20000 --out demonstrations.jsonl
 *     [--rates '{"eager": 0.2}']   other slip rates than `noise.ts` has
 *     [--lexicon FILE]             also writes the closed lexicon as JSON
 *
 * One JSON object a line: `{taskTemplate, domain, tools, messages}`, messages in OpenAI's chat form. A few seconds for 20,000.
 */
import { closeSync, openSync, realpathSync, writeFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UsageError } from '../../core/faults.js';
import type { Json, Message } from '../../core/message.js';
import { Draw } from './draw.js';
import { LEXICON } from './lexicon.js';
import { DEFAULT_RATES, noisy, type SlipRates } from './noise.js';
import { playTask } from './play.js';
import { drawTask } from './scene.js';
import { SLIPS } from './script.js';
import { trainedTemplates } from './templates/all.js';
import { DOMAINS } from './world/domains.js';

export interface Demonstration {
  readonly taskTemplate: string;
  readonly domain: string;
  readonly tools: readonly string[];
  readonly messages: readonly Json[];
}

/** Demonstration number `n` of a seed: templates in turn, so that all are equally frequent. */
export function demonstrate(seed: string, n: number, rates: SlipRates = DEFAULT_RATES) {
  const template = trainedTemplates[n % trainedTemplates.length];
  if (!template) throw new Error('no template is trained on');
  const task = drawTask(template, 'train', Math.floor(n / trainedTemplates.length), `demonstration ${seed}`);
  const played = playTask(task, noisy(new Draw('train', `slips ${seed} ${n}`), rates));
  const demonstration: Demonstration = {
    taskTemplate: template.name,
    domain: template.domain,
    tools: DOMAINS[template.domain].map((tool) => tool.name),
    messages: played.messages.map(openAiMessage),
  };
  return { demonstration, passed: played.passed };
}

function openAiMessage(message: Message): Json {
  if (message.role === 'tool')
    return { role: 'tool', tool_call_id: message.callId, content: message.content };
  if (message.role !== 'assistant') return { role: message.role, content: message.content };
  const calls = message.toolCalls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return {
    role: 'assistant',
    reasoning_content: message.reasoning,
    content: message.content,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function ratesFrom(text: string | undefined): SlipRates {
  if (text === undefined) return DEFAULT_RATES;
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      '--rates',
      'a JSON object',
      `"${text}" (${error instanceof Error ? error.message : error})`,
    );
  }
  for (const [name, rate] of Object.entries(given ?? {})) {
    if (!Object.hasOwn(SLIPS, name))
      throw new UsageError('--rates', Object.keys(SLIPS).join(', '), `"${name}"`);
    if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) {
      throw new UsageError(`--rates ${name}`, 'a number from 0 to 1', JSON.stringify(rate));
    }
  }
  return { ...DEFAULT_RATES, ...(given as Partial<SlipRates>) };
}

function main(argv: readonly string[]): void {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string', default: '1' },
      count: { type: 'string' },
      out: { type: 'string' },
      rates: { type: 'string' },
      lexicon: { type: 'string' },
    },
  });
  if (values.out === undefined) throw new UsageError('--out', 'a file to write', 'nothing');
  const count = Number(values.count);
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new UsageError('--count', 'a whole number of demonstrations', `"${values.count ?? ''}"`);
  }
  const rates = ratesFrom(values.rates);
  if (values.lexicon !== undefined) writeFileSync(values.lexicon, `${JSON.stringify(LEXICON, null, 1)}\n`);
  const tally = new Map<string, { passed: number; all: number }>();
  const file = openSync(values.out, 'w');
  try {
    for (let n = 0; n < count; n++) {
      const { demonstration, passed } = demonstrate(values.seed, n, rates);
      writeSync(file, `${JSON.stringify(demonstration)}\n`);
      const seen = tally.get(demonstration.taskTemplate) ?? { passed: 0, all: 0 };
      tally.set(demonstration.taskTemplate, { passed: seen.passed + Number(passed), all: seen.all + 1 });
    }
  } finally {
    closeSync(file);
  }
  for (const [template, { passed, all }] of tally) {
    process.stderr.write(`${template.padEnd(12)} ${(passed / all).toFixed(2)} of ${all} succeed\n`);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
