/**
 * What `replay` refuses, on a real stack: a suite or a trainer that has changed (of a finished step, a failed one, and a
 * fork alike), damaged and pruned records, trainers that are in use; each with its place, and nothing begun.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { trainConfig } from '../../cli/run/resolve.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { startPrivateTrainer } from '../../infra/stack/private-trainer.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { type Ran, steadfast } from '../in-process.js';
import { LONG } from '../long.js';
import { discard, temporaryHome } from '../setup/harness.js';

const RUN = 'train/source';
/** Its first step is that of the source; the second fails, since no agent may act in it. */
const STUCK = 'train/stuck';
const FILE: RunFile = {
  seed: 3,
  train: {
    steps: 2,
    saveEvery: 1,
    plan: { learningRate: 7e-4 },
    shape: { groups: 3, groupSize: 4, maxGroups: 9, minInformative: 1 },
  },
};

let home = '';
let context: StackContext;
let ledger: Ledger & LedgerReads;
let pool: pg.Pool;

beforeAll(async () => {
  home = temporaryHome();
  const info = await startStack({ home });
  context = openStack(info);
  ledger = await context.ledger();
  pool = createPool(info.databaseUrl, { max: 2 });
  const suite = createDeskbench();
  const tasks = (await suite.tasks()).filter(({ split }) => split === 'train').slice(0, 24);
  const ids = tasks.map(({ id }) => id);
  await launch(context, 'source', await trainConfig(FILE, suite, ids), 12);
  await until(`${RUN} done`, async () => (await ledger.campaign(RUN))?.state === 'done');
  await replayStep('source', 1, '--fork', 'stuck', '--set', 'limits.agentActions=1', '--detach');
  await until(`${STUCK} paused`, async () => (await ledger.campaign(STUCK))?.state === 'paused');
  expect((await ledger.steps(STUCK)).map(({ state }) => state)).toEqual(['done', 'failed']);
}, 300_000);
afterAll(async () => {
  await pool?.end();
  await context?.close();
  await discard(home);
});

function replayStep(run: string, step: number, ...rest: readonly string[]): Promise<Ran> {
  return steadfast(home, 'replay', 'step', '--run', run, '--step', `${step}`, ...rest);
}

/** What is refused for drift, and what goes on when it is accepted. */
const PATHS = [
  { path: 'a finished step', run: RUN, args: ['source', 2] },
  { path: 'a failed step', run: STUCK, args: ['stuck', 2] },
  { path: 'a fork', run: RUN, args: ['source', 2, '--fork', 'drifted', '--set', 'steps=1'] },
] as const;

describe.each(LONG ? PATHS : PATHS.slice(0, 1))('$path', ({ path, run, args: [name, step, ...rest] }) => {
  it('of another suite is refused with the difference, and nothing runs', async () => {
    const tries = await triesOf(run);
    await withDrift(run, 'suite', async () => {
      const ran = await replayStep(name, step, ...rest);
      expect(ran.code).toBe(2);
      expect(ran.err).toMatch(/suite deskbench: sha256:old → sha256:[0-9a-f]{64}/);
      expect(ran.err).toContain('--accept-drift');
    });
    expect(await triesOf(run)).toBe(tries);
    expect(await ledger.campaign('train/drifted')).toBeUndefined();
  });

  it('of another trainer build is refused with the difference; accepted, it is recorded with the run', async () => {
    await withDrift(run, 'trainer', async (found) => {
      const difference = `trainer build: embedded of old → ${found}`;
      expect(await replayStep(name, step, ...rest)).toMatchObject({
        code: 2,
        err: expect.stringContaining(difference),
      });
      const accepted = await replayStep(name, step, ...rest, '--accept-drift');
      // A failed step whose cause lasts fails again, after it has gone on.
      expect(accepted.code, accepted.err).toBe(path === 'a failed step' ? 1 : 0);
      expect((await ledger.campaign(run))!.result).toMatchObject({
        acceptedDrift: expect.arrayContaining([
          {
            what: 'trainer build',
            recorded: 'embedded of old',
            found,
            acceptedAt: expect.stringMatching(/^20/),
          },
        ]),
      });
      // Nobody is asked twice.
      if (path === 'a finished step') expect((await replayStep(name, step)).code).toBe(0);
    });
    await pool.query(`UPDATE campaigns SET result = result - 'acceptedDrift' WHERE id = $1`, [run]);
  });
});

