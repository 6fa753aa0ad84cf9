/**
 * Errors of Temporal's client, known by their names: its package takes half a second to load, and most verbs load it for
 * nothing else.
 */
import { UsageError } from '../core/faults.js';

/** No workflow of that id, or none that runs. */
export function isNotFound(error: unknown): boolean {
  return isNamed(error, 'WorkflowNotFoundError');
}

/** One of that id runs already. */
export function isStarted(error: unknown): boolean {
  return isNamed(error, 'WorkflowExecutionAlreadyStartedError');
}

/**
 * The answer of a workflow to an update that `ask` sends; undefined when no workflow of that id runs. Throws `UsageError`
 * in the workflow's own words where it refuses.
 */
export async function updated<T>(
  place: string,
  ask: () => Promise<T>,
  expected = 'a change that the run can take',
): Promise<{ readonly answer: T } | undefined> {
  try {
    return { answer: await ask() };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (!isNamed(error, 'WorkflowUpdateFailedError')) throw error;
    const found = error.cause instanceof Error ? error.cause.message : error.message;
    throw new UsageError(place, expected, found);
  }
}

function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name;
}
