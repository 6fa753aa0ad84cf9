/** `steadfast schedule create`: everything resolved and checked, then the ledger, then Temporal. */
import { type Client, ScheduleAlreadyRunning } from '@temporalio/client';
import pc from 'picocolors';
import { newestVerified } from '../activities/trainer/nightly.js';
import type { AttemptsConfig } from '../core/campaign.js';
import { Fault, UsageError } from '../core/faults.js';
import { configDiff, describeChanges } from '../core/fingerprint.js';
import { campaignId } from '../core/keys.js';
import { checkCron } from '../core/nightly/cron.js';
import {
  followedRun,
  modelWords,
  requireScheduleName,
  type ScheduleConfig,
  type ScheduleRow,
  withoutPins,
} from '../core/nightly/schedule.js';
import type { RunFile } from '../core/schemas/run-file.js';
import { placeOf } from '../core/sharing.js';
import { readStack } from '../infra/stack/info.js';
import { LANES, NIGHTLY } from '../temporal.config.js';
import { openStack, type StackContext, withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { readRunFile, readTaskList } from './run/files.js';
import { resolveEvaluation } from './run/find.js';
import { asServed, requireModel } from './run/model.js';
import { type StageOptions, withFlags } from './run/options.js';
import { checkProviders, declareProviders } from './run/providers.js';
import { attemptsConfig, chooseTasks, spread } from './run/resolve.js';
import { withSuite } from './run/suite.js';
import { storeTokenizer } from './run/tokenizer.js';
import { describeSchedule, temporalOptions } from './schedule-handle.js';
import { settingsText, whenText } from './schedule-text.js';
import { checkTimezone } from './schedule-timing.js';
import { programVersion } from './version.js';

export interface CreateOptions extends Omit<StageOptions, 'detach'> {
  readonly cron: string;
  readonly timezone?: string;
  readonly jitter?: number;
  readonly catchUp?: number;
  readonly baseline?: string;
  readonly webhookEnv?: string;
  readonly exhaustedAsFailed?: boolean;
  readonly allowIncomplete?: boolean;
  readonly replace?: boolean;
}

/** Throws `UsageError` for anything that cannot work, before anything is written. */
export async function createSchedule(name: string, options: CreateOptions): Promise<void> {
  requireScheduleName(name);
  const { config, file } = await resolve(options);
  if (options.dryRun) return dryRun(name, config, file, options.json ?? false);
  await withStack(async (context) => {
    const checked = await check(context, config, file);
    const schedules = await context.schedules();
    const known = await schedules.schedule(name);
    const client = await context.temporal();
    const how = compare(known, checked, options.replace ?? false);
    if (how !== 'same') {
      const { evaluation } = checked;
      if (file.model?.kind === 'token' && evaluation.model.kind === 'token') {
        await storeTokenizer(await context.artifacts(), file.model.tokenizer, evaluation.model.tokenizer);
      }
      await declareProviders(await context.rates(), `schedule/${name}`, evaluation, file.providers ?? {});
      await schedules.putSchedule(name, checked, programVersion());
    }
    await putIntoTemporal(client, name, checked, how);
    await sayCreated(client, (await schedules.schedule(name))!, how, options.json ?? false);
  });
}

interface Resolved {
  readonly config: ScheduleConfig;
  readonly file: RunFile;
}

async function resolve(options: CreateOptions): Promise<Resolved> {
  const timing = {
    cron: checkCron(options.cron),
    timezone: checkTimezone(options.timezone ?? NIGHTLY.timezone),
    jitterMs: options.jitter ?? NIGHTLY.jitterMs,
    catchUpMs: options.catchUp ?? NIGHTLY.catchUpMs,
  };
  const file = await nightlyFile(options);
  const webhookEnv = options.webhookEnv ?? null;
  if (webhookEnv !== null) requireAddress(webhookEnv);
  const evaluation = await withSuite(file.suite, async (suite) => {
    const tasks = options.tasks
      ? await chooseTasks(suite, await readTaskList(options.tasks))
      : spread(await chooseTasks(suite, 'benchmark'), file.benchmark?.limit);
    return attemptsConfig('eval', file, suite, tasks);
  });
  requireKeys(evaluation);
  const baseline = options.baseline ?? null;
  const lanes = file.lanes ?? LANES;
  const allowed = options.allowIncomplete ? { allowIncomplete: true as const } : {};
  return { config: { timing, evaluation, lanes, baseline, webhookEnv, ...placeOf(file), ...allowed }, file };
}

async function nightlyFile(options: CreateOptions): Promise<RunFile> {
  const { model, ...rest } = options;
  const latest = model === undefined ? null : /^latest:(?:train\/)?(.*)$/.exec(model);
  const read = withFlags(await readRunFile(options.file), latest ? rest : options, 'benchmark');
  const benchmark = options.exhaustedAsFailed ? { ...read.benchmark, exhaustedAsFailed: true } : undefined;
  const file = { ...read, ...(benchmark ? { benchmark } : {}) };
  if (!latest) return file;
  return {
    ...file,
    model: {
      kind: 'trainer',
      checkpoint: { run: campaignId('train', latest[1]!), step: 'latest' },
    },
  };
}

/** The address itself is never shown: it may hold a secret. */
function requireAddress(variable: string): void {
  if (!/^[A-Z_][A-Z0-9_]*$/.test(variable)) {
    // An address that was given by mistake must not be printed either.
    throw new UsageError('--webhook-env', 'the name of an environment variable', 'something else');
  }
  const value = process.env[variable];
  const fix = 'Set it for this command and for the pipeline worker, which sends the message.';
  if (!value) throw new UsageError('--webhook-env', `${variable} to be set`, 'no value', fix);
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) {
    throw new UsageError('--webhook-env', `an http(s) address in ${variable}`, 'another value', fix);
  }
}

