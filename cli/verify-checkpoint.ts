/** `steadfast verify checkpoint`: every byte of a checkpoint against its manifest, and the manifest against the ledger. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import pc from 'picocolors';
import type { CheckpointVerification } from '../activities/trainer/checkpoint-files.js';
import type { TrainConfig } from '../core/campaign.js';
import { UsageError } from '../core/faults.js';
import type { CheckpointRow, Ledger } from '../core/ledger.js';
import type { LedgerReads } from '../core/ledger-reads.js';
import { nearestFew } from '../core/nearest.js';
import type { VerlConfig } from '../core/trainers/config.js';
import { isStackKnown, withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';
import { namedCheckpoint, parseCheckpointName } from './run/checkpoint-name.js';
import { resolveRun } from './run/find.js';

interface CheckpointOptions {
  readonly run?: string;
  readonly step?: string;
  readonly path?: string;
  readonly json?: boolean;
}

interface Verified extends CheckpointVerification {
  readonly run?: string;
  readonly step?: number;
  /** Pruned on purpose: there is nothing to read. */
  readonly pruned?: string;
}

export function registerVerifyCheckpoint(verify: Command): void {
  verify
    .command('checkpoint')
    .description(
      'size, SHA-256 and digests of every file of a checkpoint; all of the ledger’s when none is named',
    )
    .argument('[checkpoint]', 'RUN@STEP, RUN@latest or a folder')
    .option('--run <name>', 'only those of this training run')
    .option('--step <n>', 'only that of this step (with --run)')
    .option('--path <dir>', 'a folder')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast verify checkpoint run-1@latest\n  $ steadfast verify checkpoint --run run-1\n  $ steadfast verify checkpoint .steadfast/checkpoints/train-run-1/step-0005\n  $ steadfast verify checkpoint /shared/checkpoints/q38\n',
    )
    .action(async (named: string | undefined, options: CheckpointOptions) => {
      const found = await verified(named, options);
      if (options.json) printJson({ checkpoints: found });
      else for (const one of found) show(one);
      if (!options.json && found.length === 0) print('no checkpoints yet');
      process.exitCode = found.every(({ problems }) => problems.length === 0) ? EXIT.ok : EXIT.failed;
    });
}

async function verified(named: string | undefined, options: CheckpointOptions): Promise<readonly Verified[]> {
  const { run, step, path } = options;
  const others = [run, step, path].filter((each) => each !== undefined);
  if (named !== undefined && others.length > 0)
    throw new UsageError('checkpoint', 'no --run, --step or --path beside its name', 'both');
  if (path !== undefined && others.length > 1)
    throw new UsageError('--path', 'no --run or --step beside it', 'both');
  if (path !== undefined) return ofFolder(resolve(path));
  if (named === undefined) return ofLedger(run, stepOf(run, step));
  const checkpoint = parseCheckpointName(named);
  if (checkpoint) {
    return withStack(async (context) => {
      const ledger = await context.ledger();
      const { id } = await resolveRun(ledger, checkpoint.run);
      const row = await namedCheckpoint(ledger, 'checkpoint', { ...checkpoint, run: id });
      return ofRows(ledger, id, [row]);
    });
  }
  if (existsSync(named)) return ofFolder(resolve(named));
  throw new UsageError('checkpoint', 'RUN@STEP, RUN@latest or a folder that is there', JSON.stringify(named));
}

/** One checkpoint, or all of a folder of Verl's; with what the ledger says of it, where one can be asked. */
async function ofFolder(folder: string): Promise<readonly Verified[]> {
  const { isVerlRun, isVerlStep, verifyTracker, verifyVerlStep } = await import(
    '../activities/verl/verify.js'
  );
  const { savedSteps, stepFolder } = await import('../activities/verl/folder.js');
  if (existsSync(resolve(folder, 'manifest.json')) || !existsSync(folder)) return [await plain(folder)];
  if (await isVerlStep(folder)) {
    const known = await recorded(dirname(folder));
    return [
      await verifyVerlStep(
        folder,
        known.find(({ path }) => path === folder),
      ),
    ];
  }
  if (!(await isVerlRun(folder))) return [await plain(folder)];
  const known = await recorded(folder);
  const found: Verified[] = [];
  for (const step of await savedSteps(folder)) {
    const dir = stepFolder(folder, step);
    found.push(
      await verifyVerlStep(
        dir,
        known.find(({ path }) => path === dir),
      ),
    );
  }
  const missing = known.filter(({ pruned, path }) => !pruned && !existsSync(path));
  for (const row of missing) found.push(await verifyVerlStep(row.path, row));
  const there = known.filter(({ pruned }) => !pruned).map(({ step }) => step);
  return [...found, await verifyTracker(folder, there)];
}

