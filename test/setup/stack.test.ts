/** The real Temporal server and PostgreSQL under the real supervisor: durable over `kill -9` of everything at once. */
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readState, type StackInfo } from '../../infra/stack/info.js';
import { type StartOptions, startStack } from '../../infra/stack/start.js';
import { stopStack } from '../../infra/stack/stop.js';
import { RETENTION_DAYS } from '../../temporal.config.js';
import { discard, killHard, processesOf, temporaryHome } from './harness.js';

let home = '';
let info: StackInfo;
const up = (more: StartOptions = {}): Promise<StackInfo> =>
  startStack({ home, services: ['temporal', 'postgres'], ...more });

beforeAll(async () => {
  home = temporaryHome();
  // Two at once: one starts it, both get it.
  const [first, second] = await Promise.all([up(), up()]);
  expect(second.processes).toEqual(first.processes);
  info = first;
});
afterAll(() => discard(home));

it('keeps closed workflows as long as the configuration says', async () => {
  const answer = await fetch(`${info.temporal.ui}/api/v1/namespaces/${info.temporal.namespace}`);
  const { config } = (await answer.json()) as { config: { workflowExecutionRetentionTtl: string } };
  expect(Number.parseInt(config.workflowExecutionRetentionTtl, 10)).toBe(RETENTION_DAYS * 86_400);
});

it('has the schema of the ledger', async () => {
  const rows = await query("SELECT to_regclass('campaigns') IS NOT NULL AS there");
  expect(rows).toEqual([{ there: true }]);
});

it('a second up finds it running', async () => {
  expect((await up()).processes).toEqual(info.processes);
});

it('after kill -9 of every process, up brings back the same addresses and the committed rows', async () => {
  await query('CREATE TABLE kept (value integer)');
  await query('INSERT INTO kept VALUES (7)');
  const state = readState(home)!;
  await Promise.all([state.supervisor, ...state.processes].map(killHard));
  const seen = new Set<string>();
  const again = await up({ onProgress: ({ state: at }) => seen.add(at) });
  expect(again.temporal).toEqual(info.temporal);
  expect(again.databaseUrl).toBe(info.databaseUrl);
  expect(await query('SELECT value FROM kept')).toEqual([{ value: 7 }]);
  expect([...seen]).toContain('ready');
});

it('down leaves no process', async () => {
  await stopStack({ home });
  expect(processesOf(home)).toEqual([]);
});

async function query(sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: info.databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
