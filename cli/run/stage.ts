/** Running one campaign from the command line: claim, start or attach, watch, and say how it ended. */
import pc from 'picocolors';
import type { AttemptsSummary } from '../../activities/campaign/summary.js';
import type { AttemptsConfig, CampaignConfig } from '../../core/campaign.js';
import { asBefore } from '../../core/claim.js';
import { UsageError } from '../../core/faults.js';
import { configDiff, describeChanges } from '../../core/fingerprint.js';
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import type { ProviderTable } from '../../core/limits/rates.js';
import type { Place } from '../../core/sharing.js';
import { startableId } from '../../core/stage-configs.js';
import { homeFolder } from '../../infra/setup/root.mjs';
import { openStack, type StackContext, withStack } from '../context.js';
import { EXIT } from '../exit.js';
import { onInterrupt } from '../interrupts.js';
import { print, printJson, say } from '../output.js';
import { endText } from './ending.js';
import { type Launched, launch } from './launch.js';
import { asServed, requireModel } from './model.js';
import type { RunOptions } from './options.js';
import { requirePool } from './pool.js';
import { checkProviders, declareProviders, providerLines, requireUsed } from './providers.js';
import { requireSandboxes, sandboxLines } from './sandboxes.js';
import { checkServed, checkWeights } from './served-check.js';
import { shortLists } from './short-lists.js';
import { storeTokenizer } from './tokenizer.js';
import { requireTrainerSupport } from './trainer-support.js';
import { watch } from './watch.js';

/** Starts or goes on with the campaign; sets the exit code by how it ended. The row, where its end was seen. */
export async function runCampaign(
  name: string,
  asked: CampaignConfig,
  options: RunOptions,
): Promise<CampaignRow | undefined> {
  // A name that cannot be one is the first thing to be said.
  const id = startableId(name, asked);
  if (options.dryRun) {
    await dryRun(id, asked, options);
    return undefined;
  }
  await requireSandboxes(asked);
  return withStack(async (context) => {
    const ledger = await context.ledger();
    const config = await asServed(ledger, asked, options.served);
    await requireModel(ledger, config);
    if (options.tokenizer !== undefined && 'model' in config && config.model.kind === 'token') {
      await storeTokenizer(await context.artifacts(), options.tokenizer, config.model.tokenizer);
    }
    if (!(await ledger.campaign(id))) refuse(id, (await checkWeights(context, config)).problems);
    await declareProviders(await context.rates(), id, config, options.providers ?? {});
    const launched = await launch(context, name, config, options.lanes, options.place, options.found);
    sayLaunched(context, launched);
    if (launched.how === 'finished') return finish(context, launched.row, options);
    if (options.detach) {
      if (options.json) printJson({ id: launched.id, state: 'running', how: launched.how });
      say(`It goes on in the workers. See it with: steadfast status ${launched.id}`);
      return undefined;
    }
    const row = await watchUntilInterrupted(context, launched.id);
    if (row) return finish(context, row, options);
    sayDetached(launched.id);
    return undefined;
  });
}

/** The row when the campaign ended; undefined when the person pressed Ctrl-C. */
async function watchUntilInterrupted(context: StackContext, id: string): Promise<CampaignRow | undefined> {
  const controller = new AbortController();
  const restore = onInterrupt(
    () => controller.abort(),
    () => process.exit(EXIT.interrupted),
  );
  try {
    return await watch(context, id, { signal: controller.signal, show: true });
  } finally {
    restore();
  }
}

function sayLaunched(context: StackContext, { id, how }: Launched): void {
  const words = {
    started: `${id} started.`,
    resumed: `${id} goes on where its committed rows end.`,
    attached: `${id} runs already; watching it.`,
    finished: `${id} is finished already.`,
  };
  say(pc.bold(words[how]));
  if (context.info.temporal.ui && how !== 'finished') {
    say(pc.dim(`Temporal: ${workflowUrl(context, id)}`));
  }
}

export function workflowUrl({ info }: StackContext, id: string): string {
  return `${info.temporal.ui}/namespaces/${info.temporal.namespace}/workflows/${encodeURIComponent(id)}`;
}

function sayDetached(id: string): void {
  say(`Detached: ${id} goes on in the workers.`);
  say(`  see it    steadfast status ${id} --watch`);
  say(`  stop it   steadfast stop ${id}`);
  process.exitCode = EXIT.interrupted;
}

async function finish(
  context: StackContext,
  row: CampaignRow,
  { json = false, aside = false, allowIncomplete = false }: RunOptions,
): Promise<CampaignRow> {
  const ledger = await context.ledger();
  const shown = allowIncomplete ? await withIncompleteScore(ledger, row) : row;
  if (aside) say(await endText(ledger, shown));
  else if (json) printJson({ id: row.id, kind: row.kind, state: row.state, result: shown.result });
  else print(await endText(ledger, shown));
  process.exitCode = exitCodeOf(row);
  return row;
}

