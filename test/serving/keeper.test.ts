/** One server on one host: started, watched, restarted, taken over, ended. Real processes and a real ledger. */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { sweepServers } from '../../activities/serving/sweep.js';
import { until } from '../e2e/until.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { QUICK, TestHost } from './host.js';

/** A busy machine takes its time; `until` says what was not seen. */
vi.setConfig({ testTimeout: 300_000 });

let db: TestDatabase;
let host: TestHost;
let name: string;
let names = 0;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  host = await TestHost.make(db);
  name = `serving-${names++}`;
});
afterEach(() => host.end());

const processes = (id: string) => markedProcesses(id, 'STEADFAST_SERVER');

test('ready by a completion, with a log; ended with all its processes when nobody needs it', async () => {
  await host.want(name);
  const { ended } = host.keep(name);
  const row = await host.ready(name);
  const server = await host.server();
  expect(row).toMatchObject({
    endpoint: `http://127.0.0.1:${server.port}/v1`,
    weightVersion: `sha256:${'a'.repeat(64)}`,
    holders: ['test'],
    reference: -1.5,
    restarts: 0,
    problem: null,
  });
  expect(await readFile(row.log!, 'utf8')).toContain('stand-in for vLLM');
  const files = JSON.parse(Buffer.from(await host.deps().artifacts.get(row.modelFiles!)).toString());
  expect(Object.keys(files)).toEqual(['tokenizer', 'config']);
  expect(await processes(server.id)).toHaveLength(2);

  await host.servings.giveBack('test', name);
  expect(await ended).toBe('unneeded');
  expect(await processes(server.id)).toEqual([]);
  expect(await host.history()).toEqual(['ended']);
});

test('a worker that was killed leaves a server that the next one takes over', async () => {
  await host.want(name);
  const first = host.keep(name);
  await host.ready(name);
  const before = await host.server();
  first.leave();
  await expect(first.ended).rejects.toThrow('the worker was killed');

  // Nothing that is wanted here is swept away meanwhile.
  expect(await sweepServers(host.deps(), { starting: true })).toEqual([]);
  host.keep(name);
  await until('taken over', async () => host.said.some((line) => line.includes(`${before.pid} taken over`)));
  expect(await host.server()).toEqual(before);
  expect(await host.history()).toEqual(['started']);
});

test.each(['SIGKILL', 'SIGSTOP'] as const)('%s: it is started again', async (signal) => {
  await host.want(name);
  host.keep(name, host.deps({ times: { ...QUICK, hungMs: 3_000, canaryMs: 1_500, graceMs: 300 } }));
  await host.ready(name);
  const before = await host.server();
  process.kill(before.pid, signal);
  const row = await host.when(
    name,
    'another server',
    ({ state, restarts }) => state === 'ready' && restarts > 0,
  );
  expect(row.problem).toBeNull();
  const after = await host.server();
  expect(after.pid).not.toBe(before.pid);
  expect(await processes(before.id)).toEqual([]);
  expect((await host.history()).slice(0, 1)).toEqual(['ended']);
  const cause = signal === 'SIGKILL' ? 'was killed by SIGKILL' : 'neither a completion nor a token';
  expect(host.said.join('\n')).toContain(cause);
});

test('one that accepts requests and answers none is started again', async () => {
  await host.want(name);
  host.keep(name, host.deps({ times: { ...QUICK, hungMs: 3_000, canaryMs: 1_500 } }));
  await host.ready(name);
  await host.mood({ silent: true });
  await host.when(name, 'a server that hung', ({ problem }) => problem?.startsWith('hung: ') === true);
  await host.mood({});
  const row = await host.ready(name);
  expect(row.restarts).toBeGreaterThan(0);
});

test.each([
  [{ start: 'oom' }, 'out_of_memory', 'out of memory: fewer sequences'],
  [{ start: 'crash' }, 'server_died', 'Engine core initialization failed'],
  [{ model: 'other' }, 'wrong_model', 'found other'],
  [{ null: true }, 'garbage', 'log-probabilities'],
  [{ logprob: -Math.log(16) }, 'garbage', 'every token of 16 is equally likely'],
] as const)('%o: a bounded number of starts, then a failure that says why', async (mood, code, words) => {
  await host.mood(mood);
  await host.want(name);
  const { ended } = host.keep(name);
  await expect(ended).rejects.toMatchObject({ kind: 'trainer', code, retry: false });
  await expect(ended).rejects.toThrow(/failed 3 times/);
  await expect(ended).rejects.toThrow(words);
  expect(await host.history()).toEqual(['ended', 'ended', 'ended']);
  expect((await host.servings.serving(name))?.problem).toContain(code);
});

