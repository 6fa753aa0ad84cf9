/**
 * `replay step --fork`: a new run that begins in the state before a step, trains on the recorded episodes of that step
 * under other settings, and then samples its own. The source run is not touched.
 */
import path from 'node:path';
import { restoreBefore } from '../../activities/trainer/replay-state.js';
import type { TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { configDiff, describeChanges, fingerprint } from '../../core/fingerprint.js';
import { campaignId } from '../../core/keys.js';
import type { CampaignRow, StepRow } from '../../core/ledger.js';
import { stepsInAll } from '../../core/stage-configs.js';
import type { StackContext } from '../context.js';
import { say } from '../output.js';
import { driftOfPrompts, driftOfSuite, driftOfTrainer, settleDrift } from './drift.js';
import type { ReplayOptions } from './finished.js';
import { withSettings } from './settings.js';
import { withReplayTrainer } from './trainer.js';

export interface ForkOptions extends ReplayOptions {
  readonly name: string;
  readonly settings: readonly string[];
}

/**
 * The fork's configuration, with everything in place that its start needs: the state before the step as a verified
 * checkpoint of the source run. Throws `UsageError` for a name in use, settings that are wrong, and drift.
 */
export async function prepareFork(
  context: StackContext,
  row: CampaignRow,
  step: StepRow,
  options: ForkOptions,
): Promise<TrainConfig> {
  const ledger = await context.ledger();
  const suite = await driftOfSuite(row);
  const prompts = await driftOfPrompts(row);
  const found = { suite: suite[0]?.found, prompts: prompts[0]?.found };
  const config = withSettings(forkConfig(row, step.step, found), options.settings);
  const id = campaignId('train', options.name);
  const known = await ledger.campaign(id);
  if (known && known.fingerprint !== fingerprint(config)) {
    throw new UsageError(
      `--fork ${options.name}`,
      'a new name, or the fork that it names with the same settings',
      `${id}, which is ${known.state} and another run:\n${describeChanges(configDiff(known.config, config).slice(0, 10))}`,
    );
  }
  await withReplayTrainer(context, options.trainer, async ({ trainer, signal, scratch }) => {
    const drift = [...suite, ...prompts, ...(await driftOfTrainer(ledger, row, trainer, signal))];
    await settleDrift(ledger, row, drift, options.acceptDrift);
    const artifacts = await context.artifacts();
    const source = row.config as TrainConfig;
    const restored = await restoreBefore(
      { ledger, artifacts, trainer, config: source, scratch, refuseLost: !options.mend },
      row.id,
      step.step,
      signal,
    );
    for (const what of restored.mended) say(what);
    await requireSameWeights(context, step, restored.state.weightDigest);
    if (step.step === 1) return;
    const folder = path.join(context.info.home, 'checkpoints', row.id.replace('/', '-'));
    const saved = await trainer.checkpoint(row.id, folder, signal);
    await ledger.putCheckpoint({
      run: row.id,
      step: step.step - 1,
      path: saved.path,
      manifest: saved.manifest,
    });
    say(`state before step ${step.step}: ${saved.path}`);
  });
  return config;
}

/** `found`: digests of today's suite and prompts where they have changed, which then was accepted. */
function forkConfig(
  { id, config, result }: CampaignRow,
  step: number,
  found: { readonly suite: string | undefined; readonly prompts: string | undefined },
): TrainConfig {
  const source = config as TrainConfig;
  return {
    ...source,
    ...(found.suite === undefined ? {} : { suiteDigest: found.suite }),
    ...(found.prompts && source.people ? { people: { ...source.people, prompts: found.prompts } } : {}),
    from: step === 1 ? source.from : { run: id, step: step - 1 },
    reuse: { run: id, step },
    steps: Math.max(1, stepsInAll(source, result) - (step - 1)),
  };
}

/** Episodes may be trained on only from the weights that sampled them. */
async function requireSameWeights(context: StackContext, { run, step }: StepRow, state: string | undefined) {
  const attempts = await (await context.ledger()).attempts(run, { step });
  const other = attempts.find((row) => row.state === 'clean' && row.weightVersion !== state);
  if (!other) return;
  throw new UsageError(
    `fork of ${run}, step ${step}`,
    `episodes sampled from the weights before the step, ${state}`,
    `${other.key}, sampled from ${other.weightVersion}`,
  );
}
