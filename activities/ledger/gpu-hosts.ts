/** Hosts of jobs and servers in PostgreSQL. Who asks for one holds a lock until it is written down whose it is. */
import type pg from 'pg';
import { Fault } from '../../core/faults.js';
import type { GpuHosts, HostTaken } from '../../core/serving/gpu-hosts.js';
import { JOB } from '../../temporal.config.js';
import { createDatabase, type Run } from './database.js';

const WAIT_MS = 30_000;

/** One for all hosts: what is done under it is short. */
const LOCK = {
  name: 'lock gpu hosts',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('steadfast gpu hosts', 0))`,
};
/**
 * Hosts that runs have taken, and those of a run one of whose processes has not ended: a paused run has them until then.
 * The process of a host that is gone, and of a run that is over, keeps no other host for ever.
 */
const JOBS = {
  name: 'jobs at gpu hosts',
  text: `SELECT h.name AS host, c.id AS run
    FROM campaigns c CROSS JOIN LATERAL (
      SELECT each ->> 'name' AS name FROM jsonb_array_elements(c.config -> 'trainer' -> 'hosts') AS each
      UNION SELECT j.host FROM jobs j WHERE j.run = c.id AND j.state IN ('intended', 'started')) h
    WHERE c.kind = 'train' AND c.config -> 'trainer' ->> 'kind' = 'verl' AND c.id IS DISTINCT FROM $1
      AND (c.state = 'running' AND c.result -> 'gpuHosts' ? h.name
        OR EXISTS (SELECT FROM jobs j LEFT JOIN gpu_hosts g ON g.name = j.host
          WHERE j.run = c.id AND j.state IN ('intended', 'started')
            AND (c.state = 'running' OR j.host = h.name OR g.seen_at > now() - $2 * interval '1 millisecond')))
    ORDER BY h.name, c.id`,
};
const SERVERS = {
  name: 'servers at gpu hosts',
  text: `SELECT s.host, s.serving, ARRAY(
      SELECT l.holder FROM serving_leases l WHERE l.serving = s.serving ORDER BY l.holder) AS holders
    FROM servers s WHERE s.host = ANY ($1::text[]) AND s.state IN ('intended', 'started') ORDER BY s.host, s.serving`,
};
const HOSTS_OF = {
  name: 'gpu hosts of run',
  text: `SELECT DISTINCT h ->> 'name' AS name
    FROM campaigns c CROSS JOIN LATERAL jsonb_array_elements(c.config -> 'trainer' -> 'hosts') AS h WHERE c.id = $1`,
};
const TAKEN = {
  name: 'take gpu hosts',
  text: `UPDATE campaigns SET result =
      CASE WHEN jsonb_typeof(result) = 'object' THEN result ELSE '{}'::jsonb END
        || jsonb_build_object('gpuHosts', to_jsonb($2::text[]))
    WHERE id = $1`,
};

interface JobAt {
  readonly host: string;
  readonly run: string;
}

export function createPgGpuHosts(pool: pg.Pool, { waitMs = WAIT_MS } = {}): GpuHosts {
  const database = createDatabase(pool, waitMs);
  return {
    takeHosts: (run) =>
      database.transaction('take gpu hosts', async (statement) => {
        await statement(LOCK);
        const hosts = await hostsOf(statement, run);
        const taken = await firstTaken(statement, hosts, run);
        const got = taken === undefined ? hosts : hosts.slice(0, hosts.indexOf(taken.host));
        await statement(TAKEN, [run, got]);
        return taken;
      }),
    async releaseHosts(run) {
      await database.run(TAKEN, [run, []]);
    },
    async jobs() {
      return new Map((await jobsAt(database.run)).map((job) => [job.host, jobWords(job)]));
    },
  };
}

/** Those of all runs but `except`. */
function jobsAt(run: Run, except: string | null = null): Promise<readonly (JobAt & pg.QueryResultRow)[]> {
  return run(JOBS, [except, JOB.hostGoneMs]);
}

/** In the order in which a run takes them. */
export async function hostsOf(statement: Run, run: string): Promise<readonly string[]> {
  const rows = await statement<{ name: string }>(HOSTS_OF, [run]);
  return rows.map(({ name }) => name).toSorted();
}

/** What the first of these hosts is that a job of another run, or any server, has. */
async function firstTaken(
  statement: Run,
  hosts: readonly string[],
  run: string,
): Promise<HostTaken | undefined> {
  const jobs = await jobsAt(statement, run);
  const servers = await statement<{ host: string; serving: string; holders: readonly string[] }>(SERVERS, [
    hosts,
  ]);
  for (const host of hosts) {
    const job = jobs.find((each) => each.host === host);
    if (job) return { host, words: jobWords(job) };
    const server = servers.find((each) => each.host === host);
    if (server) return { host, words: serverWords(server) };
  }
  return undefined;
}

/** Before a process of a job is written down: its lock lasts as long as the transaction. Throws `host_busy`. */
export async function requireForJob(statement: Run, hosts: readonly string[], run: string): Promise<void> {
  await statement(LOCK);
  const taken = await firstTaken(statement, hosts, run);
  if (taken) throw new Fault('trainer', taken.words, { code: 'host_busy' });
}

/** As `requireForJob`, before a server is. No retry on this host helps: another one may be free. */
export async function requireForServer(statement: Run, host: string): Promise<void> {
  await statement(LOCK);
  const jobs = await jobsAt(statement);
  const job = jobs.find((each) => each.host === host);
  if (job) throw new Fault('trainer', jobWords(job), { code: 'host_busy', retry: false });
}

function jobWords({ host, run }: JobAt): string {
  return `the job of ${run} has the GPUs of ${host}`;
}

function serverWords({
  host,
  serving,
  holders,
}: {
  readonly host: string;
  readonly serving: string;
  readonly holders: readonly string[];
}): string {
  const needed = holders.length === 0 ? '' : `, which ${holders.join(', ')} needs`;
  return `a server of ${serving}${needed}, has the GPUs of ${host}`;
}
