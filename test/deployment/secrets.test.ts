/** An endpoint that repeats its key in errors and answers: the key is in nothing that is kept or told. */
import { inspect } from 'node:util';
import type { ApplicationFailure } from '@temporalio/common';
import { afterAll, expect, test } from 'vitest';
import { answerCall, Toolbox } from '../../activities/episode/calls.js';
import { describeFault } from '../../activities/episode/trajectory.js';
import { asFailure } from '../../activities/failures.js';
import { createChatModel } from '../../activities/policy/chat-model.js';
import { Fault } from '../../core/faults.js';
import type { ToolSession } from '../../core/sandbox.js';
import { HIDDEN, hideInJson, hideSecrets, registerPassword, registerSecret } from '../../core/secrets.js';
import { type Reply, serve } from '../policy/server.js';

const KEY = 'sk-planted-4f1d0c';
process.env.PLANTED_KEY = KEY;
afterAll(() => {
  delete process.env.PLANTED_KEY;
});

async function ask(reply: Reply): Promise<string> {
  const { baseUrl } = await serve([reply]);
  const model = createChatModel({ kind: 'user', baseUrl, model: 'm', apiKeyEnv: 'PLANTED_KEY' });
  const meter = { promptTokens: 0, sampledTokens: 0, calls: 0 };
  return model.complete({ system: 's', user: 'u' }, meter, new AbortController().signal);
}

test('an answer', async () => {
  const content = `your key is ${KEY}, yes ${KEY} .`;
  const said = await ask({ body: { choices: [{ message: { content } }] } });
  expect(said).toBe(`your key is ${HIDDEN}, yes ${HIDDEN} .`);
});

test.each<Reply>([
  { status: 401, body: { error: { message: `Incorrect API key provided: ${KEY}` } } },
  { status: 401, body: `<p>no ${KEY}</p>` },
  { status: 302, headers: { location: `http://elsewhere/?key=${KEY}` } },
  { body: `not JSON: ${KEY}` },
  { body: { choices: KEY } },
])('an error: %j', async (reply) => {
  const error = await ask(reply).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Fault);
  const told = [inspect(describeFault(error as Fault)), inspect(asFailure(error), { depth: 9 })].join('\n');
  expect(told).toContain(HIDDEN);
  expect(told).not.toContain(KEY);
});

test('a key in the arguments of a call, which are JSON within JSON; a tool that repeats a key of its own', async () => {
  const key = 'key-"in"-quotes-5';
  registerSecret(key);
  const reply = { calls: [{ arguments: JSON.stringify({ id: key }) }] };
  expect(hideInJson(reply)).toEqual({ calls: [{ arguments: JSON.stringify({ id: HIDDEN }) }] });
  const session: ToolSession = {
    list: async () => [],
    call: async () => ({ text: `403: ${key}`, isError: true }),
  };
  const spec = { name: 'search', server: 's', inputSchema: { type: 'object' } } as const;
  const options = { toolbox: new Toolbox([spec], session), session, timeoutMs: 1_000, refused: undefined };
  const call = { id: 'c', name: 'search', arguments: {} };
  const { message } = await answerCall({}, call, { ...options, signal: new AbortController().signal });
  expect(message.content).toBe(`403: ${HIDDEN}`);
});

test('the password of an address, as it is and as it is written there; causes of causes', () => {
  registerPassword('postgresql://steadfast:p%40ss-planted-9@db:5432/ledger');
  expect(hideSecrets('p@ss-planted-9 p%40ss-planted-9')).toBe(`${HIDDEN} ${HIDDEN}`);
  const cause = new Error('deep: p@ss-planted-9');
  const fault = new Fault('ledger', 'p@ss-planted-9', { cause: new Error('middle', { cause }) });
  const failure = asFailure(fault) as ApplicationFailure;
  expect(failure.message).toBe(HIDDEN);
  expect(inspect(failure, { depth: 9 })).not.toContain('ss-planted');
  // A word that is short is no secret.
  registerPassword('postgresql://a:postgre@db/ledger');
  expect(hideSecrets('postgres')).toBe('postgres');
});
