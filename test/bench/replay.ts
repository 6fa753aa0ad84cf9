/**
 * `replay`: the updates of a run, applied again in new processes.
 *
 * A short training run ends; then `steadfast replay step` computes each step again in a trainer process of its own, from
 * the checkpoint before it and the recorded batch. Counted: steps whose weights, optimizer, batch or any metric came out
 * otherwise. Wall time is the whole command, the start of Node and Python included.
 */
import type { StepReplay } from '../../activities/trainer/replay-step.js';
import { chooseTasks, trainConfig } from '../../cli/run/resolve.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { LANES } from './scripted-config.js';
import { runToEnd, withStack } from './stack.js';

const RUN = 'replayed';

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  const steps = quick ? 1 : 3;
  return withStack(async (context) => {
    const suite = createDeskbench();
    const shape = quick ? { groups: 4, groupSize: 4, minInformative: 1 } : {};
    const file = { seed: 7, train: { steps, saveEvery: 1, shape, plan: { learningRate: 4.5e-4 } } };
    await runToEnd(context, RUN, await trainConfig(file, suite, await chooseTasks(suite, 'train')), LANES);
    const recorded = await (await context.ledger()).steps(`train/${RUN}`);
    const replays: { step: number; same: boolean; seconds: number; weights: string | null }[] = [];
    for (const { step, weightDigest } of recorded) {
      const from = performance.now();
      // Exit code 1, and so an error, where something came out otherwise.
      const found = await jsonOf<StepReplay>(
        '../cli/steadfast.mjs',
        ['replay', 'step', '--run', RUN, '--step', String(step), '--json'],
        { say, env: { STEADFAST_HOME: context.info.home } },
      );
      const seconds = rounded((performance.now() - from) / 1_000, 1);
      const same = found.identical && found.weightDigest === weightDigest;
      replays.push({ step, same, seconds, weights: found.weightDigest });
      say(`  step ${step}: ${same ? 'identical' : 'different'} in ${seconds} s`);
    }
    const other = replays.filter(({ same }) => !same).length;
    return [
      {
        figure: 'steps whose update came out otherwise in a new process',
        bar: '0: byte-identical weights',
        target: null,
        measured: other,
        unit: 'steps',
        holds: other === 0 && replays.length === steps,
        details: { replays },
      },
    ];
  });
}

export const replayBench: Bench = {
  name: 'replay',
  about: '3 steps, each computed again in a new process, about a minute',
  run,
};
