/**
 * Sandboxes: from intended (by `beginTry`) to released or reaped. These two writes need not be on disk when they
 * return, which saves a sync each: a server that crashes in that moment leaves a sandbox that the reaper ends again.
 */
import type { Ledger } from '../../core/ledger.js';
import type { Database } from './database.js';

/** True for every row, and as a side effect this transaction commits without waiting for the disk. */
const WITHOUT_SYNC = "set_config('synchronous_commit', 'off', true) = 'off'";

const CREATED = {
  name: 'sandbox created',
  text: `UPDATE sandboxes SET state = 'created', created_at = now()
    WHERE name = $1 AND state = 'intended' AND ${WITHOUT_SYNC}`,
};
const ENDED = {
  name: 'sandbox ended',
  text: `UPDATE sandboxes SET state = $2, ended_at = now()
    WHERE name = $1 AND state IN ('intended', 'created') AND ${WITHOUT_SYNC}`,
};
const OPEN = {
  name: 'open sandboxes',
  text: `SELECT name, isolation, worker FROM sandboxes
    WHERE host = $1 AND state IN ('intended', 'created') AND worker <> ALL ($2::text[]) ORDER BY intended_at, name`,
};

export function sandboxWrites(
  database: Database,
): Pick<Ledger, 'sandboxCreated' | 'sandboxEnded' | 'openSandboxes'> {
  return {
    async sandboxCreated(name) {
      await database.run(CREATED, [name]);
    },
    async sandboxEnded(name, how) {
      await database.run(ENDED, [name, how]);
    },
    async openSandboxes(host, aliveWorkers) {
      return database.run<{ name: string; isolation: string; worker: string }>(OPEN, [
        host,
        [...aliveWorkers],
      ]);
    },
  };
}
