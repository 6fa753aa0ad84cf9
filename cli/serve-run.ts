/** What `steadfast serve` does. A person's need is a holder like a campaign's, under a name of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkpointWeights } from '../activities/serving/control.js';
import { UsageError } from '../core/faults.js';
import { servingId } from '../core/keys.js';
import { nearest } from '../core/nearest.js';
import { ACTIVE, type ServedWeights, type ServingRow, type Servings } from '../core/serving/servings.js';
import type { VllmSettings } from '../core/serving/settings.js';
import { nameOf } from '../core/stage-configs.js';
import { QUEUES, VLLM } from '../temporal.config.js';
import { type StackContext, withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson, say } from './output.js';
import { namedCheckpoint, parseCheckpointName } from './run/checkpoint-name.js';
import { defined } from './run/defined.js';
import { readRunFile } from './run/files.js';
import { servingOf } from './run/model.js';
import { isStarted } from './temporal-errors.js';

export interface StartOptions {
  readonly as?: string;
  readonly host?: readonly string[];
  readonly for?: number;
  readonly file?: string;
  readonly changing?: boolean;
  readonly detach?: boolean;
  readonly json?: boolean;
}

/** Who needs what a person has started. */
const PERSON = 'steadfast serve';
const HOURS = 24;
const HOUR_MS = 60 * 60_000;
const LOOK_MS = 500;

export async function startServing(text: string, options: StartOptions): Promise<void> {
  const written = await writtenSettings(options.file);
  await withStack(async (context) => {
    const servings = await context.servings();
    const { name, weights: named, own } = await weightsOf(context, text, options.as);
    const settings = { ...VLLM, ...own, ...written };
    const weights: ServedWeights = options.changing ? { ...named, changing: true } : named;
    const spec = { weights, settings, hosts: await knownHosts(servings, options.host ?? []) };
    const until = new Date(Date.now() + (options.for ?? HOURS) * HOUR_MS);
    await servings.want(name, spec, PERSON, until);
    await startWorkflow(context, name);
    if (options.detach) {
      say(`${name} is started. See it with: steadfast serve list`);
      if (options.json) printJson(await servings.serving(name));
      return;
    }
    const row = await untilSettled(servings, name);
    if (options.json) printJson(row);
    else print(line(row));
    if (row.state !== 'ready') process.exitCode = EXIT.failed;
  });
}

export async function listServings({ json = false }: { readonly json?: boolean }): Promise<void> {
  await withStack(async (context) => {
    const servings = await context.servings();
    const [rows, hosts] = await Promise.all([servings.servings(), servings.hosts()]);
    if (json) return printJson({ servings: rows, hosts });
    const shown = hosts.map(({ name, worker, seenAt }) => `host ${name}  ${worker}, seen ${seenAt}`);
    const told = rows.length === 0 ? ['nothing is served'] : rows.map(line);
    print([...told, ...(hosts.length === 0 ? ['no GPU host has been seen'] : shown)].join('\n'));
  });
}

export async function stopServing(
  name: string,
  { now = false, json = false }: { readonly now?: boolean; readonly json?: boolean },
): Promise<void> {
  await withStack(async (context) => {
    const servings = await context.servings();
    const row = await known(servings, name);
    for (const holder of now ? row.holders : [PERSON]) await servings.giveBack(holder, name);
    if (now && ACTIVE.includes(row.state)) await servings.note(name, { state: 'stopped', endpoint: null });
    const after = (await servings.serving(name))!;
    if (json) return printJson(after);
    const others = after.holders.filter((holder) => holder !== PERSON);
    print(others.length === 0 ? `${name} is being ended` : `${name} stays for ${others.join(', ')}`);
  });
}

async function writtenSettings(file: string | undefined): Promise<Partial<VllmSettings>> {
  const { model, trainer } = await readRunFile(file);
  if (model?.kind === 'served') return defined(model.serving);
  return defined(trainer && 'serving' in trainer ? trainer.serving : undefined);
}

async function weightsOf(
  context: StackContext,
  text: string,
  as: string | undefined,
): Promise<{ name: string; weights: ServedWeights; own: Partial<VllmSettings> }> {
  if (text.startsWith('/')) {
    const name = requireName(as ?? text.split('/').filter(Boolean).at(-1) ?? '');
    return { name, weights: { folder: text, weightVersion: name }, own: {} };
  }
  const named = parseCheckpointName(text);
  if (!named)
    throw new UsageError('weights', 'RUN@STEP, RUN@latest or an absolute folder', JSON.stringify(text));
  const ledger = await context.ledger();
  const row = await namedCheckpoint(ledger, 'weights', named);
  const name = as ?? `${nameOf(row.run)}-step-${String(row.step).padStart(4, '0')}`;
  const weights = await checkpointWeights(ledger, row);
  return { name: requireName(name), weights, own: await servingOf(ledger, row.run) };
}

function requireName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) return name;
  throw new UsageError('--as', 'letters, digits, ".", "_" or "-", 100 at most', JSON.stringify(name));
}

async function knownHosts(servings: Servings, wanted: readonly string[]): Promise<readonly string[]> {
  const hosts = (await servings.hosts()).map(({ name }) => name);
  for (const name of wanted) {
    if (hosts.includes(name)) continue;
    const near = nearest(name, hosts);
    const expected =
      hosts.length === 0 ? 'a GPU host whose worker has been seen' : `one of ${hosts.join(', ')}`;
    const fix = near ? `Did you mean ${near}?` : `Start it there: steadfast workers gpu --host ${name}`;
    throw new UsageError('--host', expected, `"${name}"`, fix);
  }
  return wanted;
}

async function startWorkflow(context: StackContext, name: string): Promise<void> {
  const client = await context.temporal();
  try {
    await client.workflow.start('serving', {
      workflowId: servingId(name),
      taskQueue: QUEUES.pipeline,
      args: [{ serving: name }],
    });
  } catch (error) {
    if (!isStarted(error)) throw error;
  }
}

/** Says what happens meanwhile. */
async function untilSettled(servings: Servings, name: string): Promise<ServingRow> {
  for (let told = ''; ; ) {
    const row = (await servings.serving(name))!;
    const { weightVersion } = row.spec.weights;
    if (row.state === 'ready' && row.weightVersion === weightVersion) return row;
    if (!ACTIVE.includes(row.state)) return row;
    const text = line(row);
    if (text !== told) say(text);
    told = text;
    await sleep(LOOK_MS);
  }
}

async function known(servings: Servings, name: string): Promise<ServingRow> {
  const row = await servings.serving(name);
  if (row) return row;
  const names = (await servings.servings()).map((each) => each.name);
  const near = nearest(name, names);
  const expected = names.length === 0 ? 'something that is served' : `one of ${names.join(', ')}`;
  throw new UsageError('name', expected, `"${name}"`, near && `Did you mean ${near}?`);
}

function line(row: ServingRow): string {
  const { name, state, host, endpoint, weightVersion, holders, restarts, problem, log } = row;
  const at = endpoint ? `${endpoint}#${weightVersion}` : (host ?? 'no host yet');
  const by = holders.length === 0 ? 'needed by nobody' : `for ${holders.join(', ')}`;
  const again = restarts > 0 ? `, started again ${restarts} times` : '';
  const wrong = problem === null ? '' : `\n  ${problem.split('\n')[0]}`;
  return `${name}  ${state}  ${at}  ${by}${again}${log && state !== 'stopped' ? `  log ${log}` : ''}${wrong}`;
}
