/**
 * A trainer that dies with its weights in step 9 of 10, with a checkpoint every 5: the finished run equals one that was
 * left alone, byte for byte, and no finished episode was generated again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { openStack } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { discard, killHard, temporaryHome } from '../setup/harness.js';
import { untilEnded } from './small-run.js';

const STEPS = 10;
const FILE: RunFile = {
  seed: 11,
  train: {
    steps: STEPS,
    saveEvery: 5,
    plan: { learningRate: 7e-4 },
    shape: { groups: 2, groupSize: 4, maxGroups: 8, maxRefillRounds: 2, minInformative: 1 },
  },
};

const homes: string[] = [];
afterEach(async () => {
  for (const home of homes.splice(0)) await discard(home);
});

it('ends with the same bytes as an undisturbed run', async () => {
  const undisturbed = await trained(async () => undefined);
  let killed = 0;
  const disturbed = await trained(async (ledger, home) => {
    await whileSampling(ledger, 9);
    const trainer = readState(home)!.processes.find(({ name }) => name === 'trainer')!;
    await killHard(trainer);
    killed++;
  });
  expect(killed).toBe(1);
  expect(disturbed.restores.length).toBeGreaterThan(0);
  for (const restore of disturbed.restores) expect(restore).toMatchObject({ opened: 5, passedOver: [] });
  expect(disturbed.weights).toEqual(undisturbed.weights);
  expect(disturbed.batches).toEqual(undisturbed.batches);
  expect(disturbed.episodes).toEqual(undisturbed.episodes);
  expect(disturbed.checkpoints).toEqual(undisturbed.checkpoints);
});

const RUN = 'train/loss';

interface Facts {
  readonly weights: readonly (string | null)[];
  readonly batches: readonly (string | null)[];
  /** Of every attempt: key, reward, tokens sampled, turns of its one clean try. */
  readonly episodes: readonly string[];
  readonly checkpoints: readonly (readonly [number, string, string])[];
  readonly restores: readonly object[];
}

/** Runs the same configuration on a stack of its own, with `disturb` beside it. */
async function trained(
  disturb: (ledger: Ledger & LedgerReads, home: string) => Promise<void>,
): Promise<Facts> {
  const home = temporaryHome();
  homes.push(home);
  const info: StackInfo = await startStack({ home });
  const context = openStack(info);
  try {
    const ledger = await context.ledger();
    const suite = createDeskbench();
    const pool = (await chooseTasks(suite, 'train')).slice(0, 40);
    await launch(context, 'loss', await trainConfig(FILE, suite, pool), 16);
    await disturb(ledger, home);
    expect(await untilEnded(() => info, RUN, 120_000)).toBe('done');
    const steps = await ledger.steps(RUN);
    const attempts = await ledger.attempts(RUN);
    return {
      weights: steps.map(({ weightDigest }) => weightDigest),
      batches: steps.map(({ batchDigest }) => batchDigest),
      episodes: attempts.map(
        ({ key, state, reward, usage, weightVersion }) =>
          `${key} ${state} ${reward} ${usage?.policySampledTokens} ${weightVersion}`,
      ),
      checkpoints: (await ledger.checkpoints(RUN)).map(
        ({ step, manifest }) => [step, manifest.weightDigest, manifest.optimizerDigest] as const,
      ),
      restores: (await ledger.restores(RUN)).map(({ wanted, opened, passedOver }) => ({
        ...{ wanted, opened, passedOver },
      })),
    };
  } finally {
    await context.close();
    await discard(home);
  }
}

/** Returns when the step has begun to sample and some of its episodes are clean. */
async function whileSampling(ledger: Ledger & LedgerReads, step: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const rows = await ledger.attempts(RUN, { step });
    if (rows.some(({ state }) => state === 'clean')) return;
    if (Date.now() > deadline) throw new Error(`step ${step} of ${RUN} has not begun`);
    await sleep(50);
  }
}
