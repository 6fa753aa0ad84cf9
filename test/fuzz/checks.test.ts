/** A little of `npm run fuzz` on every run of the tests. Growth is a matter of time, and left to the fuzz run. */
import { expect, test } from 'vitest';
import { INTERPRETER_CHECKS } from './checks.js';
import { rendererCheck } from './renderer-check.js';

const INPUTS = 400;
const checks = INTERPRETER_CHECKS.filter(({ name }) => name !== 'growth');

test.each(checks.map((check) => [check.name, check] as const))('%s', (_name, check) => {
  for (let index = 0; index < INPUTS; index += 1) {
    const input = check.draw('tests', index);
    try {
      check.holds(input);
    } catch (error) {
      throw new Error(`input ${index}: ${JSON.stringify(input)}`, { cause: error });
    }
  }
});

test('rendering', () => {
  const check = rendererCheck();
  for (let index = 0; index < 40; index += 1) check.holds(check.draw('tests', index));
});

test('an input is drawn again from its number', () => {
  for (const { draw } of checks) {
    expect(draw('s', 7)).toEqual(draw('s', 7));
    expect(draw('s', 7)).not.toEqual(draw('t', 7));
  }
});
