/** The rule of the reference screen: what passes, what fails, and what a fault leaves undecided. */
import { expect, it } from 'vitest';
import { screenTasks } from '../../core/selection/screen.js';

type Row = Parameters<typeof screenTasks>[1][number];

const rows = (taskId: string, results: string): Row[] =>
  [...results].map((each) => ({
    taskId,
    state: each === '?' ? 'pending' : each === 'x' ? 'exhausted' : 'clean',
    passed: each === '+' ? true : each === '-' ? false : null,
  }));

it('a fault is no failure: only attempts without a result leave a task undecided', () => {
  const results = { a: '+---', b: '----', c: '---x', d: '+xxx', e: '??', f: '++++', g: 'xxxx' };
  const attempts = Object.entries(results).flatMap(([id, each]) => rows(id, each));
  const tasks = Object.keys(results);
  expect(screenTasks(tasks, attempts, { minCleanRuns: 1, minSuccesses: 1 })).toEqual({
    passed: ['a', 'd', 'f'],
    failed: ['b'],
    undecided: ['c', 'e', 'g'],
  });
  expect(screenTasks(tasks, attempts, { minCleanRuns: 4, minSuccesses: 2 })).toEqual({
    passed: ['f'],
    failed: ['a', 'b', 'c', 'e'],
    undecided: ['d', 'g'],
  });
});

it('a task without any row is failed by a rule that asks for something', () => {
  expect(screenTasks(['a'], [], { minCleanRuns: 1, minSuccesses: 0 }).failed).toEqual(['a']);
  expect(screenTasks(['a'], [], { minCleanRuns: 0, minSuccesses: 0 }).passed).toEqual(['a']);
});
