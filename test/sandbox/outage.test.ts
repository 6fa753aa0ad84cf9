/** Work that an engine which goes away interrupts, against a server that is really away for a while. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEngine } from '../../activities/sandbox/docker/engine.js';
import { throughOutages } from '../../activities/sandbox/docker/outage.js';
import { Fault } from '../../core/faults.js';

let folder = '';
let engine: Docker;
let server: Server | undefined;
let takenBack = 0;
let begun = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outage-'));
  engine = await openEngine({ host: `unix://${join(folder, 'engine.sock')}` });
  [takenBack, begun] = [0, 0];
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

async function listen(): Promise<void> {
  server = createServer((_request, reply) => reply.end('OK'));
  await new Promise<void>((resolve) => server!.listen(join(folder, 'engine.sock'), resolve));
}
async function close(): Promise<void> {
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  server = undefined;
}

/** `work` is told how often it has been begun, from 1. */
function through(work: (times: number) => Promise<string>, waitMs = 60_000): Promise<string> {
  const takeBack = async () => {
    takenBack += 1;
  };
  const { signal } = new AbortController();
  return throughOutages(engine, { signal, waitMs, againMs: 5, takeBack }, () => {
    begun += 1;
    return work(begun);
  });
}
const cut = Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
const started = new Fault('sandbox', 'did not start', { cause: cut, code: 'start_failed' });

test('what a connection that broke has interrupted is taken back and begun anew', async () => {
  await listen();
  const work = async (times: number) => (times === 1 ? Promise.reject(started) : 'there');
  expect([await through(work), begun, takenBack]).toEqual(['there', 2, 1]);
});

test('an engine that does not answer is waited for, whatever the failure was', async () => {
  const failure = new Fault('sandbox', 'late', { code: 'start_timeout' });
  const running = through(async (times) => (times === 1 ? Promise.reject(failure) : 'there'));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect([begun, takenBack]).toEqual([1, 0]);
  await listen();
  expect([await running, begun, takenBack]).toEqual(['there', 2, 1]);
});

test('for a bounded time', async () => {
  await expect(through(() => Promise.reject(started), 40)).rejects.toBe(started);
});

test.each([
  [
    'a server that does not start while the engine is there',
    new Fault('sandbox', 'x', { code: 'start_failed' }),
  ],
  ['what cannot get better', new Fault('sandbox', 'x', { cause: cut, retry: false })],
])('%s fails at once', async (_name, fault) => {
  await listen();
  await expect(through(() => Promise.reject(fault))).rejects.toBe(fault);
  expect([begun, takenBack]).toEqual([1, 0]);
});

test.each([
  ['killed', new Fault('sandbox', 'x', { code: 'killed' })],
  ['refused', new Fault('sandbox', 'x', { cause: Object.assign(new Error('no'), { statusCode: 500 }) })],
])('what an engine that answers has %s is begun again some times', async (_name, fault) => {
  await listen();
  await expect(through(() => Promise.reject(fault))).rejects.toBe(fault);
  expect([begun, takenBack]).toEqual([6, 5]);
});
