/** Episodes of the scripted policy: next to no CPU of their own, so that what is measured is the orchestration. */
import { attemptsConfig, chooseTasks } from '../../cli/run/resolve.js';
import type { AttemptsConfig } from '../../core/campaign.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

export const SEED = 11;
/** Some mistakes, so that passes and failures both occur. */
export const ERROR_RATE = 0.1;
export const LANES = 48;

/** All benchmark tasks, `repeat` times each. */
export async function scriptedConfig(repeat: number, script: ScriptedSettings): Promise<AttemptsConfig> {
  const suite = createDeskbench();
  const file = { seed: SEED, model: { kind: 'scripted', ...script } as const, benchmark: { repeat } };
  return attemptsConfig('eval', file, suite, await chooseTasks(suite, 'benchmark'));
}
