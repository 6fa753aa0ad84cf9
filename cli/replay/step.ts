/** `replay step`: which of its three meanings it has, by how the step ended and by `--fork`. */
import pc from 'picocolors';
import { mayBeMended } from '../../activities/trainer/lost.js';
import { Fault, UsageError } from '../../core/faults.js';
import type { CampaignRow, Ledger, OperationRow, StepRow } from '../../core/ledger.js';
import { type StackContext, withStack } from '../context.js';
import { EXIT } from '../exit.js';
import { print, printJson, say } from '../output.js';
import type { StepOptions } from '../replay.js';
import { resolveRun, resolveStep } from '../run/find.js';
import { goOnText } from '../run/go-on-text.js';
import { driftOfOwnTrainer, driftOfSuite, settleDrift } from './drift.js';
import { replayFinished, replayText } from './finished.js';
import { type GoneOn, goOnWith } from './go-on.js';

/** The exit code. */
export async function replayStepVerb(options: StepOptions): Promise<number> {
  if (options.fork !== undefined) return fork(options, options.fork);
  if (options.set.length > 0) {
    throw new UsageError(
      '--set',
      '--fork NAME beside it',
      'none',
      'A run keeps its settings; a fork may change them.',
    );
  }
  return withStack(async (context) => {
    const ledger = await context.ledger();
    const row = await resolveRun(ledger, options.run);
    const step = await resolveStep(ledger, row.id, options.step);
    if (step.state === 'skipped') {
      throw new UsageError(`step ${step.step} of ${row.id}`, 'a step with an update', 'one that was skipped');
    }
    const operation = (await ledger.operations(row.id)).find(
      (each) => each.step === step.step && each.state === 'done',
    );
    if (step.state === 'done' && operation) return finished(context, row, step, operation, options);
    return unfinished(context, row, step, options);
  });
}

async function finished(
  context: StackContext,
  row: CampaignRow,
  step: StepRow,
  operation: OperationRow,
  { acceptDrift = false, mend = false, trainer, json }: StepOptions,
): Promise<number> {
  say(`step ${step.step} of ${row.id} is done: it is computed again in a trainer of its own`);
  const replay = await explaining(() =>
    replayFinished(context, row, step, operation, { acceptDrift, mend, trainer }),
  );
  if (json) printJson(replay);
  else print(replayText(replay).join('\n'));
  return replay.identical ? EXIT.ok : EXIT.failed;
}

async function unfinished(
  context: StackContext,
  row: CampaignRow,
  step: StepRow,
  { acceptDrift = false, json }: StepOptions,
): Promise<number> {
  const ledger = await context.ledger();
  const trainer = await driftOfOwnTrainer(ledger, row, context.info.trainerUrl);
  await settleDrift(ledger, row, [...(await driftOfSuite(row)), ...trainer], acceptDrift);
  say(
    `step ${step.step} of ${row.id} is ${step.state}: its clean episodes are kept, what is missing runs now`,
  );
  const result = await goOnWith(context, row, step.step);
  if (json) printJson(result);
  else {
    print(`kept ${result.kept} clean episodes, ran ${result.tries} tries, ${result.added} more are clean`);
    if (result.state === 'done')
      print(`${pc.green('done')}: step ${step.step} of ${row.id} is updated and published`);
    else print(await whatNow(ledger, row.id, result));
  }
  return result.state === 'done' ? EXIT.ok : EXIT.failed;
}

async function whatNow(ledger: Ledger, id: string, { tries, cause }: GoneOn): Promise<string> {
  const row = await ledger.campaign(id);
  // Only of a step that wanted more groups: what failed otherwise had no attempt to make.
  const same = tries === 0 && cause?.includes('informative');
  return [
    ...(same ? ['No attempt was missing: the same settings give the same end.'] : []),
    ...(row ? await goOnText(ledger, row) : []),
  ].join('\n');
}

async function fork(options: StepOptions, name: string): Promise<number> {
  const { acceptDrift = false, mend = false, trainer, set: settings } = options;
  const config = await withStack(async (context) => {
    const ledger = await context.ledger();
    const row = await resolveRun(ledger, options.run);
    const step = await resolveStep(ledger, row.id, options.step);
    const { prepareFork } = await import('./fork.js');
    return explaining(() => prepareFork(context, row, step, { name, settings, acceptDrift, mend, trainer }));
  });
  const { runCampaign } = await import('../run/stage.js');
  await runCampaign(name, config, options);
  return Number(process.exitCode ?? EXIT.ok);
}

/** An artifact that is gone: nothing of ours removes them, which is worth knowing, and a batch can be made again. */
async function explaining<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'artifacts') throw error;
    const lines = [error.message];
    if (error.code === 'missing')
      lines.push('No rule of this version prunes artifacts: it was removed by hand, or its disk was lost.');
    if (mayBeMended(error))
      lines.push('Its episodes are recorded: the same command with --mend makes it again from them.');
    if (lines.length === 1) throw error;
    throw new Fault('artifacts', lines.join('\n'), { cause: error, code: error.code!, retry: false });
  }
}
