/**
 * Sandboxes: from intended (by `beginTry`, or ahead of the try that will claim it) to released or reaped. These writes need not be on disk when they return,
 * which saves a sync each: a server that crashes in that moment leaves a sandbox that the reaper ends again. And since
 * nobody waits for them but an episode's end, what comes within a moment is one statement for all episodes of the
 * process (docs/benchmarks.md has what that saves).
 */
import type { IntendedSandbox, Ledger, OpenSandbox } from '../../core/ledger.js';
import type { Database } from './database.js';

/** Longer: larger statements, and episodes that end later by as much. */
const GATHER_MS = 25;

/** True for every row, and as a side effect this transaction commits without waiting for the disk. */
const WITHOUT_SYNC = "set_config('synchronous_commit', 'off', true) = 'off'";

/** A sandbox that was noted as created and as ended in one moment has both times. */
const NOTE = {
  name: 'sandbox notes',
  text: `UPDATE sandboxes s SET
      state = CASE WHEN n.released THEN 'released' ELSE 'created' END,
      created_at = CASE WHEN n.created THEN coalesce(s.created_at, now()) ELSE s.created_at END,
      ended_at = CASE WHEN n.released THEN now() END
    FROM unnest($1::text[], $2::boolean[], $3::boolean[]) AS n (name, created, released)
    WHERE s.name = n.name AND (s.state = 'intended' OR s.state = 'created' AND n.released) AND ${WITHOUT_SYNC}`,
};
/** With a sync, unlike the others: without this row nobody would know of what is made next. */
const AHEAD = {
  name: 'sandboxes ahead',
  text: `INSERT INTO sandboxes (name, warm, isolation, host, worker, expires_at)
    SELECT n.name, true, n.isolation, n.host, $1, n.expires_at
    FROM unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[]) AS n (name, isolation, host, expires_at)
    ON CONFLICT (name) DO NOTHING`,
};
const REAPED = {
  name: 'sandbox reaped',
  text: `UPDATE sandboxes SET state = 'reaped', ended_at = now()
    WHERE name = $1 AND state IN ('intended', 'created') AND ${WITHOUT_SYNC}`,
};
const OPEN = {
  name: 'open sandboxes',
  text: `SELECT s.name, s.isolation, s.worker, s.expires_at AS "expiresAt",
      coalesce(t.state <> 'running' AND t.ended_at < now() - interval '1 minute', false) AS abandoned
    FROM sandboxes s LEFT JOIN tries t ON t.id = s.try_id
    WHERE s.host = $1 AND s.state IN ('intended', 'created') AND s.worker <> ALL ($2::text[])
    ORDER BY s.intended_at, s.name`,
};
const ENDED = {
  name: 'ended sandboxes',
  text: "SELECT name FROM sandboxes WHERE name = ANY ($1::text[]) AND state IN ('released', 'reaped') ORDER BY name",
};

export function sandboxWrites(
  database: Database,
): Pick<Ledger, 'sandboxesAhead' | 'sandboxCreated' | 'sandboxEnded' | 'openSandboxes' | 'endedSandboxes'> {
  const notes = new Notes(database);
  return {
    async sandboxesAhead(worker, sandboxes) {
      const column = (name: keyof IntendedSandbox): string[] => sandboxes.map((row) => row[name]);
      const values = [column('name'), column('isolation'), column('host'), column('expiresAt')];
      await database.run(AHEAD, [worker, ...values]);
    },
    sandboxCreated: (name) => notes.add(name, 'created'),
    async sandboxEnded(name, how) {
      if (how === 'released') await notes.add(name, 'released');
      else await database.run(REAPED, [name]);
    },
    async openSandboxes(host, aliveWorkers) {
      type Row = Omit<OpenSandbox, 'expiresAt'> & { expiresAt: Date };
      const rows = await database.run<Row>(OPEN, [host, [...aliveWorkers]]);
      return rows.map(({ expiresAt, ...row }) => ({ ...row, expiresAt: expiresAt.toISOString() }));
    },
    async endedSandboxes(names) {
      return (await database.run<{ name: string }>(ENDED, [[...names]])).map(({ name }) => name);
    },
  };
}

interface Note {
  created: boolean;
  released: boolean;
}

class Notes {
  private gathered = new Map<string, Note>();
  private written: Promise<void> | undefined;

  constructor(private readonly database: Database) {}

  /** Done when it is written; all notes of one moment fail together. */
  add(name: string, what: keyof Note): Promise<void> {
    const note = this.gathered.get(name) ?? { created: false, released: false };
    note[what] = true;
    this.gathered.set(name, note);
    this.written ??= this.writeSoon();
    return this.written;
  }

  private async writeSoon(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
    const notes = [...this.gathered];
    this.gathered = new Map();
    this.written = undefined;
    await this.database.run(NOTE, [
      notes.map(([name]) => name),
      notes.map(([, { created }]) => created),
      notes.map(([, { released }]) => released),
    ]);
  }
}