test('weights that answer otherwise after a start again are not served', async () => {
  await host.want(name);
  const { ended } = host.keep(name);
  await host.ready(name);
  await host.mood({ logprob: -1.9 });
  await expect(ended).rejects.toMatchObject({ code: 'garbage' });
  await expect(ended).rejects.toThrow('log-probability -1.9000, of the same weights before it had -1.5000');
});

test('a server whose weights a trainer changes may answer otherwise', async () => {
  const spec = await host.spec();
  await host.want(name, { ...spec, weights: { ...spec.weights, changing: true } });
  host.keep(name);
  await host.ready(name);
  const { pid } = await host.server();
  await host.mood({ logprob: -1.9 });
  process.kill(pid, 'SIGKILL');
  const row = await host.when(name, 'it again', ({ restarts, state }) => restarts > 0 && state === 'ready');
  expect(row.reference).toBeCloseTo(-1.9);
});

test('one that never comes up is given up after its time', async () => {
  await host.mood({ start: 'never' });
  await host.want(name);
  const { ended } = host.keep(name, host.deps({ times: { ...QUICK, startMs: 300, restarts: 0 } }));
  await expect(ended).rejects.toMatchObject({ code: 'not_ready' });
  await expect(ended).rejects.toThrow('not ready after 0.3 s: ');
});

test('a port that somebody else has taken costs a start, not the serving', async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => squatter.once('listening', done));
  const { port } = squatter.address() as { port: number };
  const { tools } = host.deps();
  const ports = [port];
  const freePort = async () => ports.pop() ?? tools.freePort();
  await host.want(name);
  host.keep(name, host.deps({ tools: { ...tools, freePort } }));
  const row = await host.ready(name);
  expect(row.restarts).toBe(1);
  expect(host.said.join('\n')).toContain('its port is taken');
  squatter.close();
});

test('never two servers on one host: what is left of another serving is ended first', async () => {
  await host.want(name);
  const first = host.keep(name);
  await host.ready(name);
  const before = await host.server();
  first.leave();
  await expect(first.ended).rejects.toThrow('killed');
  await host.want(`${name}-b`);
  host.keep(`${name}-b`);
  await host.ready(`${name}-b`);
  expect(await processes(before.id)).toEqual([]);
  expect(await host.history()).toEqual(['reaped', 'started']);
});

test('other weights under the same name take the place of those before', async () => {
  await host.want(name);
  host.keep(name);
  await host.ready(name);
  const weights = { folder: await host.model('next'), weightVersion: `sha256:${'b'.repeat(64)}` };
  await host.want(name, await host.spec({ weights }));
  const row = await host.when(
    name,
    'the next weights',
    ({ weightVersion }) => weightVersion === weights.weightVersion,
  );
  expect(row.state).toBe('ready');
  expect(await host.history()).toEqual(['ended', 'started']);
});

test('a serving that has moved to another host is ended here', async () => {
  await host.want(name);
  const { ended } = host.keep(name);
  await host.ready(name);
  await host.servings.takeServing(name, 'elsewhere');
  expect(await ended).toBe('moved');
  expect(await host.history()).toEqual(['ended']);
  expect((await host.servings.serving(name))?.endpoint).toBeNull();
});

test('a worker that starts ends what belongs elsewhere by now', async () => {
  await host.want(name);
  const { leave, ended } = host.keep(name);
  await host.ready(name);
  const { id } = await host.server();
  leave();
  await expect(ended).rejects.toThrow('killed');
  await host.servings.takeServing(name, 'elsewhere');
  expect(await sweepServers(host.deps(), { starting: true })).toEqual([id]);
  expect(await processes(id)).toEqual([]);
  expect(await host.history()).toEqual(['reaped']);
});

test('a program that is not there is said at once', async () => {
  await host.want(name);
  const { ended } = host.keep(name, host.deps({ command: ['/nowhere/vllm'] }));
  await expect(ended).rejects.toMatchObject({ code: 'no_program', retry: false });
  await expect(ended).rejects.toThrow('/nowhere/vllm');
  expect(await host.history()).toEqual(['ended']);
});
