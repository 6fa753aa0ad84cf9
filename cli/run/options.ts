/** Options that several verbs share, and what they mean. */
import { type Command, InvalidArgumentError } from 'commander';
import type { ModelRef } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { campaignId } from '../../core/keys.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import { LANES } from '../../temporal.config.js';

export interface StageOptions {
  readonly file?: string;
  readonly suite?: string;
  readonly tasks?: string;
  readonly model?: string;
  readonly repeat?: number;
  readonly seed?: number;
  readonly lanes: number;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function stageOptions(command: Command): Command {
  return command
    .option('--file <run.yaml>', 'run file; flags win over it')
    .option('--suite <name>', 'deskbench, or thinkingbox with a checkout')
    .option('--tasks <list.yaml>', 'only these task ids')
    .option('--seed <n>', 'seed of the campaign', integer(0))
    .option('--lanes <n>', 'episodes in flight; changes speed, never results', integer(1), LANES)
    .option('--detach', 'start it and return; it goes on in the workers')
    .option('--dry-run', 'resolve and check everything, start nothing')
    .option('--json', 'print the result as one JSON document');
}

/** An integer option. */
export function integer(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected an integer from ${least}.`);
  };
}

const MODEL_FORMS = 'base, RUN@STEP, RUN@latest, scripted, or https://host/v1#model';

/** `--model` as a reference. Throws `UsageError` with the forms it can have. */
export function parseModel(text: string): ModelRef {
  if (text === 'base') return { kind: 'trainer', checkpoint: 'base' };
  if (text === 'scripted') return { kind: 'scripted', errorRate: 0, turnDelayMs: 0 };
  const url = /^(https?:\/\/[^#]+)#(.+)$/.exec(text);
  if (url) return { kind: 'chat', baseUrl: url[1]!, model: url[2]!, apiKeyEnv: null };
  const checkpoint = /^(?:train\/)?([^@]+)@(\d+|latest)$/.exec(text);
  if (checkpoint) {
    const step = checkpoint[2] === 'latest' ? 'latest' : Number(checkpoint[2]);
    return { kind: 'trainer', checkpoint: { run: campaignId('train', checkpoint[1]!), step } };
  }
  throw new UsageError('--model', MODEL_FORMS, `"${text}"`);
}

/** The run file with the flags that win over it. */
export function withFlags(
  file: RunFile,
  options: StageOptions,
  part: 'probe' | 'benchmark' | 'train',
): RunFile {
  return {
    ...file,
    ...(options.suite === undefined ? {} : { suite: options.suite }),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(options.model === undefined ? {} : { model: parseModel(options.model) }),
    ...(options.repeat === undefined || part === 'train'
      ? {}
      : { [part]: { ...file[part], repeat: options.repeat } }),
  };
}
