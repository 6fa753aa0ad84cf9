/** Episodes that wait for a provider's limits: their clocks stand still, cancellation reaches them, and it is written down. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import { Policies } from '../../activities/episode/policies.js';
import { createPgRates } from '../../activities/ledger/rates.js';
import { ProviderGates } from '../../activities/policy/rate-gate.js';
import type { Policy } from '../../core/policy.js';
import { EPISODE_LIMITS } from '../../temporal.config.js';
import { episodeParts } from '../episode/fixtures/parts.js';
import { shelfTask } from '../episode/fixtures/shelf-task.js';
import { type Reply, serve } from '../policy/server.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

const HOUR_MS = 3_600_000;
let db: TestDatabase;
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());

const reply = (message: object): Reply => ({
  body: {
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', ...message } }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  },
});
const look = { name: 'look', arguments: '{"id": "a"}' };
const CALL = reply({ content: null, tool_calls: [{ id: 'x', type: 'function', function: look }] });
const DONE = reply({ content: 'done . <DONE>' });

/** A chat policy at the server, through the gates. */
function gatedPolicy(server: { readonly baseUrl: string }, gates: ProviderGates): Promise<Policy> {
  const policies = new Policies({
    trainerUrl: '',
    scripted: () => Promise.reject(new Error('nothing is scripted here')),
    gate: (provider) => gates.of(provider),
  });
  const model = {
    kind: 'chat',
    baseUrl: server.baseUrl,
    model: 'm',
    apiKeyEnv: null,
    stream: false,
  } as const;
  const signal = new AbortController().signal;
  return policies.of({ model, suite: 's', weightVersion: null }, signal);
}

/** A chat policy whose provider has the limits that are set for its host. */
async function limited(replies: readonly Reply[], requestsPerMinute: number, windowMs: number) {
  const server = await serve(replies);
  const rates = createPgRates(db.pool);
  await rates.set(new URL(server.baseUrl).host, { requestsPerMinute }, 'test', windowMs);
  const gates = new ProviderGates(rates, windowMs);
  const policy = await gatedPolicy(server, gates);
  return { server, policy, rates };
}

test('waiting for capacity is on no clock of the episode, and is written down', async () => {
  const { policy, server } = await limited([CALL, CALL, DONE], 1, 1_200);
  const limits = { ...EPISODE_LIMITS, messageMs: 900, episodeMs: 1_800 };
  const played = await playEpisode(episodeParts([], { policy, limits, task: shelfTask({ grade: passes }) }));
  expect(played.fault).toBeUndefined();
  expect(played.record.termination).toBe('done');
  expect(played.record.waitedMs).toBeGreaterThan(2_000);
  expect(played.wallMs).toBeGreaterThan(limits.episodeMs);
  expect(server.received).toHaveLength(3);
});

const passes = async () => ({ passed: true, reward: 1, reasons: [], judged: [] });

test('an episode that waits is cancelled at once', async () => {
  const { policy, rates, server } = await limited([CALL], 1, HOUR_MS);
  const cancel = new AbortController();
  const playing = playEpisode(episodeParts([], { policy, signal: cancel.signal }));
  const host = new URL(server.baseUrl).host;
  const waiting = async () => (await rates.list()).find(({ provider }) => provider === host)?.waiting;
  await expect.poll(waiting, { timeout: 60_000 }).toBe(1);
  cancel.abort(new Error('stop'));
  await expect(playing).rejects.toMatchObject({ kind: 'cancelled' });
  expect(server.received).toHaveLength(1);
});

test('a 429 is waited for at the gate, and the turn goes on', async () => {
  const refused: Reply = {
    status: 429,
    headers: { 'retry-after-ms': '700' },
    body: { error: { message: 'slow' } },
  };
  const { policy, rates, server } = await limited([refused, refused, DONE], 1_000, 60_000);
  const limits = { ...EPISODE_LIMITS, messageMs: 1_000 };
  const played = await playEpisode(episodeParts([], { policy, limits, task: shelfTask({ grade: passes }) }));
  expect(played.fault).toBeUndefined();
  expect(played.record.waitedMs).toBeGreaterThan(1_000);
  const host = new URL(server.baseUrl).host;
  expect((await rates.list()).find(({ provider }) => provider === host)?.refusals).toBe(2);
});

test('a provider that goes on refusing ends the try as a fault of the policy, never as a score', async () => {
  const refused: Reply = {
    status: 429,
    headers: { 'retry-after-ms': '10' },
    body: { error: { message: 'slow' } },
  };
  const { policy, server } = await limited([refused], 1_000, 60_000);
  const played = await playEpisode(episodeParts([], { policy }));
  expect(played.clean).toBeUndefined();
  expect(played.fault).toMatchObject({ kind: 'policy', code: 'rate_limited', retry: true });
  expect(server.received).toHaveLength(4);
});

test('without its database the limit is not guessed: a fault of the endpoint', async () => {
  const server = await serve([DONE]);
  const gates = new ProviderGates({
    ...createPgRates(db.pool),
    take: () =>
      createPgRates(db.pool).take({
        provider: 'x',
        holder: 'h',
        tokens: [Number.NaN],
        settled: [],
        horizonMs: 0,
      }),
  });
  const policy = await gatedPolicy(server, gates);
  const { fault } = await playEpisode(episodeParts([], { policy }));
  expect(fault).toMatchObject({ kind: 'policy', code: 'limits_unknown' });
  expect(server.received).toHaveLength(0);
});
