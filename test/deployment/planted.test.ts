/** Secrets planted in a run on a real stack, whose simulated user repeats its key: none is in anything that is left. */
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { withVariables } from '../e2e/people.js';
import { until } from '../e2e/until.js';
import { steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';

const KEY = 'sk-planted-on-a-stack-77';
const EPISODES = 8;
const home = temporaryHome();
let context: StackContext;
let asked = 0;

const user = createServer((request, response) => {
  request.resume();
  asked += 1;
  const key = request.headers.authorization ?? '';
  response.setHeader('content-type', 'application/json');
  // The first is refused for good, the others are answered.
  if (asked === 1)
    response.writeHead(401).end(JSON.stringify({ error: { message: `Incorrect API key: ${key}` } }));
  else response.end(JSON.stringify({ choices: [{ message: { content: `no idea , ${key}` } }] }));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => user.listen(0, '127.0.0.1', resolve));
  const { port } = user.address() as AddressInfo;
  const planted = {
    STEADFAST_USER_URL: `http://127.0.0.1:${port}/v1`,
    STEADFAST_USER_KEY_ENV: 'PLANTED_USER_KEY',
    PLANTED_USER_KEY: KEY,
  };
  context = openStack(await withVariables(planted, () => startStack({ home })));
}, 200_000);
afterAll(async () => {
  await context?.close();
  await discard(home);
  user.closeAllConnections();
  user.close();
});

test('histories, ledger, files, what verbs say, command lines', async () => {
  const suite = createDeskbench();
  const train = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
  const model = { kind: 'scripted', errorRate: 0, turnDelayMs: 0 } as const;
  const config = await attemptsConfig(
    'eval',
    { model, benchmark: { repeat: 1 } },
    suite,
    train.slice(0, EPISODES),
  );
  const { id } = await launch(context, 'planted', config, EPISODES);
  const ledger = await context.ledger();
  await until('its end', async () => (await ledger.campaign(id))?.state !== 'running');
  expect(asked).toBeGreaterThan(1);

  const said = await Promise.all([
    steadfast(home, 'status', id, '--json'),
    steadfast(home, 'report', id),
    steadfast(home, 'doctor', '--json'),
  ]);
  const password = new URL(context.info.databaseUrl).password;
  expect(password.length).toBeGreaterThan(8);
  const found = (text: string) => [KEY, password].some((secret) => text.includes(secret));
  const places: Record<string, string> = {
    ...Object.fromEntries(said.map(({ out, err }, index) => [`verb ${index}`, `${out}${err}`])),
    histories: await histories(await context.temporal()),
    ledger: await everyRow(context.info.databaseUrl),
    'command lines': commandLines(),
    ...filesOf(home),
  };
  // The refusal is there, without its key: what is looked through is what was kept.
  expect(places.ledger).toContain('Incorrect API key: Bearer [secret]');
  expect(Object.keys(places).filter((place) => found(places[place]!))).toEqual([]);
}, 180_000);

async function histories(client: Awaited<ReturnType<StackContext['temporal']>>): Promise<string> {
  const texts: string[] = [];
  for await (const { workflowId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    texts.push(
      JSON.stringify(history, (_, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value,
      ),
    );
  }
  expect(texts.length).toBeGreaterThan(0);
  return texts.join('\n');
}

async function everyRow(databaseUrl: string): Promise<string> {
  const pool = createPool(databaseUrl, { max: 1 });
  try {
    const { rows } = await pool.query<{ name: string }>(
      "SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'",
    );
    const texts: string[] = [];
    for (const { name } of rows)
      texts.push(JSON.stringify((await pool.query(`SELECT t::text FROM ${name} t`)).rows));
    return texts.join('\n');
  } finally {
    await pool.end();
  }
}

function commandLines(): string {
  const lines = readdirSync('/proc').map((entry) => readOr(join('/proc', entry, 'cmdline')));
  return lines.join('\n');
}

/** Logs, artifacts, reports, Temporal's own database; not what is the database's: its files, and the two that hold its password. */
function filesOf(folder: string): Record<string, string> {
  const own = /^(?:pg|stack\.json|.*password.*)$/;
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !own.test(name))
      .flatMap((top: Dirent) =>
        top.isFile()
          ? [join(folder, top.name)]
          : readdirSync(join(folder, top.name), { recursive: true, withFileTypes: true })
              .filter((entry) => entry.isFile())
              .map((entry) => join(entry.parentPath, entry.name)),
      )
      .map((file) => [file.slice(folder.length + 1), readOr(file)]),
  );
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    // It has ended meanwhile, or is none.
    return '';
  }
}
