/** Verl's trainer as one job: kept, started again from what verifies, taken over, ended. Real processes, a real ledger. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { verifyLedger } from '../../activities/ledger/verify.js';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { sweepJobs } from '../../activities/verl/keeper.js';
import { until } from '../e2e/until.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { JobHost } from './host.js';

/** A busy machine takes its time. */
vi.setConfig({ testTimeout: 300_000 });

let db: TestDatabase;
let host: JobHost;
let runs = 0;
let run = '';

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  host = await JobHost.make(db);
  run = await host.claim(`job-${runs++}`);
});
afterEach(() => host.end());

const saved = () => readdirSync(host.checkpoints).filter((name) => name.startsWith('global_step_'));

test('one that behaves: every step and checkpoint is in the ledger, old ones are gone, and nothing runs', async () => {
  const done = await host.keep(run).ended;
  expect(done).toEqual({ checkpoint: 6, restarts: 0 });
  expect(host.starts()).toMatchObject([{ from: 0, second: false }]);
  const steps = await db.ledger.steps(run);
  expect(steps.map(({ step, state }) => `${step} ${state}`)).toEqual(
    [1, 2, 3, 4, 5, 6].map((step) => `${step} done`),
  );
  expect(steps[2]!.metrics).toMatchObject({ reward: 0.03, loss: 0.1 / 3, gradNorm: 1.5, secondsSampling: 2 });
  const rows = await db.ledger.checkpoints(run);
  expect(rows.map(({ step, pruned }) => [step, pruned === undefined])).toEqual([
    [6, true],
    [4, true],
    [2, false],
  ]);
  expect(rows[0]!.manifest.files).toHaveLength(4 * 3 + 3);
  expect(saved()).toEqual(['global_step_4', 'global_step_6']);
  const lines = readFileSync(path.join(host.folder, 'reports', run, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await host.history()).toEqual(['ended']);
  expect((await verifyLedger({ pool: db.pool, ledger: db.ledger, campaign: run })).violations).toEqual([]);
  // Again: there is nothing to do.
  expect(await host.keep(run).ended).toEqual({ checkpoint: 6, restarts: 0 });
  expect(host.starts()).toHaveLength(1);
});

describe('it is started again from the newest checkpoint that verifies', () => {
  test.each([
    [
      'a crash at a step',
      { at: 5, what: 'crash' },
      4,
      /job_died: the job ended with code 1.*NCCL timeout at step 5/s,
    ],
    ['a crash at the start', { at: 0, what: 'crash' }, 0, /job_died/],
    ['SIGKILL', { at: 3, what: 'kill' }, 2, /job_died: the job was killed by SIGKILL/],
    [
      'an end in order, too early',
      { at: 5, what: 'leave' },
      4,
      /ended_early: the job ended with code 0, before its last/,
    ],
    ['a full disk in the middle of a save', { at: 4, what: 'disk' }, 2, /disk_full: .*a disk is full/],
  ])('%s', async (_name, fault, from, problem) => {
    await host.mood({ faults: [fault] });
    expect(await host.keep(run).ended).toEqual({ checkpoint: 6, restarts: 1 });
    expect(host.starts()).toMatchObject([{ from: 0 }, { from, second: false }]);
    expect((await host.note(run)).problem).toMatch(problem);
    expect(await host.history()).toEqual(['ended', 'ended']);
  });

  test.each(['missing', 'truncated'])(
    'a checkpoint with a shard %s, and the tracker pointing at it',
    async (what) => {
      await host.mood({
        faults: [
          { at: 4, what },
          { at: 5, what: 'crash' },
        ],
      });
      expect(await host.keep(run).ended).toEqual({ checkpoint: 6, restarts: 1 });
      expect(host.starts()).toMatchObject([{ from: 0 }, { from: 2 }]);
      const [restore] = await db.ledger.restores(run);
      expect(restore).toMatchObject({ wanted: 4, opened: 2, passedOver: [{ step: 4 }] });
      expect(restore!.passedOver[0]!.reason).toMatch(/world_size_4_rank_0\.pt: expected .*found/);
      // For people; the step was saved again since, from nothing.
      expect(existsSync(path.join(host.checkpoints, 'unusable_step_4'))).toBe(true);
      expect(saved()).toContain('global_step_4');
      expect((await db.ledger.checkpoints(run))[0]).toMatchObject({ step: 6 });
    },
  );

  test('one that hangs is ended, deaf to SIGTERM as it is', async () => {
    await host.mood({ deaf: true, faults: [{ at: 3, what: 'hang' }] });
    // A start on a busy machine may be silent for as long: then it is started once more.
    const patient = await host.claim(`job-${runs++}`, { restarts: 50 });
    const deps = host.deps({ silentMs: 4_000, graceMs: 200 });
    expect(await host.keep(patient, deps).ended).toMatchObject({ checkpoint: 6 });
    expect((await host.note(patient)).problem).toMatch(/^hung: no new metrics for 4 s/);
    expect(host.starts().some(({ second }) => second)).toBe(false);
    expect(host.starts().map(({ from }) => from)).toContain(2);
  });

  test('how long it may be silent, its run says', async () => {
    await host.mood({ faults: [{ at: 3, what: 'hang' }] });
    const patient = await host.claim(`job-${runs++}`, { restarts: 50, silentMs: 4_000 });
    expect(await host.keep(patient).ended).toMatchObject({ checkpoint: 6 });
    expect((await host.note(patient)).problem).toMatch(/^hung: no new metrics for 4 s/);
  });

  test('loss that is no number: from before it, whatever was saved meanwhile', async () => {
    await host.mood({
      // It is still there when the third is seen.
      faults: [...[3, 4, 5].map((at) => ({ at, what: 'nan' })), { at: 6, what: 'hang' }],
    });
    expect(await host.keep(run).ended).toEqual({ checkpoint: 6, restarts: 1 });
    expect(host.starts()).toMatchObject([{ from: 0 }, { from: 2 }]);
    expect((await host.note(run)).problem).toMatch(/^not_finite: .* in 3 steps, from step 3 on/);
    expect((await db.ledger.steps(run)).every(({ cause }) => cause === null)).toBe(true);
  });
});

test('at most so often; then it fails for good, typed, with its last words, and a person may start it again', async () => {
  await host.mood({ faults: [{ at: 3, what: 'crash', times: 4 }] });
  const failure = await host.keep(run).ended.catch((error: unknown) => error);
  expect(failure).toMatchObject({ kind: 'trainer', code: 'job_died', retry: false });
  expect(String(failure)).toMatch(/its job failed 4 times, last job_died: .*NCCL timeout at step 3/s);
  expect(await host.note(run)).toMatchObject({ state: 'failed', restarts: 3, checkpoint: 2 });
  expect(host.starts().map(({ from }) => from)).toEqual([0, 2, 2, 2]);
  expect(await host.keep(run).ended).toMatchObject({ checkpoint: 6 });
});

test('a worker that was killed leaves a job that the next one takes over: one job, no step lost', async () => {
  await host.mood({ hold: 2 });
  const first = host.keep(run);
  await host.atStep(run, 1);
  first.leave();
  await expect(first.ended).rejects.toThrow('the worker was killed');
  expect(await host.history()).toEqual(['started']);
  const second = host.keep(run);
  await until('taken over', async () => host.said.some((line) => /process \d+ taken over/.test(line)));
  await host.mood({});
  expect(await second.ended).toEqual({ checkpoint: 6, restarts: 0 });
  expect(host.starts()).toHaveLength(1);
  expect(await db.ledger.steps(run)).toHaveLength(6);
  expect(await host.history()).toEqual(['ended']);
});

test('paused while no worker was there: the next worker ends the job, and leaves one that is under way', async () => {
  await host.mood({ faults: [{ at: 3, what: 'hang' }] });
  const first = host.keep(run);
  await host.atStep(run, 2);
  first.leave();
  await first.ended.catch(() => undefined);
  expect(await sweepJobs(host.deps())).toEqual([]);
  await db.ledger.setCampaignState(run, 'paused');
  expect(await sweepJobs(host.deps())).toEqual([run]);
  expect(await host.history()).toEqual(['reaped']);
});

test('the job of another run, whose worker was killed, keeps the host', async () => {
  await host.mood({ faults: [{ at: 1, what: 'hang' }] });
  const first = host.keep(run);
  await vi.waitFor(async () => expect(host.starts()).toHaveLength(1), 120_000);
  first.leave();
  await first.ended.catch(() => undefined);
  const other = await JobHost.make(db);
  try {
    const second = await other.claim(`job-${runs++}`);
    const failure = await other
      .keep(second, { ...other.deps(), host: host.host })
      .ended.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'host_busy', retry: true });
    // Once its run is no more, nobody waits for it.
    await db.ledger.setCampaignState(run, 'stopped');
    expect(await other.keep(second, { ...other.deps(), host: host.host }).ended).toMatchObject({
      checkpoint: 6,
    });
    const [{ id } = { id: '' }] = (
      await db.pool.query<{ id: string }>('SELECT id FROM jobs WHERE run = $1', [run])
    ).rows;
    expect(await markedProcesses(id, 'STEADFAST_SERVER')).toEqual([]);
    expect(await host.history()).toEqual(['reaped', 'ended']);
  } finally {
    await other.end();
  }
});