async function plain(folder: string): Promise<Verified> {
  const { verifyCheckpoint } = await import('../activities/trainer/checkpoint-files.js');
  return verifyCheckpoint(folder);
}

/** Rows of the run whose checkpoints lie in a folder; none where no ledger can be asked. */
async function recorded(folder: string): Promise<readonly CheckpointRow[]> {
  if (!isStackKnown()) return [];
  return withStack(async (context) => {
    const ledger = await context.ledger();
    for (const { id } of await ledger.campaigns({ kind: 'train', limit: 10_000 })) {
      if ((await verlOf(ledger, id))?.checkpoints === folder) return ledger.checkpoints(id);
    }
    return [];
  });
}

function ofLedger(run: string | undefined, wanted: number | undefined): Promise<readonly Verified[]> {
  return withStack(async (context) => {
    const ledger = await context.ledger();
    const runs =
      run === undefined
        ? (await ledger.campaigns({ kind: 'train', limit: 10_000 })).map(({ id }) => id)
        : [(await resolveRun(ledger, run)).id];
    const found: Verified[] = [];
    for (const id of runs) {
      const rows = await ledger.checkpoints(id);
      const chosen = rows.filter((row) => wanted === undefined || row.step === wanted);
      if (wanted !== undefined && chosen.length === 0) throw noSuchStep(id, wanted, rows);
      found.push(...(await ofRows(ledger, id, chosen)));
    }
    return found;
  });
}

/** And, of a run of Verl's, what it would go on from. */
async function ofRows(
  ledger: Ledger & LedgerReads,
  run: string,
  rows: readonly CheckpointRow[],
): Promise<readonly Verified[]> {
  const { verifyCheckpoint } = await import('../activities/trainer/checkpoint-files.js');
  const { verifyTracker, verifyVerlStep } = await import('../activities/verl/verify.js');
  const verl = await verlOf(ledger, run);
  const world = verl?.hosts.reduce((sum, { gpus }) => sum + gpus.length, 0);
  const found: Verified[] = [];
  for (const row of rows) {
    const { step, path, manifest, pruned } = row;
    const place = { run, step };
    if (pruned) {
      const words = `pruned at ${pruned.at}: ${pruned.rule}`;
      found.push({ ...place, path, manifest, problems: [], notes: [], pruned: words });
    } else if (world === undefined) found.push({ ...place, ...(await verifyCheckpoint(path, manifest)) });
    else found.push({ ...place, ...(await verifyVerlStep(path, { manifest, world })) });
  }
  if (verl && rows.length > 0) {
    const all = (await ledger.checkpoints(run)).filter(({ pruned }) => !pruned);
    found.push(
      await verifyTracker(
        verl.checkpoints,
        all.map(({ step }) => step),
      ),
    );
  }
  return found;
}

async function verlOf(ledger: Pick<Ledger, 'campaign'>, run: string): Promise<VerlConfig | undefined> {
  const { trainer } = ((await ledger.campaign(run))?.config ?? {}) as Partial<TrainConfig>;
  return trainer?.kind === 'verl' ? trainer : undefined;
}

function noSuchStep(run: string, wanted: number, rows: readonly CheckpointRow[]): UsageError {
  const steps = rows.map((row) => String(row.step));
  const near = nearestFew(String(wanted), steps, 3);
  return new UsageError(
    '--step',
    `a step of ${run} with a checkpoint: ${steps.toReversed().join(', ') || 'it has none'}`,
    String(wanted),
    near.length > 0 ? `Nearest: ${near.join(', ')}` : undefined,
  );
}

function stepOf(run: string | undefined, step: string | undefined): number | undefined {
  if (step === undefined) return undefined;
  if (run === undefined) throw new UsageError('--step', '--run beside it', 'none');
  if (/^\d+$/.test(step)) return Number(step);
  throw new UsageError('--step', 'a whole number', `"${step}"`);
}

function show({ run, step, path, problems, notes, pruned }: Verified): void {
  const name = run === undefined ? path : `${run} step ${step}`;
  if (pruned !== undefined) {
    print(`${pc.dim('·')} ${name}  ${pc.dim(pruned)}`);
    return;
  }
  print(
    `${problems.length === 0 ? pc.green('✓') : pc.red('✗')} ${name}${run === undefined ? '' : `  ${pc.dim(path)}`}`,
  );
  for (const line of problems) print(`    ${line}`);
  for (const line of notes) print(pc.dim(`    ${line}`));
}
