/**
 * One try of one attempt: ledger → sandbox and conversation → artifacts → ledger. Knows nothing of Temporal.
 *
 * A fault of the episode is data (`system_error`). Thrown are only cancellation and what keeps a result from being
 * recorded at all (ledger, artifacts): then nothing is scored, and the caller may try the same again.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { asFault, Fault, UsageError } from '../../core/faults.js';
import { fingerprint } from '../../core/fingerprint.js';
import type { BeginTry, FinishTry, Ledger } from '../../core/ledger.js';
import type { EpisodeSummary } from '../../core/outcome.js';
import type { Policy } from '../../core/policy.js';
import type { Isolation, SandboxDriver } from '../../core/sandbox.js';
import type { Suite, Task } from '../../core/suite.js';
import { CAPACITY_WAIT_MS } from '../../temporal.config.js';
import type { EpisodeInput } from './input.js';
import { createJudge } from './judge.js';
import type { EpisodePeople } from './people.js';
import { type EpisodeParts, type PlayedEpisode, playEpisode } from './play.js';
import type { PolicyReading } from './reading.js';
import { EpisodeRecord } from './record.js';
import { describeFault, storeTrajectory } from './trajectory.js';
import { createUser } from './user.js';
import { takeWarm } from './warm-sandbox.js';

/** A sandbox outlives its episode's clock by so much before sweeps may take it. */
const SANDBOX_GRACE_MS = 10 * 60_000;
/** A result that is there is worth waiting for a database that is being started again: 0.5 + 1 + 2 + 4 + 8 s. */
const RECORD_ATTEMPTS = 6;
const RECORD_DELAY_MS = 500;

export interface EpisodeRunner {
  readonly ledger: Ledger;
  readonly artifacts: ArtifactStore;
  readonly suite: (name: string) => Promise<Suite>;
  readonly driver: (isolation: Isolation) => SandboxDriver;
  readonly policy: (input: EpisodeInput, signal: AbortSignal) => Promise<Policy>;
  /** What the policy's outputs are read with; undefined for policies that sample no tokens. */
  readonly reading?: (input: EpisodeInput, signal: AbortSignal) => Promise<PolicyReading | undefined>;
  /** Throws `UsageError` when this worker cannot have the models that the campaign was started with. */
  readonly people: (input: Pick<EpisodeInput, 'people'>) => EpisodePeople;
  readonly host: string;
  readonly worker: string;
  /** Told of a sandbox that may still be there: it stays open in the ledger until somebody has ended it. */
  readonly leftBehind?: (sandbox: { readonly name: string; readonly isolation: Isolation }) => void;
}

export interface RunOptions {
  /** Temporal's own attempt number, from 1. */
  readonly activityAttempt: number;
  readonly signal: AbortSignal;
  readonly onTurn?: (turn: number) => void;
  readonly onTokens?: (tokens: number) => void;
}

