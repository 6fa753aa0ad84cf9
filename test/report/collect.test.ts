/** A small pipeline written to a real ledger and a real artifact store, as the workflows write it, then collected. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { collectReport } from '../../activities/report/collect/collect.js';
import { compareSides } from '../../activities/report/collect/comparison.js';
import { ledgerSide } from '../../activities/report/collect/ledger-side.js';
import { episodePages } from '../../activities/report/comparison-pages.js';
import { writeReportFiles } from '../../activities/report/files.js';
import { metricsJsonl, writeMetricsFile } from '../../activities/report/metrics-jsonl.js';
import { renderReport } from '../../activities/report/render.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import type { PipelineConfig, TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { stepId } from '../../core/keys.js';
import type { ReportData } from '../../core/report-data.js';
import { type CampaignStage, stageCampaignId, stageConfig } from '../../core/stage-configs.js';
import { EPISODE_LIMITS, SAMPLING, STEP, UPDATE_PLAN } from '../../temporal.config.js';
import {
  begin,
  claim,
  clean,
  digest,
  faulted,
  member,
  planned,
  report,
  stepRow,
} from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const ID = 'pipeline/small';
const K = 4;
const POOL = ['retail:refund-01', 'retail:refund-02'];
const FACTS = { pool: POOL, heldOut: [], lastStep: 3 };
const BENCHMARK = ['bench:refund-01', 'bench:refund-02', 'bench:swap-01'];
const CONFIG: PipelineConfig = {
  kind: 'pipeline',
  suite: 'deskbench',
  suiteDigest: digest('5'),
  seed: 7,
  probe: { tasks: [...POOL, 'retail:refund-03'], repeat: K },
  selection: { minCleanRuns: 3, retainBands: ['hard', 'medium', 'easy'] },
  benchmark: { tasks: BENCHMARK, repeat: K },
  train: {
    from: 'base',
    steps: 1,
    shape: { ...STEP, groups: 1, groupSize: 2 },
    plan: UPDATE_PLAN,
    saveEvery: 1,
    validateEvery: 0,
    validation: { tasks: [], repeat: 0 },
  },
  sampling: SAMPLING,
  limits: EPISODE_LIMITS,
  maxTries: 3,
  prices: { '*': { promptPerMillion: 1, sampledPerMillion: 4 } },
};

let database: TestDatabase;
let artifacts: ArtifactStore;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sf report '));
  artifacts = createLocalArtifacts(join(folder, 'artifacts'));
  database = await startTestDatabase();
});

afterAll(async () => {
  await database?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function trajectory(key: string, passed: boolean): Promise<Digest> {
  const status = passed ? 'refunded' : 'open';
  const document = {
    format: 1,
    key,
    seed: '42',
    weightVersion: digest('b'),
    messages: [
      { role: 'user', content: `please refund order r1 . ${key}` },
      {
        role: 'assistant',
        reasoning: '',
        content: '',
        toolCalls: [{ id: 'c0', name: 'refund', arguments: { order: 'r1' } }],
      },
      { role: 'tool', callId: 'c0', name: 'refund', content: 'done .', isError: false },
    ],
    termination: 'done',
    verdict: {
      passed,
      reward: passed ? 1 : 0,
      reasons: passed ? [] : ['orders r1: expected refunded'],
      judged: [],
    },
    effects: { retail: { orders: { r1: { status } } } },
    expected: { retail: { orders: { r1: { status: 'refunded' } } } },
    usage: {
      policyPromptTokens: 200,
      policySampledTokens: 40,
      policyCalls: 2,
      otherPromptTokens: 0,
      otherSampledTokens: 0,
      otherCalls: 0,
    },
  };
  return artifacts.put(new TextEncoder().encode(JSON.stringify(document)));
}

async function finish(key: string, passed: boolean, tryNumber = 1): Promise<void> {
  const { ledger } = database;
  const start = begin(key, tryNumber);
  await ledger.beginTry(start);
  await ledger.sandboxCreated(start.sandbox.name);
  const done = clean(key, passed, tryNumber);
  await ledger.finishTry({
    ...done,
    clean: { ...done.clean, trajectory: await trajectory(key, passed) } as typeof done.clean,
  });
  await ledger.sandboxEnded(start.sandbox.name, 'released');
}

/** Plans tasks × K attempts of a stage and finishes the first `passed[task]` of each as passed; `stop` leaves the rest pending. */
async function attempts(
  stage: CampaignStage,
  tasks: readonly string[],
  passed: readonly number[],
  stop = false,
): Promise<void> {
  const { ledger } = database;
  const id = stageCampaignId(ID, stage);
  await ledger.claimCampaign(claim(id, stageConfig(ID, stage, CONFIG, FACTS), ID));
  const rows = tasks.flatMap((task) =>
    Array.from({ length: K }, (_, slot) => ({
      ...planned(id, task, String(slot)),
      template: task.includes('swap') ? 'swap' : 'refund',
    })),
  );
  await ledger.planAttempts(id, rows);
  for (const [at, row] of rows.entries()) {
    if (stop && at >= rows.length - 2) break;
    await finish(row.key, at % K < (passed[Math.floor(at / K)] ?? 0));
  }
  await ledger.setCampaignState(id, stop ? 'stopped' : 'done');
}

