/** Servers at their worst before anything is sampled: each a fault or a refusal that names the address asked. */
import { expect, test } from 'vitest';
import type { Endpoint } from '../../activities/policy/endpoint.js';
import { endpointTokenizer } from '../../activities/policy/tokenize.js';
import { fetchTrainerModel, servedContext } from '../../activities/policy/trainer-files.js';
import { type Reply, serve } from '../policy/server.js';

const { signal } = new AbortController();
const MODELS = /^policy endpoint http:\/\/[\d.:]+\/v1\/models \(model m\): /;

const at = (baseUrl: string): Endpoint => ({ kind: 'policy', baseUrl, model: 'm', apiKeyEnv: null });
const endless = { events: ['x'.repeat(65_536)], end: 'endless' } as const;
const json = { headers: { 'content-type': 'application/json' } };

test.each<[string, Reply, string, boolean, RegExp]>([
  ['an HTML page', { body: '<html>login</html>' }, 'unreadable', true, /JSON object.*<html>/],
  ['a JSON list', { body: [] }, 'unreadable', true, /JSON object, found \[\]/],
  ['no list', { body: { data: 'x' } }, 'unreadable', true, /data: expected a list of models/],
  ['a wrong key', { status: 401, body: { error: { message: 'bad key' } } }, 'http_401', false, /401 bad key/],
  ['another model', { body: { data: [{ id: 'n' }] } }, 'no_model', false, /entry of model m, found n$/],
  ['no model', { body: { data: [] } }, 'no_model', false, /entry of model m, found none$/],
  ['no length', { body: { data: [{ id: 'm' }] } }, 'no_context', false, /max_model_len/],
  ['a length below 1', { body: { data: [{ id: 'm', max_model_len: -1 }] } }, 'no_context', false, /-1/],
  ['a reply without end', { stream: endless, ...json }, 'unreadable', true, /more than \d+ bytes/],
])('GET /models brings %s', async (_name, reply, code, retry, message) => {
  const server = await serve([reply]);
  const error = await servedContext(at(server.baseUrl), signal).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ kind: 'policy', code, retry });
  expect((error as Error).message).toMatch(MODELS);
  expect((error as Error).message).toMatch(message);
});

test('a base URL that does not end in /v1 keeps its own end for the models', async () => {
  const server = await serve([{ body: { data: [{ id: 'm', max_model_len: 4096 }] } }]);
  const endpoint = at(server.baseUrl.replace(/v1$/, 'openai/v3'));
  expect(await servedContext(endpoint, signal)).toBe(4096);
  expect(server.received.map(({ path }) => path)).toEqual(['/openai/v3/models']);
});

test.each<[string, Reply, string, boolean]>([
  ['an overloaded server', { status: 503, body: { error: { message: 'loading' } } }, 'server_error', true],
  ['a wrong key', { status: 401, body: { error: { message: 'bad key' } } }, 'http_401', false],
])('%s says nothing of how it reads text', async (_name, reply, code, retry) => {
  const server = await serve([reply]);
  const asked = endpointTokenizer(at(server.baseUrl), signal);
  await expect(asked).rejects.toMatchObject({ name: 'Fault', code, retry });
  await expect(asked).rejects.toThrow(/^policy endpoint http:\/\/[\d.:]+\/tokenize \(model m\): HTTP \d+ /);
});

test('a reply without end to /tokenize is one more thing that is no tokenizer', async () => {
  const server = await serve([{ stream: endless, ...json }, { status: 404 }]);
  await expect(endpointTokenizer(at(server.baseUrl), signal)).rejects.toThrow(
    /found \/tokenize: .*more than \d+ bytes; \/tokenize: HTTP 404.*; \/v1\/completions: HTTP 404/,
  );
});

test('a key that is not set is said before anything is asked', async () => {
  const endpoint = { ...at('http://127.0.0.1:9/v1'), apiKeyEnv: 'NO_SUCH_KEY_OF_OURS' };
  await expect(servedContext(endpoint, signal)).rejects.toMatchObject({ code: 'no_key', retry: false });
});

test('a trainer without tokenizer files', async () => {
  const server = await serve([{ body: { tokenizer: {}, config: 3 } }]);
  await expect(fetchTrainerModel(server.baseUrl, signal)).rejects.toThrow(
    /^policy endpoint http:\/\/[\d.:]+\/tokenizer .*: tokenizer, config: expected two objects, found \[{},3\]/,
  );
});

test('a trainer may say how its outputs are read, by name', async () => {
  const files = { tokenizer: {}, config: {} };
  const server = await serve([
    { body: { ...files, format: 'hermes' } },
    { body: files },
    { body: { ...files, format: 7 } },
  ]);
  expect(await fetchTrainerModel(server.baseUrl, signal)).toEqual({ files, format: 'hermes' });
  expect(await fetchTrainerModel(server.baseUrl, signal)).toEqual({ files, format: undefined });
  await expect(fetchTrainerModel(server.baseUrl, signal)).rejects.toThrow(/format: expected a name, found 7/);
});