/** Throws `Fault('cancelled' | 'ledger' | 'artifacts')`, and what opening the suite throws; nothing else. */
export async function runTry(
  runner: EpisodeRunner,
  input: EpisodeInput,
  options: RunOptions,
): Promise<EpisodeSummary> {
  const suite = await runner.suite(input.suite);
  const driver = runner.driver(suite.isolation);
  const expiresAt = isoIn(input.limits.episodeMs + CAPACITY_WAIT_MS + SANDBOX_GRACE_MS);
  // Only where it says what can be taken: most attempts that are asked for again are clean already.
  const loading = driver.take && load(suite, input.taskId);
  const warm = loading && (await takeWarm(driver, loading, expiresAt));
  const name = warm?.name ?? sandboxName(input, options.activityAttempt);
  const begin: BeginTry = {
    key: input.key,
    tryNumber: input.tryNumber,
    activityAttempt: options.activityAttempt,
    worker: runner.worker,
    sandbox: { name, isolation: driver.isolation, host: runner.host, expiresAt },
  };
  const tell = () => runner.leftBehind?.({ name, isolation: driver.isolation });
  const began = await runner.ledger.beginTry(begin).catch(async (error: unknown) => {
    await warm?.discard().catch(tell);
    throw error;
  });
  if (began.clean) {
    await warm?.discard().catch(tell);
    return began.clean;
  }
  const marks = { expiresAt, labels: { key: input.key, worker: runner.worker }, ...(warm ? { warm } : {}) };
  const sandbox = new SandboxNotes(runner.ledger, name, tell);
  const started = performance.now();
  let played: PlayedEpisode;
  let task: Task | undefined;
  let reading: PolicyReading | undefined;
  try {
    task = await (loading ?? load(suite, input.taskId));
    const policy = await openPolicy(runner, input, options.signal);
    reading = await runner.reading?.(input, options.signal);
    played = await playEpisode(parts(runner, input, options, { task, driver, policy, sandbox, marks }));
  } catch (error) {
    const fault = options.signal.aborted ? cancelled(options.signal) : asFault(error, 'suite');
    played = { record: new EpisodeRecord(), fault, wallMs: Math.round(performance.now() - started) };
  }
  // One that the episode never came to.
  await warm?.discard().catch(() => sandbox.left());
  if (played.fault?.kind === 'cancelled') {
    // The ledger closes the try as lost when this does not get through; what matters now is to stop.
    await Promise.allSettled([
      sandbox.settled(),
      runner.ledger.finishTry(finishOf(begin, input, played, null)),
    ]);
    throw played.fault;
  }
  const [summary] = await Promise.all([
    record(runner, begin, input, { task, played, reading }),
    sandbox.settled(),
  ]);
  return summary;
}

function parts(
  runner: EpisodeRunner,
  input: EpisodeInput,
  { signal, onTurn, onTokens }: RunOptions,
  made: {
    task: Task;
    driver: SandboxDriver;
    policy: Policy;
    sandbox: SandboxNotes;
    marks: NonNullable<EpisodeParts['sandboxMarks']>;
  },
): EpisodeParts {
  const { task, driver, policy, sandbox, marks } = made;
  const people = runner.people(input);
  return {
    task,
    driver,
    policy,
    sandboxName: sandbox.name,
    sandboxMarks: marks,
    user: createUser(people.user),
    judge: (meter) => createJudge(people.judge, meter, input.limits.messageMs),
    sampling: input.sampling,
    limits: input.limits,
    seed: input.seed,
    signal,
    onSandboxCreated: () => sandbox.created(),
    onSandboxLeft: () => sandbox.left(),
    ...(onTurn ? { onTurn } : {}),
    ...(onTokens ? { onTokens } : {}),
  };
}

async function load(suite: Suite, taskId: string): Promise<Task> {
  try {
    return await suite.load(taskId);
  } catch (error) {
    throw asFault(error, 'suite', error instanceof UsageError ? { retry: false } : {});
  }
}

async function openPolicy(runner: EpisodeRunner, input: EpisodeInput, signal: AbortSignal): Promise<Policy> {
  try {
    return await runner.policy(input, signal);
  } catch (error) {
    throw asFault(error, 'policy', error instanceof UsageError ? { retry: false } : {});
  }
}

function isoIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

interface Ended {
  readonly task: Task | undefined;
  readonly played: PlayedEpisode;
  readonly reading: PolicyReading | undefined;
}

