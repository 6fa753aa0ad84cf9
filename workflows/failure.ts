/** How a campaign's workflow fails: in the ledger first, so that nobody watches a run that is dead. */
import { ApplicationFailure, CancellationScope, ContinueAsNew, isCancellation } from '@temporalio/workflow';
import { campaigns } from './proxies.js';

/** Runs `body`; whatever it throws is the campaign's recorded cause before it is thrown on. */
export async function recordingFailure<T>(campaign: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    const state = isCancellation(error) ? 'stopped' : 'failed';
    await CancellationScope.nonCancellable(() => campaigns.setState(campaign, state, causeOf(error)));
    throw error;
  }
}

/**
 * The message of what an activity or a workflow of ours threw, one line: not of the failures that Temporal puts around
 * it, and not of what was its cause in turn, which names no endpoint and no file.
 */
export function causeOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && !(inner instanceof ApplicationFailure) && inner.cause instanceof Error)
    inner = inner.cause;
  return (inner instanceof Error ? inner.message : String(inner)).split('\n')[0]!.slice(0, 500);
}
