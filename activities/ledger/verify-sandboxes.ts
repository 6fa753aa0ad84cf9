/**
 * `verify sandbox`: every sandbox that was created has been released or reaped, and nothing is alive on this host that
 * the ledger does not hold open. Reads only.
 */
import type pg from 'pg';
import type { LivingSandbox } from '../../core/sandbox.js';

const COUNTS = `SELECT count(*) AS known, count(*) FILTER (WHERE state = 'intended') AS intended,
    count(*) FILTER (WHERE state = 'created') AS created, count(*) FILTER (WHERE state = 'released') AS released,
    count(*) FILTER (WHERE state = 'reaped') AS reaped,
    count(*) FILTER (WHERE state IN ('intended', 'created') AND try_id IS NULL) AS waiting FROM sandboxes`;
const OPEN = `SELECT s.name, s.host, s.worker, s.expires_at < now() AS expired,
    coalesce(t.state <> 'running' AND t.ended_at < now() - interval '1 minute', false) AS abandoned
  FROM sandboxes s LEFT JOIN tries t ON t.id = s.try_id
  WHERE s.state IN ('intended', 'created') ORDER BY s.intended_at, s.name`;
const STATES = 'SELECT name, state FROM sandboxes WHERE name = ANY ($1::text[])';

interface OpenRow {
  readonly name: string;
  readonly host: string;
  readonly worker: string;
  readonly expired: boolean;
  readonly abandoned: boolean;
}

export interface SandboxVerification {
  /** All that were ever intended; the other four add up to it. */
  readonly known: number;
  /** Not yet created, or in that very moment. */
  readonly intended: number;
  /** Made and not ended yet. */
  readonly created: number;
  readonly released: number;
  readonly reaped: number;
  /** Of those intended and created: started ahead, and not claimed by a try. */
  readonly waiting: number;
  /** What is there on this host, of this stack. */
  readonly living: number;
  readonly problems: readonly string[];
}

export interface VerifySandboxesParts {
  readonly pool: Pick<pg.Pool, 'query'>;
  readonly host: string;
  /** Asked twice: what went meanwhile was being released. */
  readonly living: () => Promise<readonly LivingSandbox[]>;
  readonly workerIsAlive: (worker: string) => boolean;
}

export async function verifySandboxes(parts: VerifySandboxesParts): Promise<SandboxVerification> {
  const { pool, host, workerIsAlive } = parts;
  const living = ours(await parts.living());
  const before = living.map(({ name }) => name);
  const [counted] = (await pool.query<Record<string, string>>(COUNTS)).rows;
  const open = (await pool.query<OpenRow>(OPEN)).rows;
  const elsewhere = new Map<string, number>();
  const problems = open.flatMap(({ name, host: where, worker, expired, abandoned }) => {
    if (expired && where !== host) {
      elsewhere.set(where, (elsewhere.get(where) ?? 0) + 1);
      return [];
    }
    if (expired) return [`${name}: past its expiry and never ended (worker ${worker})`];
    if (where === host && !workerIsAlive(worker)) return [`${name}: its worker ${worker} is gone`];
    if (abandoned) return [`${name}: its try is over and it was not released (worker ${worker})`];
    return [];
  });
  const states = await pool.query<{ name: string; state: string }>(STATES, [before]);
  const known = new Map(states.rows.map(({ name, state }) => [name, state]));
  for (const [where, count] of elsewhere) {
    const fix = `start a sandbox worker there, or run \`steadfast sandbox sweep\` on it`;
    problems.push(`host ${where}: ${count} are past their expiry and nobody ends them; ${fix}`);
  }
  const after = new Set(ours(await parts.living()).map(({ name }) => name));
  for (const { name, worker } of living) {
    const state = known.get(name);
    if (state === 'intended' || state === 'created' || !after.has(name)) continue;
    // Of a check that a command makes just now.
    if (state === undefined && worker !== undefined && workerIsAlive(worker)) continue;
    problems.push(
      `${name}: there, and ${state === undefined ? 'not in the ledger' : `${state} in the ledger`}`,
    );
  }
  const count = (name: string): number => Number(counted?.[name] ?? 0);
  const [intended, created] = [count('intended'), count('created')];
  const [released, reaped] = [count('released'), count('reaped')];
  const waiting = count('waiting');
  return {
    known: count('known'),
    intended,
    created,
    released,
    reaped,
    waiting,
    living: before.length,
    problems,
  };
}

/** Those of another stack on this host are in another ledger. */
function ours(living: readonly LivingSandbox[]): readonly LivingSandbox[] {
  return living.filter(({ foreign }) => foreign !== true);
}
