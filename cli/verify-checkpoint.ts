/** `steadfast verify checkpoint`: every byte of a checkpoint against its manifest, and the manifest against the ledger. */
import type { Command } from 'commander';
import pc from 'picocolors';
import type { CheckpointVerification } from '../activities/trainer/checkpoint-files.js';
import { UsageError } from '../core/faults.js';
import { nearestFew } from '../core/nearest.js';
import { withStack } from './context.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';
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
    .option('--run <name>', 'only those of this training run')
    .option('--step <n>', 'only that of this step (with --run)')
    .option('--path <dir>', 'a folder, without a ledger')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast verify checkpoint --run run-1\n  $ steadfast verify checkpoint --path .steadfast/checkpoints/train-run-1/step-0005\n',
    )
    .action(async (options: CheckpointOptions) => {
      const found = options.path === undefined ? await ofLedger(options) : [await ofFolder(options)];
      if (options.json) printJson({ checkpoints: found });
      else for (const one of found) show(one);
      if (!options.json && found.length === 0) print('no checkpoints yet');
      process.exitCode = found.every(({ problems }) => problems.length === 0) ? EXIT.ok : EXIT.failed;
    });
}

async function ofFolder({ path, run, step }: CheckpointOptions): Promise<Verified> {
  if (run !== undefined || step !== undefined) {
    throw new UsageError('--path', 'no --run or --step beside it', 'both');
  }
  const { verifyCheckpoint } = await import('../activities/trainer/checkpoint-files.js');
  return verifyCheckpoint(path!);
}

function ofLedger({ run, step }: CheckpointOptions): Promise<readonly Verified[]> {
  const wanted = stepOf(run, step);
  return withStack(async (context) => {
    const { verifyCheckpoint } = await import('../activities/trainer/checkpoint-files.js');
    const ledger = await context.ledger();
    const runs =
      run === undefined
        ? (await ledger.campaigns({ kind: 'train', limit: 10_000 })).map(({ id }) => id)
        : [(await resolveRun(ledger, run)).id];
    const found: Verified[] = [];
    for (const id of runs) {
      const rows = await ledger.checkpoints(id);
      const chosen = rows.filter((row) => wanted === undefined || row.step === wanted);
      if (wanted !== undefined && chosen.length === 0) {
        const steps = rows.map((row) => String(row.step));
        const near = nearestFew(String(wanted), steps, 3);
        throw new UsageError(
          '--step',
          `a step of ${id} with a checkpoint: ${steps.toReversed().join(', ') || 'it has none'}`,
          String(wanted),
          near.length > 0 ? `Nearest: ${near.join(', ')}` : undefined,
        );
      }
      for (const row of chosen) {
        const place = { run: id, step: row.step };
        if (row.pruned) {
          const { at, rule } = row.pruned;
          const pruned = `pruned at ${at}: ${rule}`;
          found.push({ ...place, path: row.path, manifest: row.manifest, problems: [], notes: [], pruned });
        } else found.push({ ...place, ...(await verifyCheckpoint(row.path, row.manifest)) });
      }
    }
    return found;
  });
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
