/**
 * What is being tried again right now, and why. An activity that meets a full disk or a lost service is retried by
 * Temporal and writes nothing to the ledger meanwhile: only Temporal can say what a run that stands still waits for.
 */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { isNotFound } from '../temporal-errors.js';

/** Activities of one type that wait for the same reason. */
export interface Trouble {
  readonly activity: string;
  /** Same for all failures of a kind, whatever file or key each names. */
  readonly reason: string;
  readonly count: number;
  /** Executions so far, the most of them. */
  readonly attempt: number;
  /** Of the last failed execution, one of them. */
  readonly message: string;
}

/** The first failures of an activity may be a hiccup: a worker that was ended, a database that restarts. */
const HICCUPS = 1;
/** Workflows looked at: a pipeline has at most a handful open, an evaluation four shards. */
const MOST_WORKFLOWS = 12;

/** An activity that has started or waits to be tried again, as Temporal tells it. */
export type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Of the workflows of these campaigns, children included. Throws when Temporal does not answer. */
export async function pendingOf(client: Client, campaigns: readonly string[]): Promise<readonly Pending[]> {
  const pending: Pending[] = [];
  for (const workflowId of await openWorkflows(client, campaigns)) {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    pending.push(...(raw.pendingActivities ?? []));
  }
  return pending;
}

/** Throws when Temporal does not answer. */
export async function troublesOf(client: Client, campaigns: readonly string[]): Promise<readonly Trouble[]> {
  return troublesAmong(await pendingOf(client, campaigns));
}

export function troublesAmong(pending: readonly Pending[]): readonly Trouble[] {
  const found = new Map<string, Trouble>();
  for (const { activityType, attempt, lastFailure } of pending) {
    const activity = activityType?.name ?? 'activity';
    const tries = attempt ?? 1;
    if (!lastFailure?.message || tries <= HICCUPS) continue;
    // Messages name single files and keys; what failed of a kind is one line.
    const reason = lastFailure.applicationFailureInfo?.type ?? lastFailure.message;
    const key = `${activity}: ${reason}`;
    const before = found.get(key);
    found.set(key, {
      activity,
      reason,
      count: (before?.count ?? 0) + 1,
      attempt: Math.max(before?.attempt ?? 0, tries),
      message: before?.message ?? lastFailure.message.split('\n')[0]!,
    });
  }
  return [...found.values()];
}

export function troubleText({ activity, count, attempt, message }: Trouble): string {
  return `${count} × ${activity} tried again (${attempt} times so far): ${message}`;
}

/**
 * Those of the campaigns whose workflow is not there or has closed, although the ledger has them as running: a
 * Temporal that lost its data, or a start that did not get through.
 */
export async function withoutWorkflow(
  client: Client,
  campaigns: readonly string[],
): Promise<readonly string[]> {
  const found = await Promise.all(campaigns.map(async (id) => ((await isOpen(client, id)) ? [] : [id])));
  return found.flat();
}

async function isOpen(client: Client, id: string): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(id).describe()).status.name === 'RUNNING';
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function openWorkflows(client: Client, campaigns: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (campaigns.some((id) => workflowId === id || workflowId.startsWith(`${id}/`))) ids.push(workflowId);
    if (ids.length >= MOST_WORKFLOWS) break;
  }
  return ids;
}
