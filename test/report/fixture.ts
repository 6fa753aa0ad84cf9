/**
 * A finished pipeline as a report sees it: 150 candidates, 15 steps of 18 × 8, the benchmark 48 × 20 before and after.
 * Numbers are drawn, believable, and consistent with each other; intervals are rough (the real ones come from
 * `core/metrics`, tested there).
 */
import type {
  CoverageReport,
  Estimate,
  EvaluationReport,
  ReportData,
  ScoreLine,
  StepReport,
  TaskScore,
} from '../../core/report-data.js';
import { binomial, chance, digest } from './chance.js';
import { stories } from './stories.js';

export const K = 20;

const TEMPLATES = {
  retail: ['address', 'broken', 'cancel', 'cancel_two*', 'refund', 'refund_lookup*'],
  travel: ['delay', 'delay_two*', 'move', 'trip', 'upgrade', 'upgrade_lookup*'],
  bank: ['dispute', 'fraud', 'fraud_new*', 'lost_card', 'lost_two*', 'transfer'],
} as const;

/** 48 tasks: three of each template that is trained on, two of each that is not. */
function tasks(seed: number, lift: number): TaskScore[] {
  const ability = chance(7);
  const random = chance(seed);
  return Object.entries(TEMPLATES).flatMap(([domain, names]) =>
    names.flatMap((name) => {
      const trained = !name.endsWith('*');
      const template = name.replace('*', '');
      return Array.from({ length: trained ? 3 : 2 }, (_, index) => {
        const base = Math.min(0.985, 0.1 + 0.92 * ability() ** 1.25);
        const gain = lift * (trained ? 1 : 0.55);
        const eager = ability();
        const rate = Math.min(0.999, base + (1 - base) * gain * (0.2 + 1.15 * eager ** 0.5));
        return {
          taskId: `${domain}_benchmark:${template}-0${index + 1}`,
          domain,
          template,
          templateTrained: trained,
          passed: binomial(random, K, rate),
          attempts: K,
        };
      });
    }),
  );
}

function estimate(values: readonly number[]): Estimate {
  if (values.length < 2) return { value: values[0] ?? 0, low: null, high: null };
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
  const half = (1.96 * spread) / Math.sqrt(values.length);
  return { value: mean, low: Math.max(0, mean - half), high: Math.min(1, mean + half) };
}

function line(label: string, kind: ScoreLine['kind'], rows: readonly TaskScore[]): ScoreLine {
  return {
    label,
    kind,
    tasks: rows.length,
    attempts: rows.length * K,
    passed: rows.reduce((sum, row) => sum + row.passed, 0),
    passAt1: estimate(rows.map((row) => row.passed / K)),
    passAtK: estimate(rows.map((row) => (row.passed > 0 ? 1 : 0))),
    observedK: estimate(rows.map((row) => (row.passed === K ? 1 : 0))),
    dependable: rows.filter((row) => row.passed === K).length,
  };
}

export function coverage(
  planned: number,
  passed: number,
  faults: CoverageReport['faults'] = {},
): CoverageReport {
  return {
    planned,
    clean: planned,
    passed,
    pending: 0,
    exhausted: 0,
    faults,
    complete: true,
    exhaustedAsFailed: false,
    missing: [],
  };
}

export function evaluation(
  label: 'before' | 'after',
  rows: readonly TaskScore[],
  weightVersion: string,
): EvaluationReport {
  const all = line('all', 'all', rows);
  const sampled = label === 'before' ? 36_912 : 33_740;
  const prompt = label === 'before' ? 301_870 : 288_204;
  const total = (prompt * 0.1 + sampled * 0.4) / 1e6;
  return {
    id: label === 'before' ? 'eval/demo-base' : 'eval/demo-final',
    label,
    state: 'done',
    weightVersion,
    model: 'embedded',
    k: K,
    coverage: coverage(
      rows.length * K,
      all.passed,
      label === 'before' ? { sandbox: 2, policy: 1 } : { sandbox: 1 },
    ),
    scores: [
      all,
      ...[...new Set(rows.map((row) => row.domain))].map((domain) =>
        line(
          domain,
          'domain',
          rows.filter((row) => row.domain === domain),
        ),
      ),
      line(
        'templates trained on',
        'templates',
        rows.filter((row) => row.templateTrained),
      ),
      line(
        'templates never trained on',
        'templates',
        rows.filter((row) => !row.templateTrained),
      ),
    ],
    tasks: rows,
    terminations: { done: rows.length * K - 21, agent_limit: 9, user_limit: 8, token_budget: 4 },
    usage: {
      policyPromptTokens: prompt,
      policySampledTokens: sampled,
      policyCalls: 3_902,
      otherPromptTokens: 41_310,
      otherSampledTokens: 2_204,
      otherCalls: 388,
    },
    cost: {
      total,
      perSuccess: total / all.passed,
      perDependable: all.dependable > 0 ? total / all.dependable : null,
    },
    wallSeconds: label === 'before' ? 19.4 : 17.8,
  };
}

