/** A conversation that does not fit the model's context: whose fault that is depends on who wrote it. */
import { Fault } from '../../core/faults.js';

/**
 * After a turn it is the agent's own limit, and ends the conversation (`context_full`); before the first it is the
 * task's, which names it (`prompt_too_long`).
 */
export function contextFull(message: string, turns: number): Fault {
  return new Fault('policy', message, {
    code: turns === 0 ? 'prompt_too_long' : 'context_full',
    retry: false,
  });
}
