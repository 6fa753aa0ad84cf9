/** The published before/after table comes out of rows that reproduce its counts: 507 tasks × 20 attempts. */
import { expect, it } from 'vitest';
import { compareEvaluations } from '../../core/metrics/compare.js';
import { expectedKeys } from '../../core/metrics/coverage.js';
import { type EvaluationMetrics, evaluationMetrics } from '../../core/metrics/evaluation.js';
import { attemptRows, runs, sampledTokens } from './rows.js';

const TASKS = 507;
const REPEAT = 20;

/** Success counts per task: `whole` tasks at 20/20, `solved` at least once, `successes` in all; the rest spread evenly. */
function successCounts(whole: number, solved: number, successes: number): number[] {
  const partial = solved - whole;
  const left = successes - whole * REPEAT;
  return Array.from({ length: TASKS }, (_, task) => {
    if (task < whole) return REPEAT;
    if (task >= solved) return 0;
    return Math.floor(left / partial) + (task - whole < left % partial ? 1 : 0);
  });
}

/** A campaign whose tokens cost `dollars` in all at one dollar per million. */
function campaign(name: string, counts: readonly number[], dollars: number): EvaluationMetrics {
  const tokens = Math.round(dollars * 1e6);
  const attempts = TASKS * REPEAT;
  const share = (ordinal: number) => Math.floor(tokens / attempts) + (ordinal < tokens % attempts ? 1 : 0);
  const tasks = counts.map((passed, task) => ({
    taskId: `case_${task}.py:test`,
    results: runs(passed, REPEAT),
  }));
  return evaluationMetrics({
    attempts: attemptRows(`eval/${name}`, tasks, (ordinal) => sampledTokens(share(ordinal))),
    expected: expectedKeys(
      `eval/${name}`,
      tasks.map(({ taskId }) => taskId),
      REPEAT,
    ),
    k: REPEAT,
    prices: { policy: { promptPerMillion: 0, sampledPerMillion: 1 } },
  });
}

it("reproduces the paper's table", () => {
  const before = campaign('before', successCounts(38, 453, 5242), 925.8);
  const after = campaign('after', successCounts(107, 446, 6163), 855.58);
  const table = [before, after].map(({ coverage, scores, cost }) => {
    const all = scores?.[0];
    return {
      clean: coverage.clean,
      dependable: all?.dependable,
      observedK: ((all?.observedK.value ?? 0) * 100).toFixed(2),
      passed: all?.passed,
      passAt1: ((all?.passAt1.value ?? 0) * 100).toFixed(2),
      solvedOnce: all?.solvedOnce,
      total: cost?.total.toFixed(2),
      perDependable: cost?.perDependable?.toFixed(2),
      perSuccess: cost?.perSuccess?.toFixed(3),
    };
  });
  expect(table).toEqual([
    {
      clean: 10_140,
      dependable: 38,
      observedK: '7.50',
      passed: 5242,
      passAt1: '51.70',
      solvedOnce: 453,
      total: '925.80',
      perDependable: '24.36',
      perSuccess: '0.177',
    },
    {
      clean: 10_140,
      dependable: 107,
      observedK: '21.10',
      passed: 6163,
      passAt1: '60.78',
      solvedOnce: 446,
      total: '855.58',
      perDependable: '8.00',
      perSuccess: '0.139',
    },
  ]);
  const [first] = after.scores ?? [];
  // With k equal to the attempts, pass@k is "at least once" and pass^k is k/k.
  expect(first?.passAtK.value).toBeCloseTo(446 / 507, 12);
  expect(first?.passPowerK.value).toBeCloseTo(107 / 507, 12);

  const comparison = compareEvaluations(before.tasks, after.tasks, REPEAT);
  expect(comparison.gained.length - comparison.lost.length).toBe(107 - 38);
  expect(comparison.passAt1.value).toBeCloseTo((6163 - 5242) / 10_140, 12);
  expect(comparison.observedK.value).toBeCloseTo(69 / 507, 12);
  expect(comparison.observedK.low).toBeGreaterThan(0);
});
