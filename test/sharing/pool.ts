/** What the tests of the shared pool look at: who waits, and in which order tries were begun. */
import type pg from 'pg';
import type { StackContext } from '../../cli/context.js';
import { inFlight } from '../../cli/run/in-flight.js';
import { pendingOf } from '../../cli/run/troubles.js';

/** Episodes of a campaign that no worker has taken. */
export async function waiting(context: StackContext, campaign: string): Promise<number> {
  return inFlight(await pendingOf(await context.temporal(), [campaign])).waiting;
}

/** Campaigns by the order in which their tries were begun, without the first `from`. */
export async function order(pool: pg.Pool, from = 0): Promise<readonly string[]> {
  const { rows } = await pool.query<{ campaign: string }>(
    'SELECT a.campaign FROM tries t JOIN attempts a ON a.id = t.attempt_id ORDER BY t.id OFFSET $1',
    [from],
  );
  return rows.map(({ campaign }) => campaign);
}

export function count(campaigns: readonly string[], campaign: string): number {
  return campaigns.filter((one) => one === campaign).length;
}
