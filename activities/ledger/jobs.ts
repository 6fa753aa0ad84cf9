/** Processes of trainers' jobs in PostgreSQL, under the names that those of servers have (core/verl/job.ts). */
import type pg from 'pg';
import type { ServerRow } from '../../core/serving/servings.js';
import type { Jobs } from '../../core/verl/job.js';
import { createDatabase } from './database.js';
import { hostsOf, requireForJob } from './gpu-hosts.js';

const WAIT_MS = 30_000;

const INTEND = {
  name: 'intend job',
  text: `INSERT INTO jobs (id, run, host, launch, log) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING`,
};
const STARTED = {
  name: 'job started',
  text: `UPDATE jobs SET state = 'started', pid = $2, started = $3 WHERE id = $1 AND state = 'intended'`,
};
const ENDED = {
  name: 'job ended',
  text: `UPDATE jobs SET state = $2, ended_at = now() WHERE id = $1 AND state IN ('intended', 'started')`,
};
const OPEN = {
  name: 'open jobs',
  text: `SELECT * FROM jobs WHERE host = $1 AND state IN ('intended', 'started') ORDER BY intended_at, id`,
};

interface JobColumns extends Pick<ServerRow, 'id' | 'host' | 'state' | 'pid' | 'started' | 'launch' | 'log'> {
  readonly run: string;
}

/** Uses the pool and does not end it. */
export function createPgJobs(pool: pg.Pool, { waitMs = WAIT_MS } = {}): Jobs {
  const database = createDatabase(pool, waitMs);
  return {
    async intendServer({ id, serving, host, launch, log }) {
      await database.transaction('intend job', async (statement) => {
        const hosts = new Set([host, ...(await hostsOf(statement, serving))]);
        await requireForJob(statement, [...hosts].toSorted(), serving);
        await statement(INTEND, [id, serving, host, launch, log]);
      });
    },
    async serverStarted(id, pid, started) {
      await database.run(STARTED, [id, pid, started]);
    },
    async serverEnded(id, how) {
      await database.run(ENDED, [id, how]);
    },
    async openServers(host) {
      const rows = await database.run<JobColumns & Record<string, unknown>>(OPEN, [host]);
      return rows.map(({ id, run, host: where, state, pid, started, launch, log }) => ({
        ...{ id, serving: run, host: where, port: 0, state, pid, started, launch, log },
        // A job is kept as long as its run is: time alone ends none.
        expiresAt: '9999-12-31T00:00:00Z',
      }));
    },
  };
}
