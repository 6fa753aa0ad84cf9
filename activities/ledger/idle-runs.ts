/** Of the training runs that are running: for how long the one that has stood still longest has. */
import type pg from 'pg';
import { createDatabase } from './database.js';

const IDLE = {
  name: 'idle runs',
  text: `SELECT coalesce(max(extract(epoch FROM now() - greatest(c.created_at, s.moved_at))), 0)::float8 AS seconds
    FROM campaigns c
    LEFT JOIN LATERAL (SELECT max(updated_at) AS moved_at FROM steps WHERE run = c.id) s ON true
    WHERE c.kind = 'train' AND c.state = 'running'`,
};

/** Seconds since a step of it began, was sampled, updated or done; 0 where no run is running. Throws `Fault('ledger')`. */
export async function idleRunSeconds(pool: pg.Pool): Promise<number> {
  const [row] = await createDatabase(pool, 0).run<{ seconds: number }>(IDLE);
  return row!.seconds;
}
