/**
 * A request on its way through its provider's gate: it waits for its turn, tells what it used, and when the provider
 * refuses it all the same, waits with everybody else for the pause that the provider wants.
 *
 * Waiting for capacity is nobody's slowness: the clocks of the message and of the episode stand still meanwhile, and
 * only the episode's allowance for it (`CAPACITY_WAIT_MS`) runs down.
 */
import { holdClocks } from '../../core/deadline.js';
import { Fault } from '../../core/faults.js';
import { demandOf, usedTokens } from './demand.js';
import { type Endpoint, placeOf } from './endpoint.js';
import type { Gate, Permit } from './rate-gate.js';
import { classify } from './refusals.js';
import type { Fields } from './unreadable.js';

/** Times that one request is sent before its refusals end the try. */
const SENDS = 4;
/** For a provider that refuses and does not say for how long. */
const PAUSE_MS = 1_000;

/** Sends at once where the endpoint has no gate. Throws what `send` throws, or `Fault` of the endpoint's kind. */
export async function admitted<T>(
  endpoint: Endpoint,
  body: Fields,
  signal: AbortSignal,
  send: () => Promise<T>,
): Promise<T> {
  const { gate } = endpoint;
  if (!gate) return send();
  for (let sent = 1; ; sent += 1) {
    const permit = await turnOf(endpoint, gate, body, signal);
    try {
      const reply = await send();
      permit.settle(usedTokens(reply));
      return reply;
    } catch (error) {
      if (signal.aborted) throw error;
      const refusal = classify(endpoint, error);
      if (refusal.fault.code !== 'rate_limited') throw error;
      permit.settle(0);
      const shared = await permit.refused(refusal.retryAfterMs ?? PAUSE_MS);
      if (!shared) throw error;
      if (sent >= SENDS) throw refusal.fault;
    }
  }
}

async function turnOf(endpoint: Endpoint, gate: Gate, body: Fields, signal: AbortSignal): Promise<Permit> {
  const release = holdClocks(signal);
  try {
    return await gate.admit(demandOf(body), signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof Fault)) throw error;
    const message = `${placeOf(endpoint)}: the limits of its provider could not be asked for: ${error.message}`;
    throw new Fault(endpoint.kind, message, { cause: error, code: 'limits_unknown' });
  } finally {
    release();
  }
}