describe('a folder is one run’s', () => {
  test('another run is refused before anything is started', async () => {
    await host.keep(run).ended;
    const second = await host.claim(`job-${runs++}`);
    const failure = await host.keep(second).ended.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'folder_taken', retry: false });
    expect(String(failure)).toContain(`found that of ${run}. Give each run a checkpoint folder of its own`);
    expect(host.starts()).toHaveLength(1);
  });

  test('and so are checkpoints of nobody knows which run', async () => {
    await mkdir(path.join(host.checkpoints, 'global_step_7'), { recursive: true });
    await expect(host.keep(run).ended).rejects.toThrow('the newest of step 7');
  });

  test('two at once: one of them has it', async () => {
    const second = await host.claim(`job-${runs++}`);
    const { claimFolder } = await import('../../activities/verl/folder.js');
    const claims = [run, second].map((id) =>
      claimFolder(host.checkpoints, { run: id, fingerprint: `sha256:${'0'.repeat(64)}` }),
    );
    const ended = await Promise.allSettled(claims);
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('a checkpoint that is changed after it was recorded is not gone on from', async () => {
    await host.mood({ faults: [{ at: 5, what: 'hang' }] });
    const first = host.keep(run);
    await host.atStep(run, 4);
    await vi.waitFor(async () => expect((await host.note(run)).checkpoint).toBe(4), 120_000);
    first.leave();
    await first.ended.catch(() => undefined);
    const shard = path.join(host.checkpoints, 'global_step_4/actor/model_world_size_4_rank_3.pt');
    await writeFile(shard, Buffer.concat([Buffer.from('other bytes '), readFileSync(shard)]));
    process.kill(host.starts()[0]!.pid, 'SIGKILL');
    expect(await host.keep(run).ended).toMatchObject({ checkpoint: 6 });
    expect(host.starts()).toMatchObject([{ from: 0 }, { from: 2 }]);
  });
});
