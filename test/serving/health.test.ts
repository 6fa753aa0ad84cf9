/** When a server is alive, by a clock that the test moves. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Health } from '../../activities/serving/health.js';
import { until } from '../e2e/until.js';
import { QUICK } from './host.js';

const TIMES = { ...QUICK, healthEveryMs: 1_000, canaryMs: 10_000, hungMs: 60_000 };

let server: Server;
let now: number;
let mood: 'well' | 'busy' | 'deaf';
let written: number;
let asked: number;
let changes: (string | null)[];
let health: Health;

beforeEach(async () => {
  [now, mood, written, asked, changes] = [0, 'well', 0, 0, []];
  server = createServer((request, response) => {
    if (request.url === '/v1/models') response.end(JSON.stringify({ data: [{ id: 'm' }] }));
    else if (request.url === '/metrics') {
      asked += 1;
      response.end(
        mood === 'deaf'
          ? 'vllm:generation_tokens_total 7\n'
          : `vllm:generation_tokens_total{e="0"} ${written++}\n`,
      );
    } else if (mood === 'well') {
      asked += 1;
      const choice = { finish_reason: 'length', token_ids: [1], logprobs: { token_logprobs: [-2] } };
      response.end(JSON.stringify({ model: 'm', choices: [choice] }));
    } else {
      response.writeHead(503).end('no engine');
    }
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const facts = { origin, model: 'm', vocabulary: null, reference: null };
  const changed = async (problem: string | null) => void changes.push(problem);
  health = new Health(TIMES, facts, new AbortController().signal, changed, () => now);
});
afterEach(() => {
  health.end();
  server.close();
});

/** Moves the clock, asks once, and waits for the answer. */
async function after(ms: number): Promise<void> {
  now += ms;
  const before = asked;
  await until('an answer', async () => {
    health.look();
    return asked > before;
  });
  await until('the end of the question', async () => !health.waits);
}

test('a completion now and then is life', async () => {
  for (let round = 0; round < 3; round++) await after(50_000);
  expect(changes).toEqual([]);
});

test('so are tokens, where completions wait behind others', async () => {
  mood = 'busy';
  for (let round = 0; round < 5; round++) await after(30_000);
  expect(changes).toEqual([expect.stringContaining('no_answer'), null]);
});

test('a server that answers with nothing, or writes nothing, hangs after its time', async () => {
  mood = 'deaf';
  await after(30_000);
  await after(29_000);
  now += 2_000;
  expect(() => health.look()).toThrow('neither a completion nor a token in 61 s: it hangs');
  expect(changes).toEqual([expect.stringContaining('HTTP 503: no engine')]);
});

test('other weights are said at the next look', async () => {
  health.end();
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const facts = { origin, model: 'n', vocabulary: null, reference: null };
  health = new Health(
    TIMES,
    facts,
    new AbortController().signal,
    async () => undefined,
    () => now,
  );
  now += 1_000;
  await until('what it found', async () => {
    try {
      health.look();
      return false;
    } catch (error) {
      return error;
    }
  }).then((error) => expect(error).toMatchObject({ code: 'wrong_model' }));
});
