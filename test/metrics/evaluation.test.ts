import { describe, expect, it } from 'vitest';
import { compareEvaluations } from '../../core/metrics/compare.js';
import { checkCoverage, expectedKeys } from '../../core/metrics/coverage.js';
import { type EvaluationInput, evaluationMetrics } from '../../core/metrics/evaluation.js';
import { passCurve } from '../../core/metrics/scores.js';
import { countTasks } from '../../core/metrics/tasks.js';
import { attemptRows, runs, type TaskResult } from './rows.js';

const tasks: TaskResult[] = [
  { taskId: 'shop.py:a', domain: 'shop', template: 'refund', results: [1, 1, 1, 1] },
  { taskId: 'shop.py:b', domain: 'shop', template: 'cancel', results: [1, 0, 0, 1] },
  { taskId: 'bank.py:c', domain: 'bank', template: 'refund', results: [0, 0, 0, 0] },
  { taskId: 'bank.py:d', domain: 'bank', template: 'limit', results: [1, 1, 1, 0] },
];

function evaluate(results: readonly TaskResult[], options: Partial<EvaluationInput> = {}) {
  const expected = expectedKeys(
    'eval/night',
    tasks.map(({ taskId }) => taskId),
    4,
  );
  return evaluationMetrics({ attempts: attemptRows('eval/night', results), expected, k: 4, ...options });
}

/** The tasks with another outcome of shop.py:b, repetition 1. */
function withResult(result: null | undefined): TaskResult[] {
  return tasks.map((task) => (task.taskId === 'shop.py:b' ? { ...task, results: [1, result, 0, 1] } : task));
}

describe('evaluationMetrics', () => {
  it('scores all tasks, domains, and templates never trained on', () => {
    const { scores, coverage, terminations } = evaluate(tasks, {
      trainedTemplates: new Set(['refund', 'cancel']),
    });
    expect(coverage).toMatchObject({ expected: 16, clean: 16, complete: true });
    const summary = scores?.map(({ label, tasks, passed, attempts, dependable, solvedOnce }) =>
      [label, tasks, passed, attempts, dependable, solvedOnce].join(' '),
    );
    expect(summary).toEqual([
      'all 4 9 16 1 3',
      'bank 2 3 8 0 1',
      'shop 2 6 8 1 2',
      'templates trained on 3 6 12 1 2',
      'templates never trained on 1 3 4 0 1',
    ]);
    expect(scores?.[0]).toMatchObject({
      passAt1: { value: 0.5625 },
      observedK: { value: 0.25 },
      shortTasks: 0,
    });
    expect(terminations).toEqual({ done: { attempts: 16, passed: 9 } });
  });

  it('withholds scores while a key is missing or exhausted, and names the key', () => {
    const missing = evaluate(withResult(undefined));
    expect(missing.scores).toBeNull();
    expect(missing.coverage).toMatchObject({
      missing: ['eval/night · shop.py:b · 1'],
      complete: false,
      clean: 15,
    });
    const exhausted = evaluate(withResult(null));
    expect(exhausted).toMatchObject({ scores: null, cost: null });
    expect(exhausted.coverage.systemError).toEqual(['eval/night · shop.py:b · 1']);
  });

  it('never scores a system error unless told to, and then as a failure', () => {
    const asked = evaluate(withResult(null), { exhaustedAsFailed: true });
    expect(asked.scores?.[0]).toMatchObject({ passed: 9, attempts: 16 });
    const partial = evaluate(withResult(null), { allowIncomplete: true });
    expect(partial.scores?.[0]).toMatchObject({ passed: 9, attempts: 15, shortTasks: 1 });
    expect(partial.coverage.complete).toBe(false);
    // Three passes of three are not four of four.
    const short = tasks.map((task) =>
      task.taskId === 'shop.py:a' ? { ...task, results: [1, 1, 1, null] } : task,
    );
    expect(evaluate(short as TaskResult[], { allowIncomplete: true }).scores?.[0]?.dependable).toBe(0);
  });

  it('has no cost per success or per dependable task where there is none', () => {
    const free = { policy: { promptPerMillion: 0, sampledPerMillion: 1 } };
    const failed = tasks.map((task) => ({ ...task, results: runs(0, 4) }));
    expect(evaluate(failed, { prices: free }).cost).toEqual({
      total: 0,
      perSuccess: null,
      perDependable: null,
    });
  });
});

it('passCurve falls for pass^k and rises for pass@k', () => {
  const curve = passCurve(
    countTasks(attemptRows('eval/night', tasks).map((row) => ({ ...row, passed: row.passed === true }))),
  );
  expect(curve.map(({ k }) => k)).toEqual([1, 2, 3, 4]);
  expect(curve[0]).toEqual({ k: 1, passAtK: 0.5625, passPowerK: 0.5625 });
  expect(curve[3]).toEqual({ k: 4, passAtK: 0.75, passPowerK: 0.25 });
});

it('checkCoverage tells missing, duplicate, unexpected and system-error keys apart', () => {
  const rows = [
    { key: 'a', outcome: 'clean' },
    { key: 'b', outcome: 'clean' },
    { key: 'b', outcome: 'system_error' },
    { key: 'c', outcome: 'system_error' },
    { key: 'd', outcome: 'absent' },
    { key: 'z', outcome: 'clean' },
  ] as const;
  expect(checkCoverage(['a', 'b', 'c', 'd', 'e'], rows)).toEqual({
    expected: 5,
    clean: 1,
    complete: false,
    missing: ['d', 'e'],
    systemError: ['c'],
    duplicate: ['b'],
    unexpected: ['z'],
  });
});

describe('compareEvaluations', () => {
  const after = tasks.map((task) => {
    if (task.taskId === 'shop.py:a') return { ...task, results: runs(3, 4) };
    return task.taskId === 'bank.py:d' ? { ...task, results: runs(4, 4) } : task;
  });
  const counts = (results: readonly TaskResult[]) => evaluate(results).tasks;

  it('pairs by task, whatever their order', () => {
    const comparison = compareEvaluations(counts(tasks), [...counts(after)].reverse(), 4);
    expect(comparison).toMatchObject({
      tasks: 4,
      gained: ['bank.py:d'],
      lost: ['shop.py:a'],
      improved: 1,
      worsened: 1,
      unchanged: 2,
      passAt1: { value: 0 },
      observedK: { value: 0 },
      domains: [
        { domain: 'bank', passAt1: { value: 0.125 } },
        { domain: 'shop', passAt1: { value: -0.125 } },
      ],
    });
  });

  it('refuses different tasks and names one', () => {
    expect(() => compareEvaluations(counts(tasks), counts(tasks).slice(1), 4)).toThrow(
      '"shop.py:a", which the second',
    );
    expect(() => compareEvaluations(counts(tasks).slice(1), counts(tasks), 4)).toThrow(
      '"shop.py:a", which the first',
    );
  });
});
