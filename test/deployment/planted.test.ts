/** Secrets planted in campaigns on a real stack, whose endpoints repeat their keys: none is in anything that is left. */
import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../activities/ledger/pool.js';
import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { attemptsConfig } from '../../cli/run/resolve.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { Place } from '../../core/sharing.js';
import { freePort } from '../../infra/stack/free-port.js';
import { startStack } from '../../infra/stack/start.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { until } from '../e2e/until.js';
import { steadfast } from '../replay/command.js';
import { discard, temporaryHome } from '../setup/harness.js';
import { type RemoteWorker, remoteEnvironment, remoteWorker } from '../sharing/remote-worker.js';
import { certificates, findOpenssl, tlsInFront } from '../sharing/tls.js';
import { withVariables } from '../variables.js';

const KEYS = {
  PLANTED_USER_KEY: 'sk-planted-user-on-a-stack-77',
  PLANTED_JUDGE_KEY: 'sk-planted-judge/on+a"stack-78',
  PLANTED_MODEL_KEY: 'sk-planted-model/"on"-a-stack-79',
  TEMPORAL_API_KEY: 'planted-temporal-key-80',
};
const EPISODES = 16;
/** Kinds of tasks among which some ask for an amount, so that the judge is asked. */
const TOLD = /:(?:trip|delay|broken)-/;
const home = temporaryHome();
const remoteHome = temporaryHome();
const asked = { user: 0, judge: 0, model: 0 };
let context: StackContext;
let stubborn: { readonly question: string; left: number } | undefined;
let worker: RemoteWorker | undefined;
let port = 0;
let stopFront = () => {};
const metrics = { address: '' };

/** Each repeats its key: in a refusal first, then in what it answers. */
const endpoints = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const role = request.url!.split('/')[1] as keyof typeof asked;
    const key = request.headers.authorization!.replace('Bearer ', '');
    asked[role] += 1;
    response.setHeader('content-type', 'application/json');
    response.setHeader('x-key', encodeURIComponent(key));
    if (asked[role] === 1)
      response.writeHead(401).end(JSON.stringify({ error: { message: `Incorrect API key: ${key}` } }));
    else response.end(JSON.stringify(answer(role, key, JSON.parse(body))));
  });
});

interface Asked {
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}
function answer(role: keyof typeof asked, key: string, { messages, tools }: Asked): object {
  const usage = { prompt_tokens: 5, completion_tokens: 5 };
  const reply = (message: object, finish_reason = 'stop') => ({
    usage,
    choices: [{ finish_reason, message }],
  });
  if (role === 'user') return reply({ content: `no idea , ${key}` });
  if (role === 'judge') {
    const question = JSON.stringify(messages.filter(({ role: of }) => of === 'user'));
    stubborn ??= { question, left: 3 };
    // One question is not readably answered, three times over: the fault has the words.
    const unreadable = question === stubborn.question && stubborn.left-- > 0;
    return reply({ content: unreadable ? `maybe ${key}` : 'Yes' });
  }
  const content = `I was given ${key}`;
  if (messages.at(-1)?.role === 'tool') return reply({ content, reasoning_content: key });
  const call = { name: tools![0]!.function.name, arguments: JSON.stringify({ id: key, [key]: 1 }) };
  return reply(
    { content, tool_calls: [{ id: `call-${key}`, type: 'function', function: call }] },
    'tool_calls',
  );
}

beforeAll(async () => {
  await new Promise<void>((resolve) => endpoints.listen(0, '127.0.0.1', resolve));
  port = (endpoints.address() as AddressInfo).port;
  const { TEMPORAL_API_KEY, ...keys } = KEYS;
  const planted = {
    ...keys,
    STEADFAST_USER_URL: `http://127.0.0.1:${port}/user/v1`,
    STEADFAST_USER_KEY_ENV: 'PLANTED_USER_KEY',
    STEADFAST_JUDGE_URL: `http://127.0.0.1:${port}/judge/v1`,
    STEADFAST_JUDGE_KEY_ENV: 'PLANTED_JUDGE_KEY',
  };
  context = openStack(await withVariables(planted, () => startStack({ home })));
  if (findOpenssl() === undefined) return;
  // A worker elsewhere, over TLS with an API key, whose metrics are read.
  const certified = await certificates(remoteHome);
  const front = await tlsInFront(context.info.temporal.address, certified);
  stopFront = front.stop;
  metrics.address = `127.0.0.1:${await freePort()}`;
  const env = {
    ...remoteEnvironment(context.info, { name: 'elsewhere', home: remoteHome }),
    ...planted,
    ...{ TEMPORAL_API_KEY, TEMPORAL_ADDRESS: front.address, TEMPORAL_TLS_SERVER_NAME: 'temporal.test' },
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: certified.ca,
    TEMPORAL_TLS_CLIENT_CERT_PATH: certified.client.cert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: certified.client.key,
    STEADFAST_METRICS_ADDRESS: metrics.address,
  };
  worker = await remoteWorker(env, ['--pool', 'apart']);
}, 300_000);
afterAll(async () => {
  await worker?.end('SIGTERM');
  await context?.close();
  await discard(home);
  await discard(remoteHome);
  stopFront();
  endpoints.closeAllConnections();
  endpoints.close();
});

