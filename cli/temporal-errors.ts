/**
 * Errors of Temporal's client, known by their names: its package takes half a second to load, and most verbs load it for
 * nothing else.
 */

/** No workflow of that id, or none that runs. */
export function isNotFound(error: unknown): boolean {
  return isNamed(error, 'WorkflowNotFoundError');
}

/** One of that id runs already. */
export function isStarted(error: unknown): boolean {
  return isNamed(error, 'WorkflowExecutionAlreadyStartedError');
}

/** Why the workflow refused an update; undefined for any other error. */
export function refusalOf(error: unknown): string | undefined {
  if (!isNamed(error, 'WorkflowUpdateFailedError')) return undefined;
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name;
}
