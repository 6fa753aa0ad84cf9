/** The model of a campaign: from the run file's words, and looked for before the campaign is claimed. */
import { readTokenizer } from '../../activities/policy/tokenizer-folder.js';
import type { CampaignConfig, ModelRef, TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { VllmSettings } from '../../core/serving/settings.js';
import { VLLM } from '../../temporal.config.js';
import { type CheckpointName, checkpointAt } from './checkpoint-name.js';
import { defined } from './defined.js';
import { resolveCampaign } from './find.js';

/** The format of a served checkpoint where neither the run file nor the run says one. */
const FORMAT = 'qwen3_xml';

/** The model that a run file names; the trainer's base when it names none. Throws `UsageError`. */
export async function resolveModel(model: RunFile['model']): Promise<ModelRef> {
  if (model === undefined) return { kind: 'trainer', checkpoint: 'base' };
  if (model.kind === 'served') {
    const { serving, format = FORMAT, ...rest } = model;
    outputFormat(format, 'model.format');
    return { ...rest, format, settings: { ...VLLM, ...defined(serving) } };
  }
  if (model.kind !== 'token') return model;
  const { format, tokenizer: folder, templateOptions } = model;
  const { digest } = await readTokenizer(folder, {
    format: outputFormat(format, 'model.format'),
    templateOptions,
  });
  return { ...model, tokenizer: digest };
}

/** The checkpoint of a run that a campaign samples; undefined: the base, or a model that is not ours. */
export function checkpointAsked(config: CampaignConfig): CheckpointName | undefined {
  const model: ModelRef | undefined = 'model' in config ? config.model : undefined;
  if (model?.kind !== 'trainer' && model?.kind !== 'served') return undefined;
  return model.checkpoint === 'base' ? undefined : model.checkpoint;
}

/** Throws `UsageError` for a run that the ledger does not know, or a step that it has no checkpoint of. */
export async function requireModel(ledger: Ledger & LedgerReads, config: CampaignConfig): Promise<void> {
  const asked = checkpointAsked(config);
  if (asked === undefined) return;
  const { run, step } = asked;
  const { id, kind } = await resolveCampaign(ledger, run);
  if (kind !== 'train') throw new UsageError('--model', 'a checkpoint of a training run', `${id}, a ${kind}`);
  const rows = await ledger.checkpoints(run);
  if (checkpointAt(rows, step)) return;
  const gone = rows.find((row) => row.step === step)?.pruned;
  const steps = rows.filter(({ pruned }) => !pruned).map((row) => row.step);
  throw new UsageError(
    '--model',
    steps.length === 0 ? `a run with a checkpoint` : `a checkpoint of ${run}: ${steps.join(', ')}`,
    steps.length === 0
      ? `${run}, which has none yet`
      : `step ${step}${gone ? `, pruned at ${gone.at}: ${gone.rule}` : ''}`,
  );
}

/**
 * A checkpoint of a run whose trainer serves nothing itself, or whose run file says how it is served, behind a vLLM
 * server that is started for it; every other configuration as it is. How: as `said` of a served model says, as the run
 * says where that says nothing, else by the defaults.
 */
export async function asServed<C extends CampaignConfig>(
  ledger: Pick<Ledger, 'campaign'>,
  config: C,
  said?: RunFile['model'],
): Promise<C> {
  const checkpoint = checkpointAsked(config);
  if (checkpoint === undefined) return config;
  const trainer = await trainerOf(ledger, checkpoint.run);
  if (!trainer?.serving) return config;
  const own = said?.kind === 'served' ? said : undefined;
  const settings = { ...VLLM, ...trainer.serving, ...defined(own?.serving) };
  const format = own?.format ?? trainer.format;
  const rest = 'model' in config && config.model.kind === 'served' ? config.model : { checkpoint };
  return { ...config, model: { ...rest, kind: 'served', settings, format } };
}

/** What a run says of how its checkpoints are served. */
export async function servingOf(
  ledger: Pick<Ledger, 'campaign'>,
  run: string,
): Promise<Partial<VllmSettings>> {
  return (await trainerOf(ledger, run))?.serving ?? {};
}

async function trainerOf(ledger: Pick<Ledger, 'campaign'>, run: string): Promise<TrainConfig['trainer']> {
  return ((await ledger.campaign(run))?.config as Partial<TrainConfig> | undefined)?.trainer;
}
