/**
 * `interpret`: reading model output. 10,000 outputs of typical size (a few sentences of reasoning, one or two calls
 * with typed arguments), each with the tools of a desk; and that the time grows as the text does: hostile texts of 1 MB
 * against the same of 50 kB. Each reading gets a text of its own: V8 remembers what it has found in a string.
 */
import { outputFormat } from '../../core/interpret/interpret.js';
import type { ToolSpec } from '../../core/message.js';
import { DOMAINS } from '../../suites/deskbench/world/domains.js';
import { argumentSchema } from '../../suites/deskbench/world/tool.js';
import { ownCpu } from '../../workers/plain-loop/cpu.js';
import { HOSTILE_NAMES, hostileText, UNCLOSED_NAMES } from '../fuzz/hostile-texts.js';
import type { Bench, Figure } from './figure.js';
import { rounded } from './figure.js';

const OUTPUTS = 10_000;
const BAR_SECONDS = 1;
const LONG_BYTES = 1_000_000;
const SHORT_BYTES = 50_000;
const ROUNDS = 7;
const BAR_RATIO = 20;
/** For texts that leave much behind (a call for each 24 characters): the collector's share grows with the text. */
const BAR_RATIO_ALL = 25;
/** What takes less at 50 kB is passed over so fast that the clock decides. */
const CLOCK_MS = 0.01;
const FORMATS = ['qwen3_xml', 'hermes'];
/** A parameter that all of the hostile texts fill may be anything that a reader has to look at closely. */
const ANYTHING: ToolSpec = {
  name: 'f',
  inputSchema: { properties: { p: { type: ['integer', 'number', 'object', 'null'] } } },
};
const desks = Object.values(DOMAINS).map((tools) =>
  tools.map((tool): ToolSpec => ({ name: tool.name, inputSchema: argumentSchema(tool) })),
);

async function run(): Promise<readonly Figure[]> {
  const format = outputFormat('qwen3_xml');
  const outputs = Array.from({ length: OUTPUTS }, (_, index) => typicalOutput(index));
  const bytes = outputs.reduce((sum, { input }) => sum + input.length, 0);
  let calls = 0;
  const seconds = timed(() => {
    for (const { input, tools } of outputs) calls += format.interpret(input, tools).calls.length;
  });
  if (calls < OUTPUTS)
    throw new Error(`expected a call in each of ${OUTPUTS} outputs, found ${calls} in all`);

  const ratios = FORMATS.flatMap((name) => HOSTILE_NAMES.map((text) => growth(name, text)));
  const unclosed = ratios.filter(({ text }) => UNCLOSED_NAMES.some((name) => text.endsWith(`: ${name}`)));
  return [
    {
      figure: 'CPU to interpret 10,000 typical outputs',
      bar: `< ${BAR_SECONDS} CPU-second`,
      target: null,
      measured: rounded(seconds, 3),
      unit: 's',
      holds: seconds < BAR_SECONDS,
      details: { outputs: OUTPUTS, calls, meanCharacters: Math.round(bytes / OUTPUTS) },
    },
    ratioFigure('time for 1 MB of unclosed tags or angles', unclosed, BAR_RATIO),
    ratioFigure('time for 1 MB of any hostile text', ratios, BAR_RATIO_ALL),
  ];
}

interface Growth {
  readonly text: string;
  readonly longMs: number;
  readonly shortMs: number;
  readonly ratio: number;
}

function ratioFigure(what: string, texts: readonly Growth[], bar: number): Figure {
  const worst = texts
    .filter(({ shortMs }) => shortMs >= CLOCK_MS)
    .toSorted((a, b) => b.ratio - a.ratio)
    .slice(0, 10);
  // Twenty times the text cannot take less than twenty times: what is behind the point is the clock's.
  const measured = Math.round(worst[0]!.ratio);
  return {
    figure: `${what}, relative to 50 kB, the worst of ${texts.length}`,
    bar: `≤ ${bar} times`,
    target: null,
    measured,
    unit: 'times',
    holds: measured <= bar,
    details: { worst: worst.map((text) => ({ ...text, ratio: rounded(text.ratio, 1) })) },
  };
}

/** The best of several, short and long in turn: whatever else runs on the machine only adds. */
function growth(format: string, name: string): Growth {
  let short = Number.POSITIVE_INFINITY;
  let long = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    short = Math.min(short, perText(format, ownTexts(hostileText(name, SHORT_BYTES), 40)));
    long = Math.min(long, perText(format, ownTexts(hostileText(name, LONG_BYTES), 2)));
  }
  return {
    text: `${format}: ${name}`,
    longMs: rounded(1_000 * long, 3),
    shortMs: rounded(1_000 * short, 3),
    ratio: long / short,
  };
}

function perText(format: string, texts: readonly string[]): number {
  const reader = outputFormat(format);
  const seconds = timed(() => {
    for (const text of texts) reader.interpret(text, [ANYTHING]);
  });
  return seconds / texts.length;
}

/** Copies that differ at the end, flat in memory and as narrow as a decoder leaves them. */
function ownTexts(text: string, count: number): readonly string[] {
  const encoding = /[^\0-\xFF]/.test(text) ? 'utf16le' : 'latin1';
  return Array.from({ length: count }, (_, index) =>
    Buffer.from(`${text} ${index}`, encoding).toString(encoding),
  );
}

function timed(work: () => void): number {
  const from = ownCpu();
  work();
  return ownCpu() - from;
}

function typicalOutput(index: number): { readonly input: string; readonly tools: readonly ToolSpec[] } {
  const tools = desks[index % desks.length]!;
  const reasoning =
    'the customer asks for a change of the order and the rule of the desk must hold . '.repeat(
      2 + (index % 5),
    );
  const calls = Array.from({ length: 1 + (index % 2) }, (_, at) =>
    callOf(tools[(index + at) % tools.length]!, index),
  );
  return { input: `${reasoning}\n</think>\n\n${calls.join('\n')}`, tools };
}

function callOf({ name, inputSchema }: ToolSpec, index: number): string {
  const names = Object.keys((inputSchema.properties ?? {}) as Record<string, unknown>);
  const parameters = names.map((parameter) => `<parameter=${parameter}>\nr${index} and more\n</parameter>\n`);
  return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`;
}

export const interpretBench: Bench = {
  name: 'interpret',
  about: '10,000 model outputs through the interpreter, some seconds',
  run,
};
