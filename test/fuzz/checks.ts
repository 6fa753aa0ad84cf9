/** What must hold for every text, each as a check that throws. `index` names the input: the same one draws it again. */
import assert from 'node:assert/strict';
import { problemText } from '../../core/interpret/format.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import { stripped } from '../../core/interpret/python-text.js';
import { schemaTypes } from '../../core/interpret/schema-types.js';
import { typedValue } from '../../core/interpret/typed-value.js';
import type { Json, JsonObject } from '../../core/message.js';
import { randomStream } from '../../core/random.js';
import { specs } from '../vllm-parity/compare.js';
import { hostile, output, pick } from './outputs.js';
import { randomSchema } from './schemas.js';
import { valueText } from './values.js';
import { writeTurn } from './writer.js';

export interface Check {
  readonly name: string;
  /** The input as JSON, for the reproducer. */
  readonly draw: (seed: string, index: number) => Json;
  /** Throws when the input breaks a promise. */
  readonly holds: (input: Json) => void;
}

/** Reading never throws, says the same twice, and says it in JSON that can be written and read again. */
const reading: Check = {
  name: 'reading',
  draw: (seed, index) => output(seed, index) as unknown as Json,
  holds: (input) => {
    const { format, input: text, tools } = input as unknown as ReturnType<typeof output>;
    const read = outputFormat(format).interpret(text, specs(tools));
    assert.deepEqual(outputFormat(format).interpret(text, specs(tools)), read);
    assert.deepEqual(JSON.parse(JSON.stringify(read)), withoutMinusZero(read as unknown as Json));
    assert.equal(stripped(read.content), read.content);
    assert.equal(stripped(read.reasoning), read.reasoning);
    for (const problem of read.problems) {
      assert.notEqual(problemText(problem), '');
      if ('call' in problem) assert.ok(read.calls[problem.call], 'a problem of a call that is not there');
    }
  },
};

/** Calls that were read are read again when they are written as the family writes them. */
const writing: Check = {
  name: 'writing',
  draw: reading.draw,
  holds: (input) => {
    const { format, input: text, tools } = input as unknown as ReturnType<typeof output>;
    const read = outputFormat(format).interpret(text, specs(tools));
    const plain = { reasoning: 'r', content: 'c', calls: read.calls.filter(writable) };
    // Without tools every value is text, whatever it holds.
    const again = outputFormat(format).interpret(writeTurn(format, plain), []);
    const texts = (values: JsonObject): Json =>
      format.startsWith('qwen3_xml')
        ? Object.fromEntries(
            Object.entries(values).map(([key, value]) => [
              key,
              typeof value === 'string' ? value : JSON.stringify(value),
            ]),
          )
        : withoutMinusZero(values);
    assert.deepEqual(
      again.calls,
      plain.calls.map(({ name, arguments: values }) => ({ name, arguments: texts(values) })),
    );
  },
};

/** A value has a type that the schema allows, or is the text, or is JSON in a schema without strings. */
const typing: Check = {
  name: 'typing',
  draw: (seed, index) => {
    const random = randomStream('typing', seed, index);
    const root = randomSchema(random);
    return { root, text: random.below(3) === 0 ? hostile(random) : valueText(random, root) };
  },
  holds: (input) => {
    const { root, text } = input as { root: Json; text: string };
    const types = schemaTypes(root, root);
    assert.ok(types.size > 0);
    const { value, unsafe } = typedValue(text, types);
    if (unsafe) assert.equal(value, text);
    if (value === text) return;
    const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    const jsonToo = types.has('object') || types.has('array') || !types.has('string');
    const allowed = types.has(kind as 'array') || (kind === 'number' && types.has('integer'));
    assert.ok(allowed || jsonToo, `${kind} from ${[...types].join(', ')}`);
  },
};

/** Ten times the text takes about ten times as long: the best of three, and only what takes long enough to say. */
const growth: Check = {
  name: 'growth',
  draw: (seed, index) => {
    const random = randomStream('growth', seed, index);
    const format = pick(random, ['qwen3_xml', 'qwen3_xml', 'qwen3_xml_plain', 'hermes', 'hermes_plain']);
    return {
      format,
      start: pick(random, ['', '</think>', '</think><function=convert>']),
      part: hostile(random, 6),
    };
  },
  holds: (input) => {
    const { format, start, part } = input as { format: string; start: string; part: string };
    const tools = specs(output('growth', 1).tools);
    const milliseconds = (length: number): number => {
      const text = start + part.repeat(Math.ceil(length / part.length));
      const once = (): number => {
        const { user } = process.cpuUsage();
        outputFormat(format).interpret(text, tools);
        return (process.cpuUsage().user - user) / 1_000;
      };
      return Math.min(once(), once(), once());
    };
    const long = milliseconds(200_000);
    if (long < 50) return;
    const short = milliseconds(20_000);
    assert.ok(long < 40 * short, `20 kB take ${short} ms, 200 kB ${long} ms`);
  },
};

export const INTERPRETER_CHECKS: readonly Check[] = [reading, writing, typing, growth];

/** Names and values that hold markup, or blanks that belong to it, cannot be written down. */
function writable({ name, arguments: values }: { name: string; arguments: JsonObject }): boolean {
  const bare = (text: string): boolean => stripped(text) === text && !/[<>]/.test(text);
  const inner = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return bare(name) && Object.entries(values).every(([key, value]) => bare(key) && !/</.test(inner(value)));
}

/** JSON has one zero only. */
function withoutMinusZero(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