function steps(digests: readonly string[]): StepReport[] {
  const random = chance(99);
  const wobble = (size: number): number => (random() - 0.5) * size;
  return digests.slice(1).map((weightDigest, index) => {
    const progress = 1 - Math.exp(-(index + 1) / 7);
    const zero = 0.19 + 0.31 * progress + wobble(0.08);
    const refills = Math.max(1, Math.round((18 * zero) / (1 - zero) + wobble(3)));
    return {
      step: index + 1,
      state: 'done',
      cause: null,
      baseDigest: digests[index] ?? null,
      weightDigest,
      metrics: {
        reward: 0.49 + 0.22 * progress + wobble(0.05),
        zeroVarianceShare: zero,
        refillGroups: refills,
        refillRounds: Math.min(3, 1 + Math.floor(refills / 6)),
        groupsStarted: 18 + refills,
        informativeGroups: 18,
        episodes: (18 + refills) * 8,
        systemErrors: index === 4 ? 7 : index === 10 ? 1 : 0,
        entropy: 0.213 - 0.075 * progress + wobble(0.012),
        klToBase: 0.0205 * progress * (1 + index / 14) + Math.abs(wobble(0.001)),
        responseTokens: 38.4 - 2.1 * progress + wobble(0.9),
        truncatedShare: 0,
        gradNorm: 0.42 - 0.13 * progress + wobble(0.09),
        clipFraction: 0.0008 + Math.abs(wobble(0.0012)),
        mismatchMean: 1.1e-6 + Math.abs(wobble(4e-7)),
        mismatchMax: 2.4e-5 + Math.abs(wobble(8e-6)),
        mismatchShare: 0,
        loss: -0.004 + wobble(0.004),
        tokens: Math.round(144 * (38.4 - 2.1 * progress)),
        skipped: false,
        secondsSampling: 2.1 + refills * 0.07 + Math.abs(wobble(0.5)) + (index === 4 ? 4.2 : 0),
        secondsUpdate: 1.62 + wobble(0.2),
        secondsPublish: 0.08 + Math.abs(wobble(0.02)),
        secondsVerify: 0.21 + Math.abs(wobble(0.04)),
        secondsCheckpoint: (index + 1) % 5 === 0 ? 0.19 : 0,
      },
    };
  });
}

