/** Two training runs laid over each other: which steps belong together, where they part, and what the page says of it. */
import { describe, expect, it } from 'vitest';
import { compareRuns, type RunComparison } from '../../activities/report/runs/compare.js';
import { runComparisonMarkdown } from '../../activities/report/runs/markdown.js';
import { renderRunComparison } from '../../activities/report/runs/page.js';
import type { CampaignRow, Ledger, StepRow } from '../../core/ledger.js';
import { digest, stepRow } from '../ledger/fixtures.js';
import { HOSTILE } from './hostile.js';

const WRITING = { programVersion: '0.1.0', generatedAt: '2026-11-29T20:00:00.000Z' };

function run(id: string, config: object): CampaignRow {
  return { id, kind: 'train', state: 'done', config } as unknown as CampaignRow;
}

const SOURCE = run('train/source', { steps: 3, plan: { learningRate: 7e-4 } });
const FORK = run('train/fork', {
  steps: 2,
  plan: { learningRate: 1e-4 },
  reuse: { run: 'train/source', step: 2 },
});

function step(id: string, number: number, [base, after]: readonly [string, string], reward: number): StepRow {
  const weights = { baseDigest: digest(base), weightDigest: digest(after) };
  const metrics = {
    reward,
    entropy: 0.5,
    gradNorm: number,
    secondsSampling: Math.random(),
    systemErrors: number,
  };
  return stepRow(id, number, { state: 'done', ...weights, metrics });
}

const STEPS: Readonly<Record<string, readonly StepRow[]>> = {
  'train/source': [
    step('train/source', 1, ['a', 'b'], 0.4),
    step('train/source', 2, ['b', 'c'], 0.5),
    step('train/source', 3, ['c', 'd'], 0.6),
  ],
  // The same episodes and gradient at its first step, other weights after it.
  'train/fork': [
    { ...step('train/fork', 1, ['b', 'e'], 0.5), metrics: { reward: 0.5, entropy: 0.5, gradNorm: 2 } },
    step('train/fork', 2, ['e', 'f'], 0.55),
  ],
};

function ledgerOf(steps: Readonly<Record<string, readonly StepRow[]>>): Ledger {
  return {
    steps: async (id: string) => steps[id] ?? [],
    operations: async () => [],
  } as unknown as Ledger;
}

const compared = (a = SOURCE, b = FORK, steps = STEPS): Promise<RunComparison> =>
  compareRuns(ledgerOf(steps), a, b);

describe('a fork and its origin', () => {
  it('stand step beside step from where it was forked, and part where the weights do', async () => {
    const found = await compared();
    expect(found.fork).toEqual({ fork: 'train/fork', from: 'train/source', step: 2 });
    expect(found.steps.map(({ place, before, after }) => [place, before?.step, after?.step])).toEqual([
      [1, 1, undefined],
      [2, 2, 1],
      [3, 3, 2],
    ]);
    expect(found.firstDifference).toEqual({
      ...{ place: 2, beforeStep: 2, afterStep: 1, what: 'weights after the step' },
      ...{ before: digest('c'), after: digest('e') },
    });
    expect(found.sameWeights).toBe(0);
  });

  it('the other way round, places count as the steps of the fork', async () => {
    const found = await compared(FORK, SOURCE);
    expect(found.steps.map(({ place, before, after }) => [place, before?.step, after?.step])).toEqual([
      [0, undefined, 1],
      [1, 1, 2],
      [2, 2, 3],
    ]);
    expect(found.fork?.fork).toBe('train/fork');
  });
});

describe('the first difference', () => {
  const twin = run('train/twin', SOURCE.config as object);
  const twinSteps = (change: (row: StepRow) => StepRow) => ({
    ...STEPS,
    'train/twin': STEPS['train/source']!.map((row) => change({ ...row, run: 'train/twin' })),
  });

  it('is none where all is the same; wall time and tries lost on the way are no results', async () => {
    const slower = twinSteps((row) => ({
      ...row,
      metrics: { ...row.metrics, secondsSampling: 99, systemErrors: 12 },
    }));
    const found = await compared(SOURCE, twin, slower);
    expect(found).toMatchObject({ firstDifference: null, sameWeights: 3, changes: [], fork: null });
    expect(renderRunComparison(found, WRITING)).toContain('are the same, number by number');
  });

  it('is a metric before the weights that follow from it, in full where rounding hides it', async () => {
    const off = twinSteps((row) =>
      row.step === 2
        ? { ...row, metrics: { ...row.metrics, gradNorm: 2.000000001 }, weightDigest: digest('9') }
        : row,
    );
    expect((await compared(SOURCE, twin, off)).firstDifference).toMatchObject({
      ...{ place: 2, what: 'Gradient norm', before: '2', after: '2.000000001' },
    });
  });

  it('is how a step ended, where one was left out', async () => {
    const left = twinSteps((row) => (row.step === 3 ? { ...row, state: 'skipped' } : row));
    expect((await compared(SOURCE, twin, left)).firstDifference).toMatchObject({
      ...{ place: 3, what: 'how the step ended', before: 'done', after: 'skipped' },
    });
  });
});

describe('its page and its Markdown', () => {
  it('show curves of what was measured, settings, and where they part', async () => {
    const found = await compared();
    const page = renderRunComparison(found, WRITING);
    expect(page).toBe(renderRunComparison(JSON.parse(JSON.stringify(found)) as RunComparison, WRITING));
    for (const metric of ['reward', 'entropy', 'gradNorm']) expect(page).toContain(`id="c-${metric}-t"`);
    expect(page).not.toContain('c-validationPassAt1');
    expect(page).toMatch(/plan\.learningRate<\/code>.*0\.0007.*0\.0001/s);
    expect(page).toContain('They part at step 2 (step 1 of train/fork)');
    expect(page).not.toMatch(/\bNaN\b|\bundefined\b|Infinity|\[object/);
    const text = runComparisonMarkdown(found, WRITING);
    expect(text).toMatch(/\| plan\.learningRate \| 0\.0007 \| 0\.0001 \|/);
    expect(text).toMatch(/\| 2 \| train\/fork 1 \|/);
  });

  it('stay sound without steps, and with hostile names', async () => {
    const empty = await compared(run(`train/${HOSTILE}`, {}), run('train/b', {}), {});
    const page = renderRunComparison(empty, WRITING);
    expect(page).toContain('No step has been measured yet.');
    expect(page).not.toMatch(/<script/i);
    expect(runComparisonMarkdown(empty, WRITING)).not.toMatch(/(?<!\\)<script/i);
  });
});
