/**
 * The conformance suite: every promise of the trainer contract, checked on a running trainer through the contract.
 *
 * It opens sessions under `conformance/...`, which replace whatever session the trainer holds; a trainer that holds
 * somebody else's is refused unless `force` is set (that run brings it back from checkpoint and recorded batches).
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault, UsageError } from '../../../core/faults.js';
import { createTrainerClient } from '../client.js';
import { type Bench, createBenches, OWN_RUNS } from './bench.js';
import { readCapabilities } from './capabilities.js';
import { Broken, type Check, type CheckResult, NotClaimed, type Outcome } from './check.js';
import { CHECKPOINT_CHECKS } from './checkpoints.js';
import { INVARIANCE_CHECKS } from './invariance.js';
import { NUMBER_CHECKS } from './numbers.js';
import { OFF_POLICY_CHECKS } from './off-policy.js';
import { REPLY_CHECKS } from './replies.js';
import { RESTORE_CHECKS } from './restore.js';
import { TOKEN_RECORD_CHECKS } from './token-records.js';
import { UPDATE_CHECKS } from './updates.js';
import { WEIGHT_CHECKS } from './weights.js';

/** In the order in which they are best read. */
export const CHECKS: readonly Check[] = [
  ...UPDATE_CHECKS,
  ...TOKEN_RECORD_CHECKS,
  ...REPLY_CHECKS,
  ...RESTORE_CHECKS,
  ...CHECKPOINT_CHECKS,
  ...NUMBER_CHECKS,
  ...OFF_POLICY_CHECKS,
  ...WEIGHT_CHECKS,
  ...INVARIANCE_CHECKS,
];

/** A check that takes longer has failed: something waits for ever. */
const CHECK_LIMIT_MS = 10 * 60_000;

const WAIT_MS = 2 * 60_000;

export interface ConformanceOptions {
  /** Base URL without `/v1`. */
  readonly url: string;
  readonly signal: AbortSignal;
  /** Take the trainer although somebody's session is open in it. */
  readonly force?: boolean;
  /** Names of the checks to run; all when absent. */
  readonly only?: readonly string[];
  /** Where batches and checkpoints go: a folder that the trainer sees under the same path. A temporary one when absent. */
  readonly folder?: string;
  /** How long one update may take, ms; two minutes when absent. */
  readonly waitMs?: number;
  /** How long one check may take, ms; ten minutes when absent. */
  readonly checkMs?: number;
  readonly onResult?: (result: CheckResult) => void;
}

export interface ConformanceReport {
  readonly endpoint: string;
  readonly kind: string;
  readonly build: string;
  readonly checks: readonly CheckResult[];
  readonly counts: Readonly<Record<Outcome, number>>;
}

/** Throws `UsageError` for a trainer in use or unknown checks, `Fault('trainer')` for one that cannot be talked to. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { url, signal } = options;
  const checks = chosen(options.only);
  const trainer = createTrainerClient({ url });
  const capabilities = readCapabilities(await trainer.capabilities(signal));
  const { run, step } = await trainer.state(signal);
  if (run !== undefined && !run.startsWith(OWN_RUNS) && !options.force) {
    throw new UsageError(
      `trainer ${url}`,
      'one without a session',
      `a session of ${run} at step ${step}`,
      'Use a trainer of its own, or --force: the run restores its session from checkpoint and recorded batches',
    );
  }
  if (!capabilities.batchByReference) {
    throw new Fault('trainer', `${url}: capabilities.batchByReference is not true: it cannot be checked`, {
      code: 'bad_capabilities',
      retry: false,
    });
  }
  const folder = await scratchIn(options.folder ?? tmpdir());
  try {
    const another = createTrainerClient({ url });
    const benchOf = await createBenches({
      trainer,
      another,
      capabilities,
      folder,
      signal,
      waitMs: options.waitMs ?? WAIT_MS,
    });
    const results: CheckResult[] = [];
    for (const check of checks) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(options.checkMs ?? CHECK_LIMIT_MS)]);
      const result = await resultOf(check, benchOf(limit));
      signal.throwIfAborted();
      results.push(result);
      options.onResult?.(result);
    }
    await trainer.release(benchOf(signal).base.weightVersion, signal);
    const { kind, build } = capabilities;
    return { endpoint: url, kind, build, checks: results, counts: countsOf(results) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function resultOf({ name, promise, run }: Check, bench: Bench): Promise<CheckResult> {
  try {
    return { name, promise, outcome: 'pass', evidence: await run(bench) };
  } catch (error) {
    if (error instanceof NotClaimed) return { name, promise, outcome: 'skip', evidence: error.message };
    return { name, promise, outcome: 'fail', evidence: words(error) };
  }
}

function words(error: unknown): string {
  if (error instanceof Broken) return error.message;
  if (error instanceof Fault)
    return `${error.kind} refused with ${error.code ?? 'no code'}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function chosen(only: readonly string[] | undefined): readonly Check[] {
  if (only === undefined) return CHECKS;
  const names = CHECKS.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new UsageError('checks', names.join(', '), unknown.join(', '));
  return CHECKS.filter(({ name }) => only.includes(name));
}

function countsOf(results: readonly CheckResult[]): Record<Outcome, number> {
  const of = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length;
  return { pass: of('pass'), fail: of('fail'), skip: of('skip') };
}

async function scratchIn(parent: string): Promise<string> {
  try {
    await mkdir(parent, { recursive: true });
    return await mkdtemp(path.join(parent, 'conformance-'));
  } catch (error) {
    throw new UsageError(
      '--folder',
      'a folder that can be written',
      `${parent}: ${(error as Error).message}`,
    );
  }
}
