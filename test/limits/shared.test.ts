/** Several real processes, one real server, one key: what the server sees in any window, and who gets a turn. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPgRates } from '../../activities/ledger/rates.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

let db: TestDatabase;
const closing: (() => void)[] = [];
beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(async () => {
  for (const close of closing) close();
  await db.stop();
});

interface Arrival {
  /** When it was sent, ms: how long a busy machine takes to hear of it is not the sender's doing. */
  readonly at: number;
  readonly who: string;
}

/** Counts requests; while `refusing`, answers 429 and asks for a pause of a second. */
async function provider() {
  const arrivals: Arrival[] = [];
  const state = { refusing: false };
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://x');
    if (request.method === 'POST')
      arrivals.push({ at: Number(searchParams.get('sent')), who: searchParams.get('who') ?? '' });
    if (state.refusing) response.writeHead(429, { 'retry-after': '1' });
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { arrivals, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

const FILE = join(import.meta.dirname, 'fixtures', 'caller.mjs');

function caller(url: string, name: string, lanes: number, windowMs: number, who: string): ChildProcess {
  const args = [FILE, db.url, url, name, String(lanes), String(windowMs), who];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'inherit', 'inherit'] });
  closing.push(() => void child.kill('SIGKILL'));
  return child;
}

async function ended(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map((child) => {
      const exit = new Promise((resolve) => child.once('exit', resolve));
      child.stdin?.end();
      return exit;
    }),
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function fullestWindow(arrivals: readonly Arrival[], windowMs: number): number {
  return Math.max(
    ...arrivals.map(({ at: from }) => arrivals.filter(({ at }) => at >= from && at < from + windowMs).length),
  );
}

const WINDOW_MS = 6_000;

test('three processes never send more than the limit in any window, and each gets its turns', async () => {
  const limit = 60;
  await createPgRates(db.pool).set('shared', { requestsPerMinute: limit }, 'test', WINDOW_MS);
  const { arrivals, url } = await provider();
  // One that wants a little beside two that want all there is.
  const children = [
    caller(url, 'shared', 1, WINDOW_MS, 'modest'),
    caller(url, 'shared', 30, WINDOW_MS, 'greedy'),
    caller(url, 'shared', 30, WINDOW_MS, 'hungry'),
  ];
  await expect.poll(() => arrivals.length, { timeout: 60_000 }).toBeGreaterThan(1.5 * limit);
  await ended(children);
  expect(fullestWindow(arrivals, WINDOW_MS)).toBeLessThanOrEqual(limit);
  const turns = (who: string): number => arrivals.filter((arrival) => arrival.who === who).length;
  for (const who of ['modest', 'greedy', 'hungry']) expect(turns(who)).toBeGreaterThan(4);
});

test('a 429 pauses everybody for as long as the provider asks', async () => {
  await createPgRates(db.pool).set('refusing', { requestsPerMinute: 80 }, 'test', WINDOW_MS);
  const { arrivals, state, url } = await provider();
  const children = ['a', 'b'].map((who) => caller(url, 'refusing', 5, WINDOW_MS, who));
  await expect.poll(() => new Set(arrivals.map(({ who }) => who)).size, { timeout: 60_000 }).toBe(2);
  const before = arrivals.length;
  state.refusing = true;
  await expect.poll(() => arrivals.length, { timeout: 60_000, interval: 5 }).toBeGreaterThan(before);
  await pause(500);
  state.refusing = false;
  const paused = arrivals.length;
  await expect.poll(() => arrivals.length, { timeout: 60_000, interval: 5 }).toBeGreaterThan(paused + 2);
  await ended(children);
  const after = arrivals.slice(before - 1).toSorted((a, b) => a.at - b.at);
  const gaps = after.slice(1).map(({ at }, index) => at - after[index]!.at);
  expect(Math.max(...gaps)).toBeGreaterThan(900);
  const row = (await createPgRates(db.pool).list()).find(({ provider: name }) => name === 'refusing');
  expect(row?.refusals).toBeGreaterThan(0);
});