/** The row of an evaluation as it is shown with `--allow-incomplete`; the ledger keeps it without a score. */
async function withIncompleteScore(ledger: Pick<Ledger, 'attempts'>, row: CampaignRow): Promise<CampaignRow> {
  const known = (row.result ?? {}) as Partial<AttemptsSummary>;
  if (row.kind !== 'eval' || known.score) return row;
  const { summarise } = await import('../../activities/campaign/summary.js');
  const summary = await summarise(ledger, row.id, row.config as AttemptsConfig, { allowIncomplete: true });
  return { ...row, result: { ...known, ...summary } };
}

export function exitCodeOf(row: Pick<CampaignRow, 'state' | 'result'>): number {
  if (row.state !== 'done') return EXIT.failed;
  const result = row.result as { complete?: boolean } | null;
  return result?.complete === false ? EXIT.incomplete : EXIT.ok;
}

/** Everything resolved and checked, all that does not hold is listed; nothing is started. */
async function dryRun(
  id: string,
  asked: CampaignConfig,
  { json = false, providers = {}, place = {}, served }: RunOptions,
): Promise<void> {
  const { config, known, problems, lines } = await preflight(id, asked, { providers, place, served });
  if (problems.length > 0) process.exitCode = EXIT.usage;
  const words = problems.map(({ message }) => message);
  if (json)
    return printJson({ id, config, providers, known: known?.state ?? null, found: lines, problems: words });
  print(JSON.stringify(config, shortLists, 2));
  for (const line of providerLines(providers)) print(line);
  for (const line of await sandboxLines(config)) print(line);
  for (const line of lines) print(line);
  for (const problem of words) say(`${pc.red('✗')} ${problem}`);
  if (words.length > 0) say(`${id} could not be started; nothing was.`);
  else say(known ? `${id} exists and is ${known.state}.` : `${id} would be started. Nothing was.`);
}

/** A first start of what would end in a failure hours later. Throws `UsageError`; where it is not alone all are said before. */
function refuse(id: string, problems: readonly UsageError[]): void {
  if (problems.length === 1) throw problems[0];
  for (const { message } of problems) say(`${pc.red('✗')} ${message}`);
  if (problems.length > 1)
    throw new UsageError(
      id,
      'weights that can be loaded',
      `${problems.length} problems`,
      'Nothing was started.',
    );
}

interface Preflight {
  /** As it would be started. */
  readonly config: CampaignConfig;
  /** What was found, beside problems. */
  readonly lines: readonly string[];
  readonly known: CampaignRow | undefined;
  readonly problems: readonly Error[];
}

/** With a running stack what only its ledger knows is checked too: the name, and the model's checkpoint. */
async function preflight(
  id: string,
  asked: CampaignConfig,
  {
    providers,
    place,
    served,
  }: { readonly providers: ProviderTable; readonly place: Place } & Pick<RunOptions, 'served'>,
): Promise<Preflight> {
  const { examine } = await import('../../infra/stack/preflight.js');
  const { SERVICES } = await import('../../infra/stack/plan.js');
  const { readStack } = await import('../../infra/stack/info.js');
  const workers = { pipeline: 1, sandbox: 1, gpu: 1 };
  const checks = await examine({ home: homeFolder(), services: SERVICES, workers });
  const problems: Error[] = checks.flatMap(({ problem }) => problem ?? []);
  problems.push(...(await problemOf(() => requireSandboxes(asked))));
  const info = readStack();
  if (!info) {
    problems.push(...(await problemOf(async () => requireUsed(asked, providers))));
    return { config: asked, lines: [], known: undefined, problems };
  }
  const context = openStack(info);
  try {
    const ledger = await context.ledger();
    const config = await asServed(ledger, asked, served);
    const known = await ledger.campaign(id);
    const found = await checkServed(context, config);
    problems.push(
      ...changedProblem(known, config),
      ...(await problemOf(() => requireModel(ledger, config))),
      ...(await problemOf(async () => checkProviders(await context.rates(), config, providers))),
      ...(await problemOf(() => requireTrainerSupport(config, info.trainerUrl))),
      ...(await problemOf(() => requirePool(context, place.pool))),
      ...found.problems,
    );
    return { config, lines: found.lines, known, problems };
  } finally {
    await context.close();
  }
}

function changedProblem(known: CampaignRow | undefined, config: CampaignConfig): UsageError[] {
  const changes = known ? configDiff(known.config, asBefore(config, known.config)) : [];
  if (!known || changes.length === 0) return [];
  return [new UsageError(known.id, 'the configuration that it was started with', describeChanges(changes))];
}

async function problemOf(check: () => Promise<void>): Promise<UsageError[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof UsageError) return [error];
    throw error;
  }
}
