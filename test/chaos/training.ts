/** The training run that chaos disturbs, and its twin: small steps, many of them, reproducible to the byte. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StackContext } from '../../cli/context.js';
import { sendUpdate } from '../../cli/control.js';
import { extendRun } from '../../cli/run/extend.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import { troublesOf } from '../../cli/run/troubles.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { stepsInAll } from '../../core/stage-configs.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

/** The same for the disturbed run and its twin: keys, and with them seeds, follow from it. */
const NAME = 'chaos';
export const RUN = `train/${NAME}`;
const LANES = 8;
const FIRST_STEPS = 2;
/** A step that fails for the same reason again and again will not be mended by making it once more. */
const MOST_PAUSES = 5;
/** The run is made longer when it has so many steps left or fewer. */
const AHEAD = 2;

function runFile(seed: number, steps: number): RunFile {
  return {
    seed,
    // A try that met a fault is to be made again, however many there are: a group that cannot be completed would
    // be replaced, and the run would rightly differ from one that was left alone.
    maxTries: 100,
    train: {
      steps,
      saveEvery: 3,
      // Weights move in every step, and the pool is not solved within the hour: then there would be nothing to do.
      plan: { learningRate: 5e-5 },
      shape: { groups: 4, groupSize: 4, maxGroups: 16, maxRefillRounds: 2, minInformative: 1 },
    },
  };
}

/** Starts the run, or goes on with it; when it is under way, nothing. */
export async function start(context: StackContext, seed: number, steps = FIRST_STEPS): Promise<void> {
  const suite = createDeskbench();
  const pool = await chooseTasks(suite, 'train');
  await launch(context, NAME, await trainConfig(runFile(seed, steps), suite, pool), LANES);
}

/** Steps that have ended, and that there will be. */
export async function stepsOf(
  context: StackContext,
): Promise<{ readonly done: number; readonly all: number }> {
  const ledger = await context.ledger();
  const row = await ledger.campaign(RUN);
  const steps = await ledger.steps(RUN);
  return {
    done: steps.filter(({ state }) => state === 'done' || state === 'skipped').length,
    all: row ? stepsInAll(row.config as TrainConfig, row.result) : 0,
  };
}

/** Makes the run longer when it is about to end. */
export async function keepGoing(context: StackContext): Promise<void> {
  const row = await (await context.ledger()).campaign(RUN);
  if (!row) return;
  const { done, all } = await stepsOf(context);
  if (all - done <= AHEAD) await extendRun(context, row, all + AHEAD);
}

export interface Ending {
  readonly state: string;
  readonly steps: number;
  /** Why it paused on the way, each time it did; it was unpaused. */
  readonly pauses: readonly string[];
  /** When it did not end in time: what it waited for. */
  readonly waitsFor: readonly string[];
}

/** Waits until the run is done, or `limitMs` have passed. A step that failed is made again, as a person would. */
export async function untilDone(context: StackContext, limitMs: number): Promise<Ending> {
  const ledger = await context.ledger();
  const pauses: string[] = [];
  const deadline = Date.now() + limitMs;
  for (;;) {
    const row = await ledger.campaign(RUN);
    const { done } = await stepsOf(context);
    const state = row?.state ?? 'unknown';
    const ending = { state, steps: done, pauses, waitsFor: [] };
    if (state === 'failed' || state === 'stopped' || state === 'done') return ending;
    if (state === 'paused') {
      if (pauses.length === MOST_PAUSES) return { ...ending, waitsFor: pauses.slice(-1) };
      pauses.push(JSON.stringify(row?.result));
      await sendUpdate(context, RUN, 'unpause');
    }
    if (Date.now() > deadline) {
      const troubles = await troublesOf(await context.temporal(), [RUN]);
      const waitsFor = troubles.map(({ activity, count, message }) => `${count} × ${activity}: ${message}`);
      return { ...ending, waitsFor };
    }
    await sleep(400);
  }
}
