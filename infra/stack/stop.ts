/** `down` as a function. */
import { gone, isAlive, signal } from '../setup/process.mjs';
import { homeFolder } from '../setup/root.mjs';
import { endAll, endStrays } from './ending.js';
import { readState, removeState } from './info.js';

/** A supervisor takes at most some seconds to end its services; one that takes longer hangs. */
const SUPERVISOR_LIMIT_MS = 20_000;

/** Ends every process of the stack; true when there was something to end. Idempotent, also after kills. */
export async function stopStack(options: { readonly home?: string } = {}): Promise<boolean> {
  const home = options.home ?? homeFolder();
  const state = readState(home);
  if (!state) return (await endStrays(home, [])) > 0;
  const worked = [state.supervisor, ...state.processes].some(isAlive);
  if (signal(state.supervisor, 'SIGTERM') && !(await gone(state.supervisor, SUPERVISOR_LIMIT_MS))) {
    signal(state.supervisor, 'SIGKILL');
    await gone(state.supervisor, 5_000);
  }
  // Its supervisor was killed, or has just been: what it had written down is enough.
  await endAll((readState(home) ?? state).processes);
  await endStrays(home, []);
  removeState(home);
  return worked;
}

/**
 * SIGKILL to the supervisor and every service, at once: for somebody who does not want to wait for `stopStack`.
 * Nothing committed is lost; the next `up` recovers the databases.
 */
export function killStack(options: { readonly home?: string } = {}): void {
  const state = readState(options.home ?? homeFolder());
  for (const id of state ? [state.supervisor, ...state.processes] : []) signal(id, 'SIGKILL');
}
