/** `pause`, `unpause`, `stop`, `extend`, `lanes`: updates with validation on the workflow that a person started. */
import type { Workflow } from '@temporalio/common';
import { Argument, type Command } from 'commander';
import { UsageError } from '../core/faults.js';
import type { CampaignRow } from '../core/ledger.js';
import { PRIORITIES, type Priority, requirePoolName } from '../core/sharing.js';
import type { ControlState } from '../workflows/control.js';
import type { StackContext } from './context.js';
import { withStack } from './context.js';
import { printJson, say } from './output.js';
import { extendRun } from './run/extend.js';
import { resolveCampaign } from './run/find.js';
import { goOnHint } from './run/go-on-text.js';
import { hasEnded, notedLanes, notedPlace, startWorkflow } from './run/launch.js';
import { integer, LIMITS } from './run/options.js';
import { requirePool } from './run/pool.js';
import { withoutWorkflow } from './run/troubles.js';
import { updated } from './temporal-errors.js';

interface ControlOptions {
  readonly json?: boolean;
}

export function registerPause(program: Command): void {
  control(program, 'pause', 'Finish what is in flight and start nothing new until `unpause`.').action(
    (name: string, options: ControlOptions) => send(name, 'pause', undefined, options, 'paused'),
  );
}

export function registerUnpause(program: Command): void {
  control(
    program,
    'unpause',
    'Go on; after a failed step, run what is missing of it. A workflow that Temporal has lost is started again.',
  ).action((name: string, options: ControlOptions) => send(name, 'unpause', undefined, options, 'goes on'));
}

export function registerStop(program: Command): void {
  control(
    program,
    'stop',
    'Stop for good. Committed episodes stay; starting the name again goes on from them.',
  )
    .option('--after-step', 'let the running training step finish')
    .action((name: string, options: ControlOptions & { afterStep?: boolean }) =>
      send(name, 'stop', options.afterStep ? 'after-step' : 'now', options, 'is stopping'),
    );
}

export function registerExtend(program: Command): void {
  control(program, 'extend', 'Raise the number of steps of a training run.')
    .requiredOption('--steps <n>', 'steps in all', integer(1, LIMITS.steps))
    .action((name: string, options: ControlOptions & { steps: number }) =>
      withStack(async (context) => {
        const row = await resolveCampaign(await context.ledger(), name);
        const state = await extendRun(context, row, options.steps);
        if (options.json) printJson({ id: row.id, state });
        say(`${row.id} now has ${state} steps.`);
      }),
    );
}

export function registerLanes(program: Command): void {
  control(
    program,
    'lanes',
    'Change how many episodes may be in flight, from the next attempt on. Results stay what they are.',
  )
    .argument('<n>', 'episodes in flight', integer(1, LIMITS.lanes))
    .action((name: string, lanes: number, options: ControlOptions) =>
      send(
        name,
        'lanes',
        lanes,
        options,
        `has ${lanes} ${lanes === 1 ? 'lane' : 'lanes'} from the next attempt on`,
      ),
    );
}

export function registerPriority(program: Command): void {
  control(
    program,
    'priority',
    'Change who goes first where several campaigns wait for sandboxes, from the next try on.',
  )
    .addArgument(new Argument('<priority>', 'before whom').choices(PRIORITIES))
    .action((name: string, priority: Priority, options: ControlOptions) =>
      send(name, 'priority', priority, options, `has priority ${priority} from the next try on`),
    );
}

export function registerPool(program: Command): void {
  control(program, 'pool', 'Play the rest in another pool of sandbox workers, from the next try on.')
    .argument('<pool>', 'its name; "" for the workers without one')
    .action((name: string, asked: string, options: ControlOptions) =>
      withStack(async (context) => {
        const pool = asked === '' ? null : requirePoolName('pool', asked);
        await requirePool(context, pool);
        const where = pool === null ? 'the pool without a name' : `pool ${pool}`;
        await send(name, 'pool', pool, options, `is played in ${where} from the next try on`);
      }),
    );
}

/** What comes after the name in a verb's example. */
const EXAMPLE_TAILS: Readonly<Record<string, string>> = {
  extend: ' --steps 100',
  lanes: ' 12',
  priority: ' high',
  pool: ' gvisor',
};

/** Changes that a later start of the same campaign has too. */
const NOTED: ReadonlySet<string> = new Set(['lanes', 'priority', 'pool']);

function control(program: Command, verb: string, description: string): Command {
  return program
    .command(verb)
    .description(description)
    .argument('<campaign>', 'e.g. train/run-1, or run-1 where that is unique')
    .option('--json', 'print the new state as JSON')
    .addHelpText('after', `\nExample:\n  $ steadfast ${verb} train/run-1${EXAMPLE_TAILS[verb] ?? ''}\n`);
}

async function send(
  name: string,
  update: string,
  argument: string | number | null | undefined,
  options: ControlOptions,
  done: string,
): Promise<void> {
  await withStack(async (context) => {
    const row = await resolveCampaign(await context.ledger(), name);
    const { id } = row;
    if (hasEnded(row)) {
      const fix = await goOnHint(await context.ledger(), row);
      throw new UsageError(id, 'a campaign under way', `one that is ${row.state}`, fix);
    }
    const state =
      (update === 'unpause' ? await startedAgain(context, row) : undefined) ??
      (await sendUpdate(context, id, update, argument));
    if (NOTED.has(update)) await (await context.ledger()).noteOnCampaign(id, { [update]: argument });
    if (options.json) printJson({ id, state });
    say(`${id} ${done}.`);
  });
}

/**
 * A campaign whose workflow Temporal has lost: what the ledger has of it is enough to go on. Undefined where one runs,
 * and for a stage of a pipeline, which the pipeline starts.
 */
async function startedAgain(context: StackContext, row: CampaignRow): Promise<ControlState | undefined> {
  const { id, kind, parent } = row;
  if (parent !== null) return undefined;
  const gone = await withoutWorkflow(await context.temporal(), [id]);
  if (gone.length === 0) return undefined;
  await (await context.ledger()).noteOnCampaign(id, { cause: null }, 'running');
  await startWorkflow(context, id, kind, notedLanes(row), { ended: false, place: notedPlace(row) });
  return { paused: false, stop: 'no' };
}

/** The new state. Throws `UsageError` when the workflow is not running, or refuses. */
export async function sendUpdate(
  context: StackContext,
  id: string,
  update: string,
  argument?: string | number | null,
): Promise<unknown> {
  const handle = (await context.temporal()).workflow.getHandle<Workflow>(id);
  const done = await updated(`${update} ${id}`, () =>
    argument === undefined
      ? handle.executeUpdate<unknown, []>(update)
      : handle.executeUpdate<unknown, [string | number | null]>(update, { args: [argument] }),
  );
  if (done) return done.answer;
  const fix = `Start it again with: steadfast unpause ${id}`;
  throw new UsageError(id, 'a running campaign', 'none running', fix);
}
