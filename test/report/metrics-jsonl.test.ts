import { describe, expect, it } from 'vitest';
import { metricsJsonl, reportPath } from '../../activities/report/metrics-jsonl.js';
import { STEP_METRICS } from '../../core/step-metrics.js';
import { digest, report, stepRow } from '../ledger/fixtures.js';

const RUN = 'train/r';

describe('metrics.jsonl', () => {
  it('has one line a finished step, in order, with every metric by name', () => {
    const text = metricsJsonl([
      stepRow(RUN, 2, { state: 'done', metrics: { reward: 0.5, extra: 7 } }),
      stepRow(RUN, 1, { state: 'failed', cause: 'no signal' }),
      stepRow(RUN, 3, { state: 'sampling' }),
    ]);
    expect(text.endsWith('\n')).toBe(true);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => [line.step, line.state, line.cause])).toEqual([
      [1, 'failed', 'no signal'],
      [2, 'done', null],
    ]);
    expect(lines[1]).toMatchObject({ run: RUN, reward: 0.5, entropy: null, extra: 7 });
    for (const name of Object.keys(STEP_METRICS)) expect(lines[0]).toHaveProperty(name);
    expect(metricsJsonl([])).toBe('');
  });

  it("takes from the trainer's report what the row lacks", () => {
    const done = report('op-1', digest('a'), digest('c'), digest('b'));
    const text = metricsJsonl(
      [stepRow(RUN, 1, { state: 'done', metrics: { entropy: 0.25 } })],
      [
        {
          ...{ op: 'op-1', run: RUN, step: 1, state: 'done', plan: {} },
          ...{ baseDigest: digest('a'), batchDigest: digest('c'), report: done },
        },
      ],
    );
    expect(JSON.parse(text)).toMatchObject({
      entropy: 0.25,
      gradNorm: 1e-6,
      klToBase: 0.001,
      skipped: false,
    });
  });

  it('gives every campaign a folder of its own', () => {
    expect(reportPath('/r', 'train/run-1', 'metrics.jsonl')).toBe('/r/train/run-1/metrics.jsonl');
  });
});
