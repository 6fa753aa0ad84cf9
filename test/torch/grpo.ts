/** A GRPO run on deskbench with a tiny taught Qwen 3, on a stack of its own: for every trainer that can load one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openStack } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { chooseTasks } from '../../cli/run/resolve.js';
import { requireTrainerSupport } from '../../cli/run/trainer-support.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { readState } from '../../infra/stack/info.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { memoryOf, readProcesses, treeSeconds } from '../bench/process-times.js';
import { untilEnded } from '../e2e/small-run.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { withVariables } from '../variables.js';

const LANES = 8;

export type Rows = Ledger & LedgerReads;

export interface Grpo {
  readonly config: TrainConfig;
  /** Of `up`: which trainer. */
  readonly variables: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

/** What must not depend on what was killed meanwhile, and how often a trainer was restored. */
export interface Trained {
  readonly weights: readonly unknown[];
  readonly batches: readonly unknown[];
  readonly episodes: readonly string[];
  readonly checkpoints: readonly unknown[];
  readonly restores: number;
}

/** Eight tasks of the training split. */
export async function taughtTasks(): Promise<readonly string[]> {
  const tasks = await chooseTasks(createDeskbench(), 'train');
  return tasks.filter((_id, index) => index % 9 === 0).slice(0, 8);
}

/** Trains as `train/NAME`, with `disturb` beside it. */
export async function trained(
  name: string,
  { config, variables, limitMs }: Grpo,
  disturb: (ledger: Rows, home: string) => Promise<void> = async () => undefined,
): Promise<Trained> {
  const run = `train/${name}`;
  const home = temporaryHome();
  try {
    const info = await withVariables(variables, () => startStack({ home }));
    const context = openStack(info);
    try {
      await requireTrainerSupport(config, info.trainerUrl);
      const ledger = await context.ledger();
      const from = performance.now();
      await launch(context, name, config, LANES);
      await disturb(ledger, home);
      const state = await untilEnded(() => info, run, limitMs);
      if (state !== 'done') throw new Error(`${run} is ${state}`);
      say(`${((performance.now() - from) / 1_000).toFixed(0)} s; ${spent(home)}`);
      const steps = await ledger.steps(run);
      say(JSON.stringify(steps.map(({ metrics }) => metrics)));
      return {
        weights: steps.map(({ weightDigest }) => weightDigest),
        batches: steps.map(({ batchDigest }) => batchDigest),
        episodes: (await ledger.attempts(run)).map(
          ({ key, state, reward, usage, weightVersion }) =>
            `${key} ${state} ${reward} ${usage?.policySampledTokens} ${weightVersion}`,
        ),
        checkpoints: (await ledger.checkpoints(run)).map(({ step, manifest }) => [
          step,
          manifest.weightDigest,
          manifest.optimizerDigest,
        ]),
        restores: (await ledger.restores(run)).length,
      };
    } finally {
      await context.close();
    }
  } finally {
    await discard(home);
  }
}

/** Returns when the step has begun to sample and some of its episodes are clean. */
export async function whileSampling(ledger: Rows, run: string, step: number, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const rows = await ledger.attempts(run, { step });
    if (rows.some(({ state }) => state === 'clean')) return;
    if (Date.now() > deadline) throw new Error(`step ${step} of ${run} has not begun`);
    await sleep(50);
  }
}

/** CPU-seconds and memory of the stack's processes, as long as they live. */
function spent(home: string): string {
  const table = readProcesses();
  return readState(home)!
    .processes.map(
      ({ name, pid }) =>
        `${name} ${treeSeconds(pid, table).toFixed(0)} s ${(memoryOf(pid).bytes / 1e6).toFixed(0)} MB`,
    )
    .join(', ');
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
