/** Comparisons as pages: several evaluations, incomplete ones that were asked for, moved tasks, hostile names. */
import { describe, expect, it } from 'vitest';
import { compareSides, tellingRuns } from '../../activities/report/collect/comparison.js';
import { type ComparedSide, runsByTask } from '../../activities/report/collect/side.js';
import { renderComparison } from '../../activities/report/comparison.js';
import { episodePages } from '../../activities/report/comparison-pages.js';
import { renderMarkdown } from '../../activities/report/markdown.js';
import { renderReport } from '../../activities/report/render.js';
import { resultsEvaluation } from '../../core/results/evaluation.js';
import { ResultSet } from '../../core/results/result-set.js';
import { demoReport } from './fixture.js';

const RUN = { programVersion: '0.0.0', generatedAt: '2026-01-01T00:00:00.000Z' };
const K = 3;

/** passes[task]: so many of three attempts; null: the first attempt was lost. Tokens cost `dollars` each row. */
function side(name: string, passes: Readonly<Record<string, number | null>>, dollars = 1): ComparedSide {
  const results = new ResultSet();
  const outcomes = Object.entries(passes).flatMap(([taskId, passed]) =>
    Array.from({ length: K }, (_, repetition) => {
      const outcome =
        passed === null && repetition === 0
          ? 'system_error'
          : repetition < (passed ?? 2)
            ? 'passed'
            : 'failed';
      return { taskId, repetition, outcome } as const;
    }),
  );
  for (const [line, row] of outcomes.entries()) {
    results.add({
      ...row,
      domain: row.taskId.slice(0, 1),
      ending: 'done',
      tokens: { prompt: 1e6 * dollars, sampled: 0, calls: 1 },
      toolCalls: 2,
      toolErrors: 1,
      seconds: 5,
      file: `${name}.jsonl`,
      line: line + 1,
    });
  }
  const summary = results.summary({
    taskIds: Object.keys(passes),
    repeat: K,
    allowIncomplete: true,
    systemErrorsAsFailed: false,
  });
  const names = { id: name, label: name, model: name, files: [], systemErrorsAsFailed: false };
  return {
    evaluation: resultsEvaluation(summary, names, { model: name, promptPerMillion: 1, sampledPerMillion: 1 }),
    warnings: [],
    runs: runsByTask(
      outcomes.map(({ taskId, repetition, outcome }) => ({
        taskId,
        repetition: String(repetition),
        passed: outcome === 'system_error' ? null : outcome === 'passed',
      })),
    ),
    episodes: async () => new Map(),
  };
}

const textOf = (page: string) =>
  page
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('\u202f', ' ')
    .replace(/\s+/g, ' ');

describe('a comparison of several', () => {
  const first = side('first', { a1: 3, a2: 1, b1: 0, b2: 3 }, 2);
  const second = side('second', { a1: 1, a2: 3, b1: 2, b2: 3 }, 1);
  const third = side('third', { a1: 3, a2: 3, b1: 3, b2: 3 }, 4);
  const data = compareSides([first, second, third], RUN);

  it('pairs each with the first, and tells what moved furthest first', () => {
    expect(data.paired).toMatchObject({
      gained: ['a2'],
      lost: ['a1'],
      improved: 2,
      worsened: 1,
      unchanged: 1,
    });
    expect(data.paired?.domains?.map(({ domain, tasks }) => [domain, tasks])).toEqual([
      ['a', 2],
      ['b', 2],
    ]);
    expect(data.others.map(({ paired }) => paired?.gained)).toEqual([['a2', 'b1']]);
    expect(data.moved.map(({ kind, taskId }) => [kind, taskId])).toEqual([
      ['gained', 'a2'],
      ['lost', 'a1'],
    ]);
  });

  it('shows costs, the front over all, and each against the first', () => {
    const page = renderComparison(data);
    const text = textOf(page);
    expect(page).toContain('On the front: second, third.');
    expect(text).toContain('Cost of the evaluation $24.00 $12.00 $48.00');
    expect(text).toContain('Each against first');
    expect(text).toContain('Tool calls that failed observations of the agent, no system errors 50.00 % (12)');
    expect(text).toContain('pass^k');
  });

  it('chooses the repetition that shows the move', () => {
    const [from, to] = tellingRuns(data.moved[0] as (typeof data.moved)[number]);
    expect([from, to]).toEqual([
      { repetition: '1', passed: false },
      { repetition: '1', passed: true },
    ]);
  });

  it('writes no page where nothing was recorded, and escapes names', async () => {
    expect(await episodePages(data, first, second, '../x.html')).toEqual([]);
    const hostile = side('<script>alert(1)</script>', { 'a"><img src=x>': 3, b: 1 });
    const other = side('ok', { 'a"><img src=x>': 1, b: 3 });
    expect(renderComparison(compareSides([hostile, other], RUN))).not.toMatch(/<script|<img/);
  });

  it('evaluations of other tasks are shown and not paired', () => {
    const other = compareSides([first, side('elsewhere', { z: 1 })], RUN);
    expect(other.paired).toBeNull();
    expect(other.warnings[0]).toContain('"a1", which the second evaluation lacks');
    expect(textOf(renderComparison(other))).toContain('cannot be compared');
  });
});

describe('scores of incomplete coverage that were asked for', () => {
  const data = compareSides([side('whole', { a: 3, b: 1 }), side('part', { a: null, b: 3 })], RUN);

  it('say so in the verdict, the banners, the headline and the scores', () => {
    const text = textOf(renderComparison(data));
    expect(text).toContain('Incomplete coverage, scores of 5 of 6 attempts of part only: 3/3');
    expect(text).toContain('its scores leave the others out, as asked (--allow-incomplete)');
    expect(text).toContain('of 2 tasks, incomplete');
    expect(text).toContain('Before and after, of incomplete coverage');
    // Beside every figure of its own: each card, and its column; no difference is made up.
    expect(text.match(/incomplete: 5 of 6 attempts/g)?.length).toBeGreaterThanOrEqual(3);
  });

  it('call no task lost whose attempts are not all there', () => {
    expect(data.paired).toMatchObject({ gained: ['b'], lost: [] });
    expect(data.paired?.passAt1).toMatchObject({ low: -1, high: 1 });
  });

  it('say so in a report and its Markdown', () => {
    const report = { ...demoReport(), after: data.after };
    expect(textOf(renderReport(report))).toContain(
      'Incomplete coverage, scores of 5 of 6 attempts of part only',
    );
    const markdown = renderMarkdown(report);
    expect(markdown).toContain('Incomplete coverage, scores of 5 of 6 attempts of part only');
    expect(markdown).toContain('its scores leave the others out, as asked.');
    expect(markdown).toContain('## Scores (incomplete: 5 of 6 attempts)');
  });
});