/** Keys are read by workers every night; one that is not even here now is a slip. */
function requireKeys({ model, people }: AttemptsConfig): void {
  const used: readonly (readonly [string, string | null | undefined])[] = [
    ['model.apiKeyEnv', 'apiKeyEnv' in model ? model.apiKeyEnv : null],
    ['user.apiKeyEnv', people?.user.apiKeyEnv],
    ['judge.apiKeyEnv', people?.judge.apiKeyEnv],
  ];
  for (const [place, variable] of used) {
    if (variable && !process.env[variable]) {
      throw new UsageError(place, `${variable} to be set`, 'no value', 'The workers need it too.');
    }
  }
}

/** What only the ledger knows. Returns the configuration with the baseline's whole id. */
async function check(context: StackContext, asked: ScheduleConfig, file: RunFile): Promise<ScheduleConfig> {
  const ledger = await context.ledger();
  const config = { ...asked, evaluation: await asServed(ledger, asked.evaluation, file.model) };
  await requireModel(ledger, config.evaluation);
  await checkProviders(await context.rates(), config.evaluation, file.providers ?? {});
  const run = followedRun(config.evaluation);
  // Elsewhere the checkpoints are on the trainer's host, which looks at them when a night begins.
  if (run !== null && context.info.processes.length > 0) {
    await newestVerified(ledger, run).catch((error: unknown) => {
      if (!(error instanceof Fault) || error.code !== 'no_checkpoint') throw error;
      throw new UsageError('--model', 'a run with a checkpoint that verifies', error.message);
    });
  }
  if (config.baseline === null) return config;
  const row = await resolveEvaluation(ledger, config.baseline);
  const complete = (row.result as { complete?: boolean } | null)?.complete !== false;
  if (row.state !== 'done' || !complete) {
    const found = `${row.id}, which is ${row.state === 'done' ? 'incomplete' : row.state}`;
    throw new UsageError('--baseline', 'an evaluation with a score', found);
  }
  const theirs = new Set((row.config as AttemptsConfig).tasks);
  if (!config.evaluation.tasks.some((id) => theirs.has(id))) {
    throw new UsageError(
      '--baseline',
      'an evaluation of the same tasks',
      `${row.id}, which has none of them`,
    );
  }
  return { ...config, baseline: row.id };
}

type How = 'created' | 'replaced' | 'same';

/** Throws `UsageError` with every changed path, unless it is to be replaced. */
function compare(known: ScheduleRow | undefined, config: ScheduleConfig, replace: boolean): How {
  if (!known || known.deletedAt !== null) return 'created';
  if (replace) return 'replaced';
  const changes = configDiff(withoutPins(known.config), withoutPins(config));
  if (changes.length === 0) return 'same';
  throw new UsageError(
    `schedule ${known.name}`,
    'the configuration that it was made with',
    `${changes.length} changed:\n${describeChanges(changes)}`,
    'Take the changes back, use another name, or add --replace.',
  );
}

/** Whatever became of an earlier attempt: afterwards Temporal has what the ledger has. */
async function putIntoTemporal(
  client: Client,
  name: string,
  config: ScheduleConfig,
  how: How,
): Promise<void> {
  const options = temporalOptions(name, config);
  try {
    await client.schedule.create({ scheduleId: name, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    if (how === 'same') return;
    await client.schedule.getHandle(name).update((before) => ({ ...options, state: before.state }));
  }
}

async function sayCreated(client: Client, row: ScheduleRow, how: How, json: boolean): Promise<void> {
  const next = (await describeSchedule(client, row.name))?.info.nextActionTimes ?? [];
  if (json) return printJson({ name: row.name, how, config: row.config, next });
  const words = {
    created: `Schedule ${row.name} was made.`,
    replaced: `Schedule ${row.name} was replaced; its nights stay.`,
    same: `Schedule ${row.name} is there already, with the same configuration.`,
  };
  print(words[how]);
  print(`  evaluates  ${modelWords(row.config.evaluation)}`);
  print(`  next       ${whenText(next[0])}`);
  if (how === 'same') sayPins(row);
}

/** Nights are compared with what was pinned; the same options do not pin anew. */
function sayPins({ programVersion: pinned }: ScheduleRow): void {
  if (pinned === programVersion()) return;
  say(`It is pinned to version ${pinned}, this is ${programVersion()}. Pin anew with --replace.`);
}

async function dryRun(name: string, config: ScheduleConfig, file: RunFile, json: boolean): Promise<void> {
  const info = readStack();
  const problems: string[] = [];
  if (!info) problems.push('local stack: expected a running one, found none. Start it with: steadfast up');
  else {
    const context = openStack(info);
    try {
      const checked = await check(context, config, file);
      compare(await (await context.schedules()).schedule(name), checked, false);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(error.message);
    } finally {
      await context.close();
    }
  }
  if (problems.length > 0) process.exitCode = EXIT.usage;
  if (json) return printJson({ name, config, problems });
  print(settingsText(name, config));
  for (const problem of problems) say(`${pc.red('✗')} ${problem}`);
  say(
    problems.length > 0 ? `${name} could not be made; nothing was.` : `${name} would be made. Nothing was.`,
  );
}
