/** A night against another: what a regression is, and what is only a difference. */
import { describe, expect, it } from 'vitest';
import type { TaskCounts } from '../../core/metrics/tasks.js';
import { missedTimes } from '../../core/nightly/gaps.js';
import { judgeAgainst, type NightSide } from '../../core/nightly/judge.js';

const task = (index: number, passed: number, attempts = 4): TaskCounts => ({
  taskId: `t:${index}`,
  domain: 'd',
  template: 'x',
  attempts,
  passed,
});
const side = (passed: readonly number[], more: Partial<NightSide> = {}): NightSide => ({
  evaluation: 'eval/x',
  at: '2026-11-29T01:00:00.000Z',
  suiteDigest: 'sha256:a',
  k: 4,
  tasks: passed.map((each, index) => task(index, each)),
  ...more,
});

describe('a night against another', () => {
  it('falls beyond its interval: both measures have regressed, and the lost tasks are named', () => {
    const fell = judgeAgainst(side([4, 4, 4, 4, 4, 4, 4, 4]), side([1, 0, 2, 1, 0, 1, 2, 1]));
    expect(fell?.regressed).toEqual(['pass@1', 'k/k']);
    expect(fell).toMatchObject({ lost: 8, gained: 0, sameSuite: true, unpaired: 0, tasks: 8 });
    expect(fell?.lostTasks).toHaveLength(8);
  });

  it('a fall within its interval is none, nor is a rise', () => {
    expect(judgeAgainst(side([4, 0, 4, 0]), side([0, 4, 4, 0]))?.regressed).toEqual([]);
    expect(judgeAgainst(side([0, 0, 1, 0]), side([4, 4, 4, 4]))?.regressed).toEqual([]);
    expect(judgeAgainst(side([2, 2, 2, 2]), side([2, 2, 2, 2]))?.regressed).toEqual([]);
  });

  it('one task says nothing of its spread, so nothing is said', () => {
    expect(judgeAgainst(side([4]), side([0]))?.regressed).toEqual([]);
  });

  it('another suite is compared where tasks are shared, and marked', () => {
    const other = side([4, 4, 4], { suiteDigest: 'sha256:b' });
    const night = side([4, 4, 4, 0, 0]);
    expect(judgeAgainst(other, night)).toMatchObject({
      sameSuite: false,
      tasks: 3,
      unpaired: 2,
      regressed: [],
    });
    expect(judgeAgainst(side([]), night)).toBeNull();
  });

  it('with other attempts a task k/k is another measure: it is not compared', () => {
    const fewer = side([2, 2, 2, 2], { k: 2, tasks: [0, 1, 2, 3].map((index) => task(index, 2, 2)) });
    expect(judgeAgainst(fewer, side([1, 1, 1, 1]))).toMatchObject({ observedK: null });
  });
});

it('what was due and did not run: a night may begin late by the jitter', () => {
  const due = ['2026-11-28T01:03:00.000Z', '2026-11-29T01:07:00.000Z', '2026-11-30T01:01:00.000Z'];
  const nights = [{ at: '2026-11-28T01:00:00.000Z' }, { at: '2026-11-30T01:00:00.000Z' }];
  expect(missedTimes(due, nights, 600_000)).toEqual([due[1]]);
  expect(missedTimes(due, nights, 0)).toEqual(due);
});
