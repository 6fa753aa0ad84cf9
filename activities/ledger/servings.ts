/** Servings, their holders and their server processes in PostgreSQL. */
import type pg from 'pg';
import type { GpuHost, ServerRow, ServingNote, ServingRow, Servings } from '../../core/serving/servings.js';
import { createDatabase } from './database.js';
import { requireForServer } from './gpu-hosts.js';
import { iso, storable, storableJson } from './values.js';

const WAIT_MS = 30_000;

/** A holder counts until its time; a campaign, as long as it is not at its end. */
const HELD = `(l.expires_at > now() OR EXISTS (
  SELECT FROM campaigns c WHERE c.id = l.holder AND c.state IN ('running', 'paused')))`;
const COLUMNS = `s.*, ARRAY(
  SELECT l.holder FROM serving_leases l WHERE l.serving = s.name AND ${HELD} ORDER BY l.holder) AS holders`;

const HOST_SEEN = {
  name: 'gpu host seen',
  text: `INSERT INTO gpu_hosts (name, worker) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET worker = excluded.worker, seen_at = now()`,
};
const HOSTS = { name: 'gpu hosts', text: 'SELECT * FROM gpu_hosts ORDER BY seen_at DESC, name' };
const WANT = {
  name: 'want serving',
  text: `INSERT INTO servings (name, spec) VALUES ($1, $2::jsonb)
    ON CONFLICT (name) DO UPDATE SET
      state = CASE WHEN servings.state IN ('stopped', 'failed') THEN 'wanted' ELSE servings.state END,
      problem = CASE WHEN servings.state IN ('stopped', 'failed') THEN NULL ELSE servings.problem END,
      restarts = CASE WHEN servings.state IN ('stopped', 'failed') THEN 0 ELSE servings.restarts END,
      reference = CASE WHEN servings.spec -> 'weights' = excluded.spec -> 'weights' THEN servings.reference END,
      changed_at = CASE WHEN servings.state IN ('stopped', 'failed') OR servings.spec <> excluded.spec
        THEN now() ELSE servings.changed_at END,
      spec = excluded.spec`,
};
const LEASE = {
  name: 'lease serving',
  text: `INSERT INTO serving_leases (serving, holder, expires_at) VALUES ($1, $2, $3)
    ON CONFLICT (serving, holder) DO UPDATE SET expires_at = excluded.expires_at`,
};
const GIVE_BACK = {
  name: 'give serving back',
  text: 'DELETE FROM serving_leases WHERE holder = $1 AND serving = coalesce($2, serving)',
};
const CLOSE = {
  name: 'close serving',
  text: `UPDATE servings s SET state = 'stopped', endpoint = NULL, weight_version = NULL, changed_at = now()
    WHERE name = $1 AND state <> 'failed'
      AND NOT EXISTS (SELECT FROM serving_leases l WHERE l.serving = s.name AND ${HELD})
    RETURNING name`,
};
const READ = { name: 'read serving', text: `SELECT ${COLUMNS} FROM servings s WHERE name = $1` };
const OF = {
  name: 'serving of weights',
  text: `SELECT ${COLUMNS} FROM servings s WHERE weight_version = $1 AND endpoint IS NOT NULL
    ORDER BY changed_at DESC LIMIT 1`,
};
const LIST = {
  name: 'list servings',
  text: `SELECT ${COLUMNS} FROM servings s ORDER BY changed_at DESC, name`,
};
/** What is not in the note stays; null is a value. */
const NOTE = {
  name: 'note serving',
  text: `UPDATE servings s SET
      state = coalesce(n.state, s.state),
      host = CASE WHEN $2::jsonb ? 'host' THEN n.host ELSE s.host END,
      endpoint = CASE WHEN $2::jsonb ? 'endpoint' THEN n.endpoint ELSE s.endpoint END,
      weight_version = CASE WHEN $2::jsonb ? 'weightVersion' THEN n."weightVersion" ELSE s.weight_version END,
      model_files = CASE WHEN $2::jsonb ? 'modelFiles' THEN n."modelFiles" ELSE s.model_files END,
      reference = CASE WHEN $2::jsonb ? 'reference' THEN n.reference ELSE s.reference END,
      log = CASE WHEN $2::jsonb ? 'log' THEN n.log ELSE s.log END,
      restarts = coalesce(n.restarts, s.restarts),
      problem = CASE WHEN $2::jsonb ? 'problem' THEN n.problem ELSE s.problem END,
      changed_at = now()
    FROM jsonb_to_record($2::jsonb) AS n (state text, host text, endpoint text, "weightVersion" text,
      "modelFiles" text, reference double precision, log text, restarts integer, problem text)
    WHERE s.name = $1 AND ($3::text IS NULL OR s.host = $3 AND s.state NOT IN ('stopped', 'failed'))
    RETURNING s.name`,
};
const AT_WORK = {
  name: 'at work on serving',
  text: `UPDATE servings SET changed_at = now() WHERE name = $1 AND host = $2
    AND state IN ('wanted', 'preparing', 'starting', 'unwell')`,
};
const TAKE = {
  name: 'take serving',
  text: `UPDATE servings SET host = $2, changed_at = now(),
      state = CASE WHEN state IN ('ready', 'unwell') THEN 'starting' ELSE state END,
      endpoint = CASE WHEN host = $2 THEN endpoint END,
      weight_version = CASE WHEN host = $2 THEN weight_version END
    WHERE name = $1 AND state NOT IN ('stopped', 'failed') RETURNING name`,
};
const INTEND = {
  name: 'intend server',
  text: `INSERT INTO servers (id, serving, host, port, launch, log, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (id) DO NOTHING`,
};
const STARTED = {
  name: 'server started',
  text: `UPDATE servers SET state = 'started', pid = $2, started = $3 WHERE id = $1 AND state = 'intended'`,
};
const KEPT = { name: 'server kept', text: 'UPDATE servers SET expires_at = $2 WHERE id = $1' };
const ENDED = {
  name: 'server ended',
  text: `UPDATE servers SET state = $2, ended_at = now() WHERE id = $1 AND state IN ('intended', 'started')`,
};
const OPEN = {
  name: 'open servers',
  text: `SELECT * FROM servers WHERE host = $1 AND state IN ('intended', 'started') ORDER BY intended_at, id`,
};