it('an episode of another suite is refused with the difference', async () => {
  const { key } = (await ledger.attempts(RUN, { step: 1 }))[0]!;
  await withDrift(RUN, 'suite', async () => {
    const ran = await steadfast(home, 'replay', 'episode', key);
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(/suite deskbench: sha256:old →/) });
  });
});

describe('names', () => {
  it.each([
    [['sauce', 1, '--fork', 'x'], /train\/source/],
    [['source', 9, '--fork', 'x'], /Nearest: 1 \(done\), 2 \(done\)/],
    [['stuck', 3], /Nearest: 1 \(done\), 2 \(failed\)/],
  ] as const)('that nothing has, of %j: the nearest are said', async ([run, step, ...rest], message) => {
    expect(await replayStep(run, step, ...rest)).toMatchObject({
      code: 2,
      err: expect.stringMatching(message),
    });
  });

  it('of a run to be compared: the nearest run is said, not an evaluation', async () => {
    for (const names of [
      ['source', 'sauce'],
      ['sauce', 'source'],
    ])
      expect(await steadfast(home, 'compare', ...names)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/a known training run, found "sauce".*train\/source/),
      });
  });

  it('of an episode that is nearly one: the nearest keys are said', async () => {
    const { key } = (await ledger.attempts(RUN, { step: 1 }))[0]!;
    const ran = await steadfast(home, 'replay', 'episode', `${key}x`);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(`Nearest: ${key}`) });
  });
});

describe('a damaged record', () => {
  it('an episode of a finished step: digest and path are named, the step is not passed over', async () => {
    const { trajectory } = (await ledger.attempts(RUN, { step: 2 })).find(({ state }) => state === 'clean')!;
    await withFile((await context.artifacts()).path(trajectory!), 'damaged', async (file) => {
      const ran = await replayStep('source', 2);
      expect(ran.code).toBe(1);
      for (const said of [trajectory!, file, 'corrupt']) expect(ran.err).toContain(said);
    });
  });

  it.each(['damaged', 'gone'] as const)(
    'a fork whose way to its start is %s: digest and path',
    async (how) => {
      const { batchDigest } = (await ledger.operations(RUN))[0]!;
      const [checkpoint] = (await ledger.checkpoints(RUN)).filter(({ step }) => step === 1);
      const batch = (await context.artifacts()).path(batchDigest);
      // Without the checkpoint, its state follows from the base and the batch of step 1.
      await withFile(join(checkpoint!.path, 'model.safetensors'), 'damaged', () =>
        withFile(batch, how, async (file) => {
          const ran = await replayStep('source', 2, '--fork', 'unmade');
          expect(ran.code).toBe(1);
          for (const said of [batchDigest, file, how === 'gone' ? 'missing' : 'corrupt']) {
            expect(ran.err).toContain(said);
          }
          if (how === 'gone') expect(ran.err).toMatch(/No rule of this version prunes artifacts/);
        }),
      );
      expect(await ledger.campaign('train/unmade')).toBeUndefined();
    },
  );

  it('weights that are to be evaluated: the file is named, by the dry run too, and nothing is begun', async () => {
    const [checkpoint] = (await ledger.checkpoints(RUN)).filter(({ step }) => step === 1);
    const evaluate = (...rest: readonly string[]) =>
      steadfast(home, 'evaluate', 'unmade', '--model', 'source@1', '--repeat', '1', ...rest);
    await withFile(join(checkpoint!.path, 'model.safetensors'), 'gone', async (file) => {
      for (const ran of [await evaluate(), await evaluate('--dry-run')]) {
        expect(ran.code).toBe(2);
        expect(ran.err).toMatch(new RegExp(`source@1: expected every file.*${file}: expected \\d+ bytes`));
      }
    });
    expect(await ledger.campaign('eval/unmade')).toBeUndefined();
    const whole = await evaluate('--dry-run');
    expect(whole).toMatchObject({ code: 0, out: expect.stringMatching(/source@1: \d+ files, all there/) });
  });

  it('a start that was pruned: when, and by what rule', async () => {
    await pool.query(
      `UPDATE checkpoints SET pruned_at = '2026-11-01T10:00:00Z', pruned_by = 'keeps the last 2' WHERE run = $1 AND step = 1`,
      [RUN],
    );
    try {
      const ran = await steadfast(home, 'evaluate', 'pruned', '--model', 'source@1', '--repeat', '1');
      expect(ran.code).not.toBe(0);
      expect(ran.err + ran.out).toMatch(/pruned at 2026-11-01T10:00:00.*: keeps the last 2/);
      // A replay needs it not: it begins at an older state, and applies more batches.
      expect((await replayStep('source', 2)).out).toMatch(/identical/);
    } finally {
      await pool.query(
        'UPDATE checkpoints SET pruned_at = NULL, pruned_by = NULL WHERE run = $1 AND step = 1',
        [RUN],
      );
    }
  });
});

