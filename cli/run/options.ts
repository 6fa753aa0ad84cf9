/** Options that several verbs share, and what they mean. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../core/faults.js';
import type { ProviderTable } from '../../core/limits/rates.js';
import { endpointUrl, type RunFile } from '../../core/schemas/run-file.js';
import { isPoolName, type Place, POOL_FORM, PRIORITIES, type Priority, placeOf } from '../../core/sharing.js';
import { LANES, MAX_LANES } from '../../temporal.config.js';
import { parseCheckpointName } from './checkpoint-name.js';

export interface StageOptions {
  readonly file?: string;
  readonly suite?: string;
  readonly tasks?: string;
  readonly model?: string;
  readonly tokenizer?: string;
  readonly repeat?: number;
  readonly seed?: number;
  readonly lanes?: number;
  readonly priority?: Priority;
  readonly pool?: string;
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
    .option('--lanes <n>', 'episodes in flight; changes speed, never results (48)', integer(1, LIMITS.lanes))
    .addOption(priorityOption())
    .option('--pool <name>', POOL_WORDS, poolName)
    .option('--detach', 'start it and return; it goes on in the workers')
    .option('--dry-run', 'resolve and check everything, start nothing')
    .option('--json', 'print the result as one JSON document');
}

/** For every verb that starts a campaign. */
export function priorityOption(): Option {
  const usual = 'who goes first where several wait for sandboxes (train: high, probe: middle, evaluate: low)';
  return new Option('--priority <level>', usual).choices(PRIORITIES);
}

export const POOL_WORDS = 'pool of sandbox workers that plays it (those without a name)';

export function poolName(text: string): string {
  if (isPoolName(text)) return text;
  throw new InvalidArgumentError(`Expected ${POOL_FORM}.`);
}

/** Above these a number is a slip of the keyboard, or more than one run file should ask for. */
export const LIMITS = { steps: 100_000, repeat: 10_000, lanes: MAX_LANES } as const;

/** A whole number from `least` to `most`. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a whole number ${range}.`);
  };
}

const MODEL_FORMS = 'base, RUN@STEP, RUN@latest, served:RUN@STEP, scripted, or https://host/v1#model';

/** `--model` and `--tokenizer` of the verbs that sample from any model. */
export function modelOptions(command: Command): Command {
  return command
    .option('--model <model>', MODEL_FORMS)
    .option('--tokenizer <folder>', 'the https model is a token endpoint (vLLM) with this tokenizer');
}

/**
 * `--model` as a run file has it; with a tokenizer's folder an address is a token endpoint. Throws `UsageError` with
 * the forms it can have.
 */
export function parseModel(text: string, tokenizer?: string): NonNullable<RunFile['model']> {
  const url = /^(https?:\/\/[^#]+)#(.+)$/.exec(text);
  if (url && endpointUrl.safeParse(url[1]).success) {
    const endpoint = { baseUrl: url[1]!, model: url[2]!, apiKeyEnv: null };
    if (tokenizer === undefined) return { kind: 'chat', ...endpoint };
    return { kind: 'token', ...endpoint, format: 'qwen3_xml', tokenizer };
  }
  if (tokenizer !== undefined)
    throw new UsageError('--tokenizer', 'a model of the form https://host/v1#model', text);
  if (text === 'base') return { kind: 'trainer', checkpoint: 'base' };
  if (text === 'scripted') return { kind: 'scripted', errorRate: 0, turnDelayMs: 0 };
  const served = text.startsWith('served:');
  const checkpoint = parseCheckpointName(served ? text.slice('served:'.length) : text);
  if (checkpoint) {
    return { kind: served ? 'served' : 'trainer', checkpoint };
  }
  // It may hold a password.
  const found = url
    ? 'an address that is no URL, or has a user in it (a run file names a variable: apiKeyEnv)'
    : `"${text}"`;
  throw new UsageError('--model', MODEL_FORMS, found);
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
    ...(options.lanes === undefined ? {} : { lanes: options.lanes }),
    ...placeOf(options),
    ...(options.model === undefined ? {} : { model: parseModel(options.model, options.tokenizer) }),
    ...(options.repeat === undefined || part === 'train'
      ? {}
      : { [part]: { ...file[part], repeat: options.repeat } }),
  };
}

/** How a campaign is run, apart from what it is. */
export interface RunOptions extends Pick<StageOptions, 'detach' | 'dryRun' | 'json'> {
  readonly lanes: number;
  readonly place?: Place;
  /** Limits that the run file declares. */
  readonly providers?: ProviderTable;
  /** What was found out before it is started, for its row. */
  readonly found?: Readonly<Record<string, unknown>>;
  /** Folder of the tokenizer of a token endpoint. */
  readonly tokenizer?: string;
  /** What the run file says of a served model: what it does not say, the model's own run does. */
  readonly served?: RunFile['model'];
  /** At its end a score of incomplete coverage too, which says so; changes nothing of what runs. */
  readonly allowIncomplete?: boolean;
  /** Its result goes to standard error: another campaign's is to follow. */
  readonly aside?: boolean;
}

/** From the run file that `withFlags` has merged. */
export function runOptions(
  { lanes = LANES, providers = {}, model, ...file }: RunFile,
  options: StageOptions,
): RunOptions {
  const { detach, dryRun, json } = options;
  const flags = { ...(detach && { detach }), ...(dryRun && { dryRun }), ...(json && { json }) };
  return {
    ...flags,
    lanes,
    place: placeOf(file),
    providers,
    ...(model?.kind === 'token' && { tokenizer: model.tokenizer }),
    ...(model?.kind === 'served' && { served: model }),
  };
}
