/** Looks at the committed rows of a disturbed run again and again, past every proxy: none of them may ever change. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const EVERY_MS = 700;
const PLAYING_EVERY_MS = 150;
/** A database that is stopped answers nothing. */
const ANSWER_MS = 3_000;

const CLEAN = `SELECT a.key, a.reward, t.trajectory, t.id FROM attempts a JOIN tries t ON t.id = a.clean_try
  WHERE a.state = 'clean'`;
const UPDATED = `SELECT op, batch_digest, report ->> 'weightDigest' AS weights FROM operations WHERE state = 'done'`;
/** Begun when the attempt had its clean result already: a finished episode that was played again. */
const REPEATED = `SELECT a.key FROM attempts a JOIN tries c ON c.id = a.clean_try JOIN tries t ON t.attempt_id = a.id
  WHERE t.id <> c.id AND t.started_at > c.ended_at`;
const OPEN = `SELECT name FROM sandboxes WHERE state IN ('intended', 'created')`;
const PLAYING = `SELECT 1 FROM tries WHERE state = 'running' LIMIT 1`;
const TRIES = `SELECT state, count(*)::int AS count FROM tries GROUP BY state ORDER BY state`;

export class Watch {
  /** Episode or operation → what was committed. */
  readonly seen = new Map<string, string>();
  /** What changed under our eyes. */
  readonly changed: string[] = [];
  looks = 0;
  /** Looks that the database did not answer. */
  missed = 0;
  private ended = false;
  private readonly watching: Promise<void>;

  constructor(private readonly databaseUrl: string) {
    this.watching = this.watch();
  }

  /** A last look, which must succeed. */
  async end(): Promise<void> {
    this.ended = true;
    await this.watching;
    await this.look();
  }

  private async watch(): Promise<void> {
    while (!this.ended) {
      try {
        await this.look();
      } catch {
        // Killed, stopped, starting: that is what the faults are for. Whether it always was is counted.
        this.missed++;
      }
      await sleep(EVERY_MS);
    }
  }

  private async look(): Promise<void> {
    await withDatabase(this.databaseUrl, async (client) => {
      const now = new Map<string, string>();
      for (const { key, ...row } of (await client.query<{ key: string }>(CLEAN)).rows) {
        now.set(key, JSON.stringify(row));
      }
      for (const { op, ...row } of (await client.query<{ op: string }>(UPDATED)).rows) {
        now.set(op, JSON.stringify(row));
      }
      for (const [key, before] of this.seen) {
        if (now.get(key) !== before)
          this.changed.push(`${key}: ${before} became ${now.get(key) ?? 'nothing'}`);
      }
      for (const [key, row] of now) this.seen.set(key, row);
      this.looks++;
    });
  }
}

/** Until an episode is being played, so that a fault may meet one; gives up after `limitMs`. */
export async function untilPlaying(databaseUrl: string, limitMs: number): Promise<void> {
  for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(PLAYING_EVERY_MS)) {
    try {
      if (await withDatabase(databaseUrl, async (client) => (await client.query(PLAYING)).rowCount === 1))
        return;
    } catch {
      // The database is a victim at this moment: so is every episode.
      return;
    }
  }
}

export interface Leftovers {
  readonly repeated: readonly string[];
  readonly openSandboxes: readonly string[];
  readonly tries: Readonly<Record<string, number>>;
}

export function leftovers(databaseUrl: string): Promise<Leftovers> {
  return withDatabase(databaseUrl, async (client) => ({
    repeated: (await client.query<{ key: string }>(REPEATED)).rows.map(({ key }) => key),
    openSandboxes: (await client.query<{ name: string }>(OPEN)).rows.map(({ name }) => name),
    tries: Object.fromEntries(
      (await client.query<{ state: string; count: number }>(TRIES)).rows.map(({ state, count }) => [
        state,
        count,
      ]),
    ),
  }));
}

async function withDatabase<T>(
  connectionString: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
  });
  // A server that dies between two queries tells the next one.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    // A server that is stopped would be waited for.
    await Promise.race([client.end().catch(() => undefined), sleep(ANSWER_MS)]);
  }
}
