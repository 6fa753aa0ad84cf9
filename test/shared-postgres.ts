/**
 * Vitest global set-up: one PostgreSQL server for all test files of a run. It is started by the first file that needs
 * a database, so runs without one do not pay for it, and stopped here at the end.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVER_FOLDER, startTestServer } from './postgres.js';

export default async function sharedPostgres(): Promise<() => Promise<void>> {
  const folder = join(tmpdir(), `steadfast-pg-${randomBytes(6).toString('hex')}`);
  process.env[SERVER_FOLDER] = folder;
  return async () => {
    if (existsSync(join(folder, 'pg'))) await (await startTestServer(folder)).stop();
    await rm(folder, { recursive: true, force: true });
  };
}
