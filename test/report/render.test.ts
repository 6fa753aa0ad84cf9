import { describe, expect, it } from 'vitest';
import { renderComparison } from '../../activities/report/comparison.js';
import { renderReport } from '../../activities/report/render.js';
import type { EvaluationReport, ReportData, TaskScore } from '../../core/report-data.js';
import { demoReport, emptyReport, evaluation, partialReport } from './fixture.js';
import { HOSTILE, hostile } from './hostile.js';

/** Visible text: tags out, entities back, white space as one blank. */
function textOf(page: string): string {
  return page
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}

/** First matches: a failure must not print a whole page. */
function found(page: string, pattern: RegExp): readonly string[] {
  return [...page.matchAll(new RegExp(pattern, `${pattern.flags.replace('g', '')}g`))]
    .slice(0, 3)
    .map(([match]) => match);
}

function expectSound(page: string): void {
  expect(page.slice(0, 15)).toBe('<!doctype html>');
  expect(found(page, /<script|<iframe|<link rel="stylesheet|@import|https?:\/\/|url\((?!#)/i)).toEqual([]);
  expect(found(page, /\bNaN\b|\bInfinity\b|>undefined<|>null<|\[object Object\]/)).toEqual([]);
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
  for (const [, names] of page.matchAll(/aria-labelledby="([^"]+)"/g)) {
    for (const name of (names ?? '').split(' ')) expect(ids).toContain(name);
  }
  // Balanced: no text can have opened or closed an element.
  for (const tag of [
    'section',
    'details',
    'table',
    'svg',
    'ol',
    'ul',
    'dl',
    'div',
    'article',
    'main',
    'bdi',
  ]) {
    const count = (pattern: string): number => page.match(new RegExp(pattern, 'g'))?.length ?? 0;
    expect([tag, count(`<${tag}[ >]`)]).toEqual([tag, count(`</${tag}>`)]);
  }
}

describe('the report of a finished pipeline', () => {
  const data = demoReport();
  const page = renderReport(data);
  const text = textOf(page);

  it('is one sound document that needs nothing else', () => {
    expectSound(page);
    expect(page).toContain("default-src 'none'");
    expect(page.length).toBeLessThan(400_000);
  });

  it('is a pure function of its data', () => {
    expect(renderReport(demoReport())).toBe(page);
    expect(renderReport(JSON.parse(JSON.stringify(data)) as ReportData)).toBe(page);
  });

  it('says what came of it, first', () => {
    expect(text).toContain(
      'After 15 training steps, 9 of 48 benchmark tasks pass on every one of 20 attempts, up from 3.',
    );
    expect(text).toContain('Solved on every one of 20 attempts');
    expect(text).toContain('Cost per dependable task');
    expect(text).toMatch(/Tries lost to system errors 13/);
  });

  it('has every part', () => {
    for (const part of [
      'Before and after',
      'Task by task',
      'Training, step by step',
      'The probe: which tasks can teach',
      'What success costs',
      'Coverage and integrity',
      'Episodes to read',
      'Make it again',
      'Templates never trained on',
      'infrequently solved',
      'nearly always solved',
    ]) {
      expect(text).toContain(part);
    }
    for (const chart of ['reward', 'zeroVarianceShare', 'refillGroups', 'entropy', 'klToBase', 'gradNorm']) {
      expect(page).toContain(`id="c-${chart}-t"`);
    }
    for (const chart of [
      'clipFraction',
      'responseTokens',
      'truncatedShare',
      'mismatchMean',
      'systemErrors',
      'stages',
    ]) {
      expect(page).toContain(`id="c-${chart}-t"`);
    }
    expect(page.match(/<li class="(gained|lost|)"><span class="name"/g)).toHaveLength(48);
  });

  it('puts expected and actual rows side by side and marks what differs', () => {
    expect(text).toContain('3 rows not as expected, 2 equal');
    expect(
      found(
        page,
        /<tr class="differs"><th scope="row"><bdi>status<\/bdi><\/th><td><bdi>delivered<\/bdi><\/td><td><bdi>refunded<\/bdi>/,
      ),
    ).not.toEqual([]);
    expect(text).toContain('missing: expected, not written');
    expect(text).toContain('extra: written, not expected');
    expect(text).toContain('All 4 rows as expected');
  });

  it('counts tokens when there is no price, never a price of 0', () => {
    const strip = (each: EvaluationReport | null) => each && { ...each, cost: null };
    const free = textOf(
      renderReport({ ...data, prices: null, before: strip(data.before), after: strip(data.after) }),
    );
    expect(free).toContain('Tokens per dependable task');
    expect(found(free, /\$0/)).toEqual([]);
  });
});

describe('what is not there', () => {
  it('of one attempt a task it says nothing twice', () => {
    const data = demoReport();
    const text = textOf(
      renderReport({ ...data, before: null, paired: null, after: { ...data.after!, k: 1 } }),
    );
    expect(text).toContain('with one attempt each');
    expect(text).toContain('Solved in the one attempt');
    expect(text).not.toMatch(/one of 1 attempts/);
  });

  it('shows no score of incomplete coverage and says what is missing', () => {
    const page = renderReport(partialReport());
    const text = textOf(page);
    expectSound(page);
    expect(text).toContain('611 of 960 attempts are clean, so no score is shown.');
    expect(text).toContain('346 still to run, 3 exhausted by system errors');
    expect(text).toContain('eval/demo-final · retail_benchmark:address-01 · 14');
    expect(text).toContain('Before training, 3 of 48 tasks');
    expect(text).not.toContain('402');
    expect(text).not.toContain('gained, lost');
  });

  it('renders an empty campaign, a failed one and any part alone', () => {
    const data = demoReport();
    expectSound(renderReport(emptyReport()));
    const failed = renderReport({
      ...emptyReport(),
      run: { ...data.run, state: 'failed', cause: 'no base <checkpoint>' },
    });
    expect(failed).toContain('no base &lt;checkpoint&gt;');
    for (const part of ['probe', 'training', 'before', 'after', 'stories', 'integrity'] as const) {
      expectSound(renderReport({ ...emptyReport(), [part]: data[part] }));
    }
  });

  it('renders parts with nothing in them', () => {
    const data = demoReport();
    const nothing = evaluation('after', [], 'sha256:0');
    for (const page of [
      renderReport({
        ...data,
        before: { ...nothing, scores: [] },
        after: { ...nothing, scores: null },
        paired: null,
      }),
      renderReport({ ...data, training: data.training && { ...data.training, steps: [] }, stories: [] }),
      renderReport({ ...data, probe: data.probe && { ...data.probe, bands: [], candidates: 0 } }),
      renderReport({
        ...data,
        training: data.training && {
          ...data.training,
          steps: [
            { step: 1, state: 'failed', cause: 'why', baseDigest: null, weightDigest: null, metrics: {} },
          ],
        },
      }),
    ]) {
      expectSound(page);
    }
  });

  it('says when exhausted attempts were scored 0, and when the ledger is inconsistent', () => {
    const data = demoReport();
    const after = data.after as EvaluationReport;
    const text = textOf(
      renderReport({
        ...data,
        after: { ...after, coverage: { ...after.coverage, exhausted: 2, exhaustedAsFailed: true } },
        integrity: {
          ...data.integrity,
          invariants: [{ name: 'One line of weights.', holds: false, detail: 'step 3' }],
        },
        warnings: ['an artifact is missing'],
      }),
    );
    expect(text).toContain('2 exhausted attempts of eval/demo-final scored 0 on request');
    expect(text).toContain('The ledger is inconsistent: One line of weights.');
    expect(text).toContain('an artifact is missing');
  });
});

describe('hostile text', () => {
  it('stays text, wherever it stands', () => {
    for (let turn = 0; turn < HOSTILE.length; turn += 1) {
      const page = renderReport(hostile(demoReport(), turn));
      expectSound(page.replaceAll(/NaN|https?:/g, ''));
      expect(found(page, /<img|<script| onerror="| onclick='/)).toEqual([]);
      expect(page.includes('\0') || page.includes('\u202e')).toBe(false);
      expect(found(page, /\p{Cs}/u)).toEqual([]);
    }
  });

  it('is clipped with a note when it is long', () => {
    const page = textOf(renderReport(hostile(demoReport())));
    expect(found(page, /… 16,000 more characters in the artifact/)).not.toEqual([]);
  });
});

describe('size', () => {
  it('a benchmark of 507 tasks folds its list', () => {
    const data = demoReport();
    const tasks: TaskScore[] = Array.from({ length: 507 }, (_, at) => ({
      taskId: `acme_${at % 5}.py:test_${at}`,
      domain: `domain ${at % 5}`,
      template: `t${at}`,
      templateTrained: null,
      passed: (at * 7) % 21,
      attempts: 20,
    }));
    const page = renderReport({
      ...data,
      before: evaluation('before', tasks, 'sha256:1'),
      after: evaluation('after', tasks, 'sha256:2'),
    });
    expectSound(page);
    expect(found(page, /<details class="fold"><summary>All 507 tasks, best first/)).not.toEqual([]);
    expect(page.length).toBeLessThan(1_500_000);
  });
});

describe('a comparison', () => {
  const { before, after, paired, run } = demoReport();
  const data = {
    before: before as EvaluationReport,
    after: after as EvaluationReport,
    paired,
    others: [],
    moved: [],
    run,
    warnings: [],
  };

  it('has the before/after parts and a verdict with its interval', () => {
    const page = renderComparison(data);
    expectSound(page);
    expect(textOf(page)).toContain('20/20: 3 → 9 of 48 tasks. pass@1:');
    expect(textOf(page)).not.toContain('within what chance alone gives');
    expect(textOf(page)).toContain('What is compared');
  });

  it('says when the difference is within noise, and when nothing can be compared', () => {
    const noise = paired && { ...paired, passAt1: { value: 0.01, low: -0.02, high: 0.04 } };
    expect(textOf(renderComparison({ ...data, paired: noise }))).toContain('within what chance alone gives');
    const half = partialReport().after as EvaluationReport;
    const page = renderComparison({ ...data, after: half, paired: null });
    expectSound(page);
    expect(textOf(page)).toContain('incomplete, so nothing is compared');
  });
});
