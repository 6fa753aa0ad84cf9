/** Activities of a host: they heartbeat while they work, so that a dead host is missed in seconds. */
import { Context } from '@temporalio/activity';
import { HEARTBEAT } from '../../temporal.config.js';
import { asFailure, asStopped } from '../failures.js';

export async function inHeartbeats<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { cancellationSignal: signal } = context;
  const heart = setInterval(() => context.heartbeat(), HEARTBEAT.everyMs);
  try {
    return await body(signal);
  } catch (error) {
    throw signal.aborted ? asStopped(signal) : asFailure(error);
  } finally {
    clearInterval(heart);
  }
}
