/** What the vectors leave open about calls as JSON: problems as data. */
import { describe, expect, test } from 'vitest';
import { readText } from '../../activities/policy/read-turn.js';
import { problemText, spoiltCall } from '../../core/interpret/format.js';
import { outputFormat } from '../../core/interpret/interpret.js';

const hermes = outputFormat('hermes');
const call = (json: string): string => `<tool_call>\n${json}\n</tool_call>`;

describe('problems', () => {
  test('an integer beyond 2^53 spoils its call only, and names the parameter', () => {
    const text = `r</think>${call('{"name": "f", "arguments": {"a": 1}}')}${call('{"arguments": {"b": [9007199254740993], "c": 2}, "name": "f"}')}`;
    const read = hermes.interpret(text, []);
    expect(read.calls.map((one) => one.arguments)).toEqual([{ a: 1 }, { b: '[9007199254740993]', c: 2 }]);
    expect(read.problems).toEqual([
      { kind: 'integer_range', call: 1, parameter: 'b', text: '[9007199254740993]' },
    ]);
    expect(read.problems.map(spoiltCall)).toEqual([1]);
  });

  test('arguments that are no object spoil their call', () => {
    const read = hermes.interpret(`r</think>${call('{"name": "f", "arguments": [1]}')}`, []);
    expect(read.calls).toEqual([{ name: 'f', arguments: {} }]);
    expect(read.problems.map(spoiltCall)).toEqual([0]);
    expect(problemText(read.problems[0]!)).toBe('the arguments are no JSON object: [1]');
  });

  test('a spoilt call is refused by its number within the episode, and the others are executed', () => {
    const json = '{"name": "f", "arguments": {"n": 9007199254740993}}';
    const text = `r</think>${call('{"name": "f", "arguments": {}}')}${call(json)}${call('{"name": "f", "arguments": null}')}`;
    const { message, refused } = readText(hermes, text, [], 7);
    expect(message.toolCalls.map(({ id }) => id)).toEqual(['c7', 'c8', 'c9']);
    expect([...refused.keys()]).toEqual(['c8', 'c9']);
    expect(refused.get('c8')).toContain('9007199254740993 is beyond the integers');
  });

  test('where one call cannot be read, no problem speaks of another', () => {
    const read = hermes.interpret(`r</think>${call('{"name": "f", "arguments": 5}')}${call('{bad')}`, []);
    expect(read.calls).toEqual([]);
    expect(read.problems).toEqual([{ kind: 'unreadable_call', text: '\n{bad\n' }]);
  });

  test('reasoning without an end', () => {
    expect(hermes.interpret('hm', []).problems).toEqual([{ kind: 'unclosed_reasoning' }]);
    expect(outputFormat('hermes_plain').interpret('Hello', [])).toEqual({
      reasoning: '',
      content: 'Hello',
      calls: [],
      problems: [],
    });
  });

  test('a long text is cut between characters', () => {
    const read = hermes.interpret(`r</think>${call(`${'x'.repeat(116)}🙂 and more`)}`, []);
    expect(problemText(read.problems[0]!)).toBe(`a tool call could not be read: ${'x'.repeat(116)}...`);
  });
});