async function training(): Promise<void> {
  const { ledger } = database;
  const run = stageCampaignId(ID, 'train');
  await ledger.claimCampaign(
    claim(run, stageConfig(ID, 'train', CONFIG, FACTS) satisfies unknown as TrainConfig, ID),
  );
  const owner = stepId(run, 1);
  const members = [0, 1].map((index) => ({
    ...member(run, 1, [0, 0, index], POOL[0] as string),
    template: 'refund',
  }));
  expect(owner).toBe('train/small/step-0001');
  await ledger.planAttempts(run, members);
  const start = begin(members[0]?.key as string);
  await ledger.beginTry(start);
  await ledger.finishTry(faulted(members[0]?.key as string));
  await ledger.sandboxEnded(start.sandbox.name, 'reaped');
  for (const [at, each] of members.entries()) await finish(each.key, at === 0, at === 0 ? 2 : 1);
  await ledger.putStep(stepRow(run, 1, { metrics: { reward: 0.5, secondsSampling: 2 } }));
  await ledger.putGroup(run, 1, {
    round: 0,
    group: 0,
    taskId: POOL[0] as string,
    state: 'informative',
    rewards: [1, 0],
  });
  const [base, batch, after] = [digest('b'), digest('c'), digest('d')];
  const op = `${run}/1`;
  await ledger.putStep(
    stepRow(run, 1, {
      state: 'sampled',
      started: 1,
      batchDigest: batch,
      metrics: { reward: 0.5, secondsSampling: 2 },
    }),
  );
  await ledger.intendOperation({ op, run, step: 1, baseDigest: base, batchDigest: batch, plan: {} });
  await ledger.operationDone(op, report(op, base, batch, after));
  await ledger.putStep(
    stepRow(run, 1, { state: 'done', started: 1, metrics: { reward: 0.5, secondsSampling: 2 } }),
  );
  await ledger.setCampaignState(run, 'done');
}