interface ServingColumns
  extends Pick<ServingRow, 'name' | 'spec' | 'state' | 'host' | 'endpoint' | 'reference'> {
  readonly weight_version: string | null;
  readonly model_files: string | null;
  readonly log: string | null;
  readonly restarts: number;
  readonly problem: string | null;
  readonly holders: readonly string[];
  readonly changed_at: Date;
}

type ServerColumns = Omit<ServerRow, 'expiresAt'> & { readonly expires_at: Date };

/** Uses the pool and does not end it. */
export function createPgServings(pool: pg.Pool, { waitMs = WAIT_MS } = {}): Servings {
  const database = createDatabase(pool, waitMs);
  const rowsBy = async (statement: { name: string; text: string }, values: readonly unknown[] = []) =>
    (await database.run<ServingColumns & Record<string, unknown>>(statement, values)).map(servingRow);
  const changed = async (statement: { name: string; text: string }, values: readonly unknown[]) =>
    (await database.run(statement, values)).length > 0;

  return {
    async hostSeen(name, worker) {
      await database.run(HOST_SEEN, [name, worker]);
    },
    async hosts() {
      type Row = Omit<GpuHost, 'seenAt'> & { readonly seen_at: Date };
      const rows = await database.run<Row>(HOSTS);
      return rows.map(({ name, worker, seen_at }) => ({ name, worker, seenAt: iso(seen_at) }));
    },
    want: (name, spec, holder, expiresAt) =>
      database.transaction('want serving', async (run) => {
        await run(WANT, [name, storableJson(spec)]);
        await run(LEASE, [name, holder, expiresAt]);
        return servingRow((await run<ServingColumns & Record<string, unknown>>(READ, [name]))[0]!);
      }),
    async giveBack(holder, name) {
      await database.run(GIVE_BACK, [holder, name ?? null]);
    },
    closeUnneeded: (name) => changed(CLOSE, [name]),
    serving: async (name) => (await rowsBy(READ, [name]))[0],
    servingOf: async (weightVersion) => (await rowsBy(OF, [weightVersion]))[0],
    servings: () => rowsBy(LIST),
    note: (name, note, host) => changed(NOTE, [name, storableJson(clean(note)), host ?? null]),
    async atWork(name, host) {
      await database.run(AT_WORK, [name, host]);
    },
    takeServing: (name, host) => changed(TAKE, [name, host]),
    async intendServer({ id, serving, host, port, launch, log, expiresAt }) {
      await database.transaction('intend server', async (statement) => {
        await requireForServer(statement, host);
        await statement(INTEND, [id, serving, host, port, launch, log, expiresAt]);
      });
    },
    async serverStarted(id, pid, started) {
      await database.run(STARTED, [id, pid, started]);
    },
    async serverKept(id, expiresAt) {
      await database.run(KEPT, [id, expiresAt]);
    },
    async serverEnded(id, how) {
      await database.run(ENDED, [id, how]);
    },
    async openServers(host) {
      const rows = await database.run<ServerColumns & Record<string, unknown>>(OPEN, [host]);
      return rows.map(serverRow);
    },
  };
}

function clean(note: ServingNote): ServingNote {
  return note.problem ? { ...note, problem: storable(note.problem).slice(0, 4_000) } : note;
}

function servingRow(row: ServingColumns): ServingRow {
  const { name, spec, state, host, endpoint, reference, log, restarts, problem, holders } = row;
  return {
    ...{ name, spec, state, host, endpoint, reference, log, restarts, problem, holders },
    weightVersion: row.weight_version,
    modelFiles: row.model_files,
    changedAt: iso(row.changed_at),
  };
}

function serverRow(row: ServerColumns): ServerRow {
  const { id, serving, host, port, state, pid, started, launch, log } = row;
  return { ...{ id, serving, host, port, state, pid, started, launch, log }, expiresAt: iso(row.expires_at) };
}
