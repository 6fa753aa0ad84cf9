/** How long the job may tell no step before it is ended as one that hangs, against what a step is thought to take. */
import type { CheckResult } from '../../../core/preflight.js';
import { JOB } from '../../../temporal.config.js';
import { durationText } from '../../run/progress.js';
import type { Check, ClusterAsked } from '../asked.js';
import { estimateOf, newestProbes } from '../estimate.js';

export const silence: Check<ClusterAsked> = {
  name: 'hang',
  async run(asked) {
    const { config, trainer, file, stack } = asked;
    const probes = stack ? await newestProbes(await stack.ledger(), config) : [];
    const known = estimateOf(config, probes, file);
    return silenceResult(trainer.silentMs ?? JOB.silentMs, known && known.hours / config.steps);
  },
};

/** Pure. The estimate is none that a run is refused for. */
export function silenceResult(silentMs: number, hoursOfStep: number | undefined): CheckResult {
  const found = `ended and started again after ${durationText(silentMs / 1_000)} without metrics of a step`;
  if (hoursOfStep === undefined || hoursOfStep * 3_600_000 < silentMs) return { state: 'holds', found };
  const step = durationText(hoursOfStep * 3_600);
  const warning = `expected longer than a step, whose episodes alone are estimated at ${step}. Raise trainer.silentMs.`;
  return { state: 'holds', found, warning };
}