describe('a report from a ledger', () => {
  let running: ReportData;
  let data: ReportData;

  beforeAll(async () => {
    await database.ledger.claimCampaign(claim(ID, CONFIG));
    await database.ledger.setCampaignState(ID, 'running');
    await attempts('probe', CONFIG.probe.tasks, [2, 1, 4]);
    await attempts('evaluate-base', BENCHMARK, [1, 4, 2]);
    running = await collectReport({ ledger: database.ledger, artifacts, prices: null }, ID);
    await training();
    await attempts('evaluate-final', BENCHMARK, [4, 3, 4]);
    // Still running: the report is a pipeline's last act.
    data = await collectReport({ ledger: database.ledger, artifacts }, ID);
  });

  it('has the scores of both evaluations, paired, with templates never trained on apart', () => {
    expect(data.before?.scores?.[0]).toMatchObject({
      kind: 'all',
      tasks: 3,
      attempts: 12,
      passed: 7,
      dependable: 1,
    });
    expect(data.after?.scores?.[0]).toMatchObject({ passed: 11, dependable: 2 });
    expect(data.after?.scores?.map((line) => line.label)).toEqual([
      'all',
      'templates trained on',
      'templates never trained on',
    ]);
    expect(data.paired).toMatchObject({
      gained: ['bench:refund-01', 'bench:swap-01'],
      lost: ['bench:refund-02'],
      improved: 2,
      worsened: 1,
    });
    expect(data.after?.tasks.find((task) => task.taskId === 'bench:swap-01')?.templateTrained).toBe(false);
    expect(data.warnings).toEqual([]);
  });

  it('has bands, steps with the report of their update, lineage and invariants', () => {
    expect(data.probe?.bands.map((band) => band.tasks).reduce((sum, each) => sum + each, 0)).toBe(3);
    expect(data.probe).toMatchObject({ candidates: 3, attemptsPerTask: K, meanReward: 7 / 12 });
    expect(data.training?.steps[0]?.metrics).toMatchObject({
      reward: 0.5,
      entropy: 0.5,
      klToBase: 0.001,
      secondsSampling: 2,
    });
    expect(data.training?.coverage).toMatchObject({ clean: 2, faults: { sandbox: 1 } });
    expect(data.integrity.lineage).toEqual([
      { step: 0, digest: digest('b') },
      { step: 1, digest: digest('d') },
    ]);
    expect(data.integrity.updatesApplied).toBe(1);
    expect(data.integrity.faults).toEqual([
      { taskId: POOL[0], kind: 'sandbox', code: null, duringToolCall: true, tries: 1 },
    ]);
    expect(data.integrity.wasted).toEqual({ tries: 1, tokens: 240 });
    expect(data.integrity.invariants.filter((each) => !each.holds)).toEqual([]);
    expect(data.integrity.invariants.map((each) => each.name)).toContain('Every sandbox is gone.');
  });

  it('costs what the tokens cost', () => {
    const total = (12 * (200 * 1 + 40 * 4)) / 1e6;
    expect(data.after?.cost?.total).toBeCloseTo(total, 12);
    expect(data.after?.cost?.perDependable).toBeCloseTo(total / 2, 12);
    expect(running.before?.cost).toBeNull();
  });

  it('tells a gained, a solved and a lost task from their trajectories', () => {
    expect(
      data.stories.map((story) => [story.kind, story.taskId, story.episodes.map((each) => each.passed)]),
    ).toEqual([
      ['gained', 'bench:refund-01', [false, true]],
      ['solved', 'bench:swap-01', [true]],
      ['lost', 'bench:refund-02', [true, false]],
    ]);
    const [gained] = data.stories;
    // The same repetition before and after: same seed, other weights.
    expect(new Set(gained?.episodes.map((each) => each.key.split(' · ')[2])).size).toBe(1);
    expect(gained?.before).toEqual({ passed: 1, attempts: K });
  });

  it('is finished when nothing but the report is left of the pipeline', () => {
    expect(data.run).toMatchObject({ state: 'done', endedAt: expect.any(String) as string });
    expect(renderReport(data)).not.toContain('has not finished');
  });

  it('gave a report half-way too', () => {
    expect(running.run.state).toBe('running');
    expect(running.after).toBeNull();
    expect(running.training).toBeNull();
    expect(running.before?.scores).not.toBeNull();
    expect(renderReport(running)).toContain('This campaign has not finished.');
  });

  it('collects each stage on its own', async () => {
    const sources = { ledger: database.ledger, artifacts };
    const evaluation = await collectReport(sources, 'eval/small-final');
    expect(evaluation.before).toBeNull();
    // The prices of the pipeline that started it.
    expect(evaluation.after?.cost?.total).toBe(data.after?.cost?.total);
    expect(evaluation.after?.label).toBe('evaluation');
    expect(evaluation.after?.scores?.map((line) => line.label)).toContain('templates never trained on');
    expect(evaluation.stories.map((story) => story.kind)).toEqual(['solved', 'unsolved']);
    const run = await collectReport(sources, 'train/small');
    expect(run.training?.steps).toHaveLength(1);
    expect(run.stories.length).toBeGreaterThan(0);
    expect((await collectReport(sources, 'probe/small')).probe?.candidates).toBe(3);
    for (const each of [evaluation, run]) expect(renderReport(each)).toContain('<!doctype html>');
  });

  it('compares two evaluations, and nothing else', async () => {
    const sources = { ledger: database.ledger, artifacts };
    const [from, to] = [
      await ledgerSide(sources, 'eval/small-base'),
      await ledgerSide(sources, 'eval/small-final'),
    ];
    const compared = compareSides([from, to], { programVersion: '1', generatedAt: '2026-01-01T00:00:00Z' });
    expect(compared.paired?.gained).toHaveLength(2);
    expect(compared.moved.map(({ kind, after }) => [kind, after.every(({ passed }) => passed)])).toEqual([
      ['gained', true],
      ['gained', true],
      ['lost', false],
    ]);
    const pages = await episodePages(compared, from, to, '../comparison.html');
    expect(pages.map(({ file }) => file)).toEqual(['001-gained.html', '002-gained.html', '003-lost.html']);
    expect(pages[0]?.html).toContain('href="../comparison.html"');
    expect(pages[0]?.html).toMatch(/eval\/small-base, repetition \d: failed/);
    await expect(ledgerSide(sources, 'train/small')).rejects.toThrow(UsageError);
    await expect(collectReport(sources, 'eval/nobody')).rejects.toThrow(/expected the id of a campaign/);
  });

  it('writes its files whole, in a folder of the campaign', async () => {
    const sources = { ledger: database.ledger, artifacts, reports: join(folder, 'reports') };
    const { files, complete } = await writeReportFiles(sources, ID);
    expect(complete).toBe(true);
    expect(files.html).toBe(join(folder, 'reports', 'pipeline', 'small', 'report.html'));
    expect(await readFile(files.html, 'utf8')).toContain(
      '2 of 3 benchmark tasks pass on every one of 4 attempts',
    );
    expect(await readFile(files.markdown, 'utf8')).toContain('# pipeline/small');
    expect((JSON.parse(await readFile(files.json, 'utf8')) as ReportData).run.id).toBe(ID);
    const metrics = await writeMetricsFile(database.ledger, 'train/small', sources.reports);
    const { ledger } = database;
    expect(await readFile(metrics, 'utf8')).toBe(
      metricsJsonl(await ledger.steps('train/small'), await ledger.operations('train/small')),
    );
  });

  it('shows the rest when an artifact is gone, and says which', async () => {
    const lost: ArtifactStore = {
      ...artifacts,
      get: async () => Promise.reject(new Error('the disk is gone')),
    };
    const found = await collectReport({ ledger: database.ledger, artifacts: lost }, ID);
    expect(found.stories).toEqual([]);
    expect(found.after?.scores).not.toBeNull();
    expect(found.warnings[0]).toMatch(
      /^The trajectory of eval\/small-base · bench:refund-01 · \d .*the disk is gone/,
    );
  });

  it('names a price that is missing and counts tokens instead', async () => {
    const sources = {
      ledger: database.ledger,
      artifacts,
      prices: { other: { promptPerMillion: 1, sampledPerMillion: 1 } },
    };
    const found = await collectReport(sources, ID);
    expect(found.prices).toBeNull();
    expect(found.warnings[0]).toMatch(/No cost is shown: .*a price for model "trainer"/);
  });
});

describe('an evaluation that stopped', () => {
  it('has coverage and no score', async () => {
    const { ledger } = database;
    const id = 'eval/half';
    const config = { ...stageConfig(ID, 'evaluate-base', CONFIG, FACTS) };
    await ledger.claimCampaign(claim(id, config));
    const rows = BENCHMARK.flatMap((task) =>
      Array.from({ length: K }, (_, slot) => planned(id, task, String(slot))),
    );
    // One shard of two was planned, and one attempt of it is still to run.
    await ledger.planAttempts(id, rows.slice(0, 8));
    for (const row of rows.slice(0, 7)) await finish(row.key, true);
    await ledger.setCampaignState(id, 'stopped');
    const data = await collectReport({ ledger, artifacts }, id);
    expect(data.after).toMatchObject({
      scores: null,
      coverage: { planned: 12, clean: 7, pending: 5, complete: false },
    });
    expect(data.after?.coverage.missing).toEqual(rows.slice(7).map((row) => row.key));
    expect(data.stories.every((story) => story.after === null)).toBe(true);
    expect(renderReport(data)).toContain('7 of 12 attempts are clean, so no score is shown.');
  });
});