test('histories, ledger, files, what verbs and metrics say, command lines', async () => {
  const suite = createDeskbench();
  const train = (await suite.tasks()).filter(({ split, id }) => split === 'train' && TOLD.test(id));
  const ledger = await context.ledger();
  const evaluated = async (name: string, model: RunFile['model'], place: Place): Promise<string> => {
    const tasks = train.slice(0, EPISODES).map(({ id }) => id);
    const config = await attemptsConfig('eval', { model, benchmark: { repeat: 1 } }, suite, tasks);
    const { id } = await launch(context, name, config, EPISODES, place);
    await until(`the end of ${id}`, async () => (await ledger.campaign(id))?.state !== 'running');
    return id;
  };
  const baseUrl = `http://127.0.0.1:${port}/model/v1`;
  const ids = [
    await evaluated('people', { kind: 'scripted', errorRate: 0, turnDelayMs: 0 }, {}),
    await evaluated(
      'model',
      { kind: 'chat', baseUrl, model: 'm', apiKeyEnv: 'PLANTED_MODEL_KEY', stream: false },
      worker ? { pool: 'apart' } : {},
    ),
  ];
  expect(asked.user).toBeGreaterThan(1);
  expect(asked.judge).toBeGreaterThan(3);
  expect(asked.model).toBeGreaterThan(2);

  const verbs = ids.flatMap((id) => [
    ['status', id, '--json'],
    ['status', id],
    ['report', id],
  ]);
  const said = await Promise.all(
    [...verbs, ['status', '--json'], ['doctor', '--json']].map((args) => steadfast(home, ...args)),
  );
  const password = new URL(context.info.databaseUrl).password;
  expect(password.length).toBeGreaterThan(8);
  const secrets = [...Object.values(KEYS), password].flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  ]);
  const found = (text: string) => secrets.some((secret) => text.includes(secret));
  const places: Record<string, string> = {
    ...Object.fromEntries(said.map(({ out, err }, index) => [`verb ${index}`, `${out}${err}`])),
    histories: await histories(await context.temporal()),
    ledger: await everyRow(context.info.databaseUrl),
    'command lines': commandLines(),
    ...filesOf(home),
    ...(worker ? { 'a worker elsewhere': worker.said(), ...filesOf(remoteHome, /\.key$/) } : {}),
  };
  if (worker) {
    const page = await (await fetch(`http://${metrics.address}/metrics`)).text();
    expect(page).toContain('steadfast_episodes_total');
    places.metrics = page;
  }
  // What was repeated is there, without the keys: what is looked through is what was kept.
  expect(places.ledger).toContain('Incorrect API key: [secret]');
  expect(places.ledger).toContain('maybe [secret]');
  const artifacts = Object.entries(places).filter(([name]) => name.startsWith('artifacts'));
  for (const words of ['no idea , [secret]', 'I was given [secret]'])
    expect(artifacts.filter(([, text]) => text.includes(words)).length).toBeGreaterThan(0);
  expect(Object.keys(places).filter((place) => found(places[place]!))).toEqual([]);

  // The one file that has the database's password is its owner's alone, and has no key.
  const state = join(home, 'stack.json');
  expect(statSync(state).mode & 0o077).toBe(0);
  expect(readFileSync(state, 'utf8')).toContain(password);
  for (const key of Object.values(KEYS)) expect(readFileSync(state, 'utf8')).not.toContain(key);
}, 300_000);

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
function filesOf(folder: string, own = /^(?:pg|stack\.json|.*password.*)$/): Record<string, string> {
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
