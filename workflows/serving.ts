/**
 * A serving: weights are samplable on some GPU host as long as anybody needs them. One host after the other is asked to
 * keep a server; one that takes nothing from its queue, is not heard of any more, or gives up, is passed over.
 *
 * Where it is and who needs it are in the ledger: this workflow only sees that somebody keeps it.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  continueAsNew,
  isCancellation,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { NextHosts } from '../activities/serving/control.js';
import { SERVING } from '../temporal.config.js';
import { causeOf } from './failure.js';
import { keeperOn, servings } from './proxies.js';

export interface ServingInput {
  readonly serving: string;
  /** Rounds in a row that nobody could keep it. */
  readonly failed?: number;
  /** How long a host may take nothing from its queue, and the pause between rounds, ms; shorter in tests. */
  readonly hostMs?: number;
  readonly roundMs?: number;
}

/** What no other host can help. */
const FINAL: readonly string[] = ['trainer:bad_checkpoint', 'usage'];
/** A job of a trainer has the host. */
const BUSY: readonly string[] = ['trainer:host_busy'];

export async function serving(input: ServingInput): Promise<{ readonly state: 'stopped' }> {
  const { serving: name, hostMs = SERVING.hostMs, roundMs = SERVING.roundMs } = input;
  let failed = input.failed ?? 0;
  try {
    for (;;) {
      const { closed, hosts, jobs = {} } = await servings.nextHosts(name);
      if (closed) return { state: 'stopped' };
      const refused = await inTurn(name, hosts, jobs, hostMs);
      // A job ends some time: who waits for its hosts has not failed.
      if (!refused?.busy) failed = refused === null ? 0 : failed + 1;
      if (refused !== null) {
        const { cause } = refused;
        if (failed >= SERVING.rounds) throw ApplicationFailure.nonRetryable(cause, 'trainer:serving_failed');
        await servings.passedOver(name, cause);
        await sleep(roundMs);
      }
      if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof serving>({ ...input, failed });
    }
  } catch (error) {
    const state = isCancellation(error) ? 'stopped' : 'failed';
    if (isCancellation(error) || error instanceof ApplicationFailure || error instanceof ActivityFailure)
      await CancellationScope.nonCancellable(() => servings.failServing(name, state, causeOf(error)));
    throw error;
  }
}

interface Refused {
  /** Why the last host has not kept it. */
  readonly cause: string;
  /** A job has one of the hosts, and none of the others has failed to keep it. */
  readonly busy: boolean;
}

/** Null as soon as a host has kept it to its end. Throws what no host can help. */
async function inTurn(
  name: string,
  hosts: readonly string[],
  jobs: NonNullable<NextHosts['jobs']>,
  hostMs: number,
): Promise<Refused | null> {
  let cause = 'no GPU host has been seen: start one with `steadfast workers gpu --host NAME`';
  let [busy, broken] = [false, false];
  for (const host of hosts) {
    try {
      const { keepServer } = keeperOn(host, hostMs);
      // The host's worker is exchanged for another, which finds the server running.
      while ((await keepServer(name)) === 'left');
      return null;
    } catch (error) {
      if (isCancellation(error) || isType(error, FINAL)) throw error;
      // The host that a job runs on has no slot left to say so itself.
      const silent = silence(error);
      const job = silent === undefined ? undefined : jobs[host];
      if (isType(error, BUSY) || job !== undefined) busy = true;
      else if (silent === undefined) broken = true;
      cause = `host ${host}: ${job ?? silent ?? causeOf(error)}`;
      await servings.passedOver(name, cause);
    }
  }
  return { cause, busy: busy && !broken };
}

/** In words, where a host said nothing. */
function silence(error: unknown): string | undefined {
  const inner = error instanceof ActivityFailure ? error.cause : error;
  if (!(inner instanceof TimeoutFailure)) return undefined;
  return inner.timeoutType === 'SCHEDULE_TO_START'
    ? 'it takes no work: its worker is gone, or it serves something else'
    : 'it was not heard of any more';
}

function isType(error: unknown, types: readonly string[]): boolean {
  const inner = error instanceof ActivityFailure ? error.cause : error;
  return inner instanceof ApplicationFailure && types.includes(inner.type ?? '');
}
