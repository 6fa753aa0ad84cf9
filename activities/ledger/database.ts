/**
 * Statements against the ledger's database: prepared once per session by name, errors as faults, and tried again
 * while the database is away, so that a restart of PostgreSQL costs no episode that is about to be recorded.
 * That is safe because every write of the ledger may be executed twice.
 */
import type pg from 'pg';
import { isConnectionLoss, ledgerFault } from './errors.js';

export interface Statement {
  /** Name of the prepared statement, and in error messages: `begin try`. One name, one text. */
  readonly name: string;
  readonly text: string;
}

export type Run = <Row extends pg.QueryResultRow>(
  statement: Statement,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

export interface Database {
  readonly run: Run;
  /** All statements of `body` or none. `body` may be executed again after a lost connection. */
  transaction<T>(what: string, body: (run: Run) => Promise<T>): Promise<T>;
}

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 2_000;

/** `waitMs`: how long a call goes on trying while the database does not answer. */
export function createDatabase(pool: pg.Pool, waitMs: number): Database {
  const runOn =
    (target: pg.Pool | pg.PoolClient): Run =>
    async <Row extends pg.QueryResultRow>(statement: Statement, values: readonly unknown[] = []) =>
      (await target.query<Row>({ name: statement.name, text: statement.text, values: [...values] })).rows;

  async function persist<T>(what: string, action: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + waitMs;
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await action();
      } catch (error) {
        if (!isConnectionLoss(error) || Date.now() + wait > deadline) throw ledgerFault(error, what);
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  return {
    run: (statement, values) => persist(statement.name, () => runOn(pool)(statement, values)),
    transaction: (what, body) =>
      persist(what, async () => {
        const client = await pool.connect();
        let broken: Error | undefined;
        try {
          await client.query('BEGIN');
          const result = await body(runOn(client));
          await client.query('COMMIT');
          return result;
        } catch (error) {
          broken = await rollback(client);
          throw error;
        } finally {
          client.release(broken);
        }
      }),
  };
}

/** The error when not even that was possible: then the session is of no more use. */
async function rollback(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