export function demoReport(): ReportData {
  const random = chance(2026);
  const digests = Array.from({ length: 16 }, () => digest(random));
  const base = digests[0] as string;
  const final = digests[15] as string;
  const from = tasks(11, 0.02);
  const to = tasks(12, 0.72);
  const before = evaluation('before', from, base);
  const after = evaluation('after', to, final);
  const dependable = (rows: readonly TaskScore[]): Set<string> =>
    new Set(rows.filter((row) => row.passed === K).map((row) => row.taskId));
  const [was, is] = [dependable(from), dependable(to)];
  const gained = [...is].filter((id) => !was.has(id));
  const lost = [...was].filter((id) => !is.has(id));
  const change = to.map((row, index) => (row.passed - (from[index] as TaskScore).passed) / K);
  const trained = steps(digests);
  const episodes = trained.reduce((sum, step) => sum + Number(step.metrics.episodes), 0);
  return {
    format: 1,
    run: {
      id: 'pipeline/demo',
      kind: 'pipeline',
      state: 'done',
      cause: null,
      suite: 'deskbench',
      suiteDigest: digest(random),
      fingerprint: digest(random),
      model: 'embedded',
      seeds: { run: 1 },
      baseDigest: base,
      finalDigest: final,
      programVersion: '0.1.0',
      createdAt: '2026-11-29T20:10:04.120Z',
      endedAt: '2026-11-29T20:15:41.900Z',
      generatedAt: '2026-11-29T20:15:42.300Z',
      config: {
        'train.steps': '15',
        'train.shape.groups': '18',
        'train.shape.groupSize': '8',
        'train.plan.learningRate': '0.0007',
        'sampling.temperature': '1',
        'sampling.topK': '20',
        'sampling.topP': '0.95',
        'benchmark.repeat': '20',
        maxTries: '3',
      },
    },
    probe: {
      id: 'probe/demo',
      attemptsPerTask: 8,
      candidates: 150,
      bands: [
        { band: 'too_hard', name: 'infrequently solved', low: 0, high: 0.08, tasks: 11, retained: false },
        { band: 'hard', name: 'difficult', low: 0.08, high: 0.4, tasks: 52, retained: true },
        { band: 'medium', name: 'intermediate', low: 0.4, high: 0.6, tasks: 24, retained: true },
        { band: 'easy', name: 'frequently solved', low: 0.6, high: 0.9, tasks: 49, retained: true },
        { band: 'too_easy', name: 'nearly always solved', low: 0.9, high: 1, tasks: 14, retained: false },
      ],
      coverage: coverage(1200, 581, { sandbox: 1 }),
      meanReward: 581 / 1200,
      selected: 125,
      trainTasks: 125,
      testTasks: 0,
      leftOut: { difficulty_not_retained: 25 },
      wallSeconds: 24.1,
    },
    training: {
      id: 'train/demo',
      state: 'done',
      cause: null,
      plannedSteps: 15,
      poolTasks: 125,
      groups: 18,
      groupSize: 8,
      steps: trained,
      coverage: coverage(episodes, Math.round(episodes * 0.63), { policy: 6, sandbox: 2 }),
      checkpoints: 3,
      wallSeconds: 81.3,
    },
    before,
    after,
    paired: {
      tasks: 48,
      passAt1: {
        ...estimate(change),
        low: estimate(change).value - 0.052,
        high: estimate(change).value + 0.049,
      },
      observedK: {
        value: (is.size - was.size) / 48,
        low: (is.size - was.size) / 48 - 0.1,
        high: (is.size - was.size) / 48 + 0.1,
      },
      gained,
      lost,
      improved: change.filter((each) => each > 0).length,
      worsened: change.filter((each) => each < 0).length,
      unchanged: change.filter((each) => each === 0).length,
    },
    prices: { model: 'small-open-model', promptPerMillion: 0.1, sampledPerMillion: 0.4 },
    integrity: {
      invariants: [
        {
          name: 'Every attempt is accounted for.',
          holds: true,
          detail: '6,664 planned = 6,664 clean + 0 exhausted + 0 pending',
        },
        {
          name: 'No attempt counts twice.',
          holds: true,
          detail: 'one clean outcome a key; 3 late results were superseded and ignored',
        },
        {
          name: 'Every sandbox is gone.',
          holds: true,
          detail: '6,677 recorded = 6,671 released + 6 reaped + 0 open',
        },
        {
          name: 'One line of weights.',
          holds: true,
          detail: '15 updates, each on the weights that the one before left',
        },
      ],
      faults: [
        { taskId: 'travel:move-07', kind: 'policy', code: 'overloaded', duringToolCall: false, tries: 7 },
        { taskId: 'retail:refund-03', kind: 'sandbox', code: null, duringToolCall: true, tries: 4 },
        { taskId: 'bank_benchmark:fraud-02', kind: 'sandbox', code: null, duringToolCall: true, tries: 2 },
      ],
      wasted: { tries: 13, tokens: 3_180 },
      updatesApplied: 15,
      updatesSkipped: 0,
      lineage: digests.map((each, step) => ({ step, digest: each })),
    },
    stories: stories(base, final),
    reproduce: ['npm run demo', 'npx steadfast report pipeline/demo', 'npx steadfast verify ledger'],
    warnings: [],
  };
}

/** The same pipeline stopped in its second evaluation: scores of the first only, and a banner. */
export function partialReport(): ReportData {
  const data = demoReport();
  const after = data.after as EvaluationReport;
  return {
    ...data,
    run: { ...data.run, state: 'stopped', endedAt: null },
    after: {
      ...after,
      state: 'stopped',
      scores: null,
      cost: null,
      coverage: {
        ...after.coverage,
        clean: 611,
        passed: 402,
        pending: 346,
        exhausted: 3,
        complete: false,
        faults: { sandbox: 9, policy: 4 },
        missing: after.tasks.slice(0, 8).map((task) => `eval/demo-final · ${task.taskId} · 14`),
      },
    },
    paired: null,
  };
}

/** Nothing but a claimed campaign. */
export function emptyReport(): ReportData {
  const data = demoReport();
  return {
    ...data,
    run: { ...data.run, state: 'running', endedAt: null, finalDigest: null, config: {}, seeds: {} },
    probe: null,
    training: null,
    before: null,
    after: null,
    paired: null,
    prices: null,
    integrity: {
      invariants: [],
      updatesApplied: 0,
      updatesSkipped: 0,
      lineage: [],
      faults: [],
      wasted: null,
    },
    stories: [],
    reproduce: [],
  };
}