/** Artifacts first, then the row that makes them count. */
async function record(
  runner: EpisodeRunner,
  begin: BeginTry,
  input: EpisodeInput,
  { task, played, reading }: Ended,
): Promise<EpisodeSummary> {
  const { ledger, artifacts } = runner;
  const worthKeeping = played.clean !== undefined || played.record.turns.length > 0;
  const trajectory =
    task && worthKeeping
      ? await persistently(() => storeTrajectory(artifacts, input, task.ref, played, reading))
      : null;
  const written = await persistently(() => ledger.finishTry(finishOf(begin, input, played, trajectory)));
  if (written === 'recorded') return summary(input.key, played);
  // Another try was first: its outcome is the one that counts.
  const { clean } = await ledger.beginTry(begin);
  if (clean) return clean;
  if (!played.clean) return summary(input.key, played);
  // Ended as a system error by a second execution of the same try, e.g. after a reset of the workflow. What the ledger
  // does not hold must not be told: the caller runs the attempt again.
  throw new Fault('ledger', `"${input.key}": try ${input.tryNumber} had been ended by another execution`, {
    code: 'conflict',
    retry: true,
  });
}

function finishOf(
  begin: BeginTry,
  input: EpisodeInput,
  played: PlayedEpisode,
  trajectory: Digest | null,
): FinishTry {
  const { record, wallMs, clean } = played;
  const { key, tryNumber, activityAttempt } = begin;
  const common = { key, tryNumber, activityAttempt, wallMs, usage: record.usage };
  if (clean && trajectory) {
    const { weightVersion, turns, toolCalls, toolErrors, truncatedTurns } = record;
    const counts = { turns: turns.length, toolCalls, toolErrors, truncatedTurns };
    const effectsDigest = fingerprint(record.effects);
    return { ...common, clean: { ...clean, ...counts, trajectory, effectsDigest, weightVersion } };
  }
  const fault = faultOf(played);
  const last = !fault.retry || tryNumber >= input.lastTry;
  const exhausted = last && fault.kind !== 'cancelled';
  return { ...common, fault: { ...describeFault(fault), exhausted, trajectory } };
}

function summary(key: string, played: PlayedEpisode): EpisodeSummary {
  const { record, wallMs, clean } = played;
  const common = { key, sampledTokens: record.sampledTokens, wallMs };
  if (clean) {
    const { verdict, termination } = clean;
    return { ...common, outcome: verdict.passed ? 'passed' : 'failed', reward: verdict.reward, termination };
  }
  const { kind, code, retry } = faultOf(played);
  return {
    ...common,
    outcome: 'system_error',
    fault: kind,
    retry,
    ...(code ? { faultCode: code.slice(0, 60) } : {}),
  };
}

function faultOf(played: PlayedEpisode): Fault {
  return played.fault ?? new Fault('grader', 'the episode ended without a verdict', { code: 'no_verdict' });
}

function cancelled(signal: AbortSignal): Fault {
  return new Fault('cancelled', 'the episode was cancelled', { cause: signal.reason });
}

/** The sandbox's life as the ledger hears of it, beside the episode: nothing waits for these writes but its end. */
class SandboxNotes {
  private noted: Promise<void> | undefined;
  private mayBeThere = false;

  constructor(
    private readonly ledger: Ledger,
    readonly name: string,
    private readonly tell: () => void,
  ) {}

  created(): void {
    this.noted = this.ledger.sandboxCreated(this.name);
    // Awaited in `settled`; until then a rejection is nobody's.
    this.noted.catch(() => undefined);
  }

  left(): void {
    this.mayBeThere = true;
  }

  /** Released, also when it was never created; open when something of it may be left. */
  async settled(): Promise<void> {
    await this.noted;
    if (this.mayBeThere) this.tell();
    else await this.ledger.sandboxEnded(this.name, 'released');
  }
}

/** `sf-<key hash>-<try>-<execution>-<random>`: known before it exists, never used twice. */
function sandboxName(input: EpisodeInput, activityAttempt: number): string {
  const hash = createHash('sha256').update(input.key).digest('hex').slice(0, 12);
  return `sf-${hash}-${input.tryNumber}-${activityAttempt}-${randomBytes(4).toString('hex')}`;
}

/** Again while the store says that another attempt can help; throws its last fault. */
async function persistently<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || attempt >= RECORD_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, RECORD_DELAY_MS * 2 ** (attempt - 1)));
    }
  }
}