describe('--trainer URL', () => {
  it('an idle trainer computes the step; then it has a session, and is refused until it is started again', async () => {
    const { url, stop } = await startPrivateTrainer(home);
    try {
      const ran = await replayStep('source', 2, '--trainer', url, '--json');
      expect(JSON.parse(ran.out)).toMatchObject({ identical: true, differences: [] });
      expect(ran.code).toBe(0);
      expect(await replayStep('source', 2, '--trainer', url)).toMatchObject({
        code: 2,
        err: expect.stringMatching(
          /a trainer without an open session, found one with a session of train\/source/,
        ),
      });
    } finally {
      await stop();
    }
  });

  it("the run's own is in use", async () => {
    const ran = await replayStep('source', 2, '--trainer', context.info.trainerUrl);
    expect(ran).toMatchObject({ code: 2, err: expect.stringMatching(/a trainer without an open session/) });
  });

  it('one that nobody answers at, and what is no address', async () => {
    const nobody = await replayStep('source', 2, '--trainer', 'http://127.0.0.1:9');
    expect(nobody.code).toBe(1);
    expect(nobody.err).toContain('http://127.0.0.1:9');
    const nonsense = await replayStep('source', 2, '--trainer', 'localhost');
    expect(nonsense).toMatchObject({ code: 2, err: expect.stringMatching(/Expected an address/) });
  });
});

/** Tries of a run: what was begun for it. */
async function triesOf(run: string): Promise<number> {
  return (await ledger.attempts(run)).reduce((sum, { tries }) => sum + tries, 0);
}

/** The record says that the run was made with another suite, or by another trainer; `work` is told today's. */
async function withDrift(
  run: string,
  what: 'suite' | 'trainer',
  work: (found: string) => Promise<void>,
): Promise<void> {
  const { suiteDigest } = (await ledger.campaign(run))!;
  const { trainerBuild } = (await ledger.checkpoints(run))[0]!.manifest;
  const build = (value: string) =>
    pool.query(
      `UPDATE checkpoints SET manifest = jsonb_set(manifest, '{trainerBuild}', to_jsonb($1::text)) WHERE run = $2`,
      [value, run],
    );
  const suite = (value: string) =>
    pool.query('UPDATE campaigns SET suite_digest = $1 WHERE id = $2', [value, run]);
  if (what === 'suite') await suite('sha256:old');
  else await build('embedded of old');
  try {
    await work(what === 'suite' ? suiteDigest : trainerBuild);
  } finally {
    await suite(suiteDigest);
    await build(trainerBuild);
  }
}

/** The file has other bytes of the same length while `work` runs, or is not there. */
async function withFile(
  file: string,
  how: 'damaged' | 'gone',
  work: (file: string) => Promise<void>,
): Promise<void> {
  const bytes = readFileSync(file);
  if (how === 'gone') await rm(file);
  else writeFileSync(file, Buffer.from(bytes).reverse());
  try {
    await work(file);
  } finally {
    writeFileSync(file, bytes);
  }
}
