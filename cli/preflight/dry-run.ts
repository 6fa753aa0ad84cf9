/** `train --dry-run`: everything resolved and looked at, every problem told at once, nothing started. */
import pc from 'picocolors';
import { stringify } from 'yaml';
import { type ClusterRecord, clusterRecord } from '../../core/cluster-record.js';
import { Fault, UsageError } from '../../core/faults.js';
import { findingText, type NamedResult, problemsOfAll } from '../../core/preflight.js';
import { nameOf } from '../../core/stage-configs.js';
import { shellText, verlArguments, verlCommand, verlTree } from '../../core/verl/command.js';
import { verlSettings } from '../../core/verl/settings.js';
import { openStack, type StackContext } from '../context.js';
import { EXIT } from '../exit.js';
import { print, printJson, say } from '../output.js';
import { providerLines } from '../run/providers.js';
import { shortLists } from '../run/short-lists.js';
import { type Asked, verlOf } from './asked.js';
import { askCluster, type ClusterAnswers } from './cluster.js';
import { preflight } from './preflight.js';
import type { DryRunOptions } from './shown.js';

/** What is known before anybody is asked. */
export type Resolved = Pick<Asked, 'id' | 'file' | 'config' | 'suite' | 'pool' | 'offline'>;

/** Sets exit code 2 when anything does not hold. */
export async function trainDryRun(resolved: Resolved, { json, show = 'all' }: DryRunOptions): Promise<void> {
  const { id, config, file } = resolved;
  const verl = verlText(resolved);
  if (!verl && show !== 'all' && show !== 'config') {
    throw new UsageError('--show', 'a run whose trainer is verl', config.trainer?.kind ?? 'embedded');
  }
  const { checks } = await checked(resolved);
  const problems = problemsOfAll(checks);
  if (problems.length > 0) process.exitCode = EXIT.usage;
  if (json) {
    return printJson({
      id,
      config,
      providers: file.providers ?? {},
      ...(verl ? { verl: { command: verl.command, settings: verl.settings } } : {}),
      checks: checks.map(({ name, result }) => ({ name, ...result })),
      problems: problems.map(findingText),
    });
  }
  if (show === 'all' || show === 'config') print(JSON.stringify(config, shortLists, 2));
  if (verl && (show === 'all' || show === 'settings')) print(stringify(verlTree(verl.settings)));
  if (verl && (show === 'all' || show === 'verl')) print(shellText(verl.command));
  if (show === 'all') for (const line of providerLines(file.providers ?? {})) print(line);
  for (const check of checks) sayCheck(check);
  say(
    problems.length === 0
      ? `All checks hold: ${id} could be started. Nothing was.`
      : `${problems.length === 1 ? '1 problem' : `${problems.length} problems`}: ${id} could not be started; nothing was.`,
  );
}

/**
 * The same checks before a start. Returns what was found of the run's hosts. Says every problem, and throws `UsageError`
 * where there is one.
 */
export async function refuseProblems(resolved: Resolved): Promise<ClusterRecord | undefined> {
  const { checks, cluster } = await checked(resolved);
  const problems = problemsOfAll(checks);
  if (problems.length === 0) {
    return cluster && clusterRecord(new Date().toISOString(), cluster.facts, cluster.composed);
  }
  for (const check of checks) if (check.result.state === 'fails') sayCheck(check);
  const found = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  throw new UsageError(resolved.id, 'a run of which every check holds', found, 'Nothing was started.');
}

interface Checked {
  readonly checks: readonly NamedResult[];
  readonly cluster: ClusterAnswers | undefined;
}

/** Asks everybody who has to be asked. Starts no run: the ledger gets no row, no GPU is allocated. */
export async function checked(resolved: Resolved): Promise<Checked> {
  const stack = await answeringStack();
  try {
    const cluster = stack && (await askedCluster(stack, resolved));
    const { signal } = new AbortController();
    const checks = await preflight({ ...resolved, env: process.env, stack, cluster, signal });
    return { checks, cluster };
  } finally {
    await stack?.close();
  }
}

async function askedCluster(stack: StackContext, resolved: Resolved): Promise<ClusterAnswers | undefined> {
  const trainer = verlOf(resolved);
  const verl = verlText(resolved);
  if (!trainer || !verl) return undefined;
  const run = nameOf(resolved.id);
  const settings = verlArguments(verl.settings);
  return askCluster(await stack.temporal(), { run, trainer, settings });
}

/** Undefined: none runs, or what runs does not answer. */
async function answeringStack(): Promise<StackContext | undefined> {
  let stack: StackContext;
  try {
    stack = openStack();
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
  try {
    await Promise.all([(await stack.ledger()).campaigns({ limit: 1 }), stack.temporal()]);
    return stack;
  } catch (error) {
    await stack.close();
    if (error instanceof Fault || isTransport(error)) return undefined;
    throw error;
  }
}

/** Temporal's client says by its name alone that nobody answered. */
function isTransport(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(TransportError|ServiceError)$|DEADLINE|UNAVAILABLE/.test(error.name + error.message)
  );
}

function verlText({ id, config }: Resolved) {
  const { trainer } = config;
  if (trainer?.kind !== 'verl') return undefined;
  const settings = verlSettings(nameOf(id), { ...config, trainer });
  return { settings, command: verlCommand(trainer.python, settings) };
}

function sayCheck({ name, result }: NamedResult): void {
  if (result.state === 'holds') {
    say(`${pc.green('✓')} ${name}: ${result.found}`);
    if (result.warning !== undefined) say(`${pc.yellow('!')} ${name}: ${result.warning}`);
  } else if (result.state === 'skipped') say(pc.dim(`- ${name}: not checked, ${result.why}`));
  else for (const problem of result.problems) say(`${pc.red('✗')} ${findingText(problem)}`);
}
