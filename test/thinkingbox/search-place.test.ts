/**
 * What `suite add --search` asks of an address before it takes it. Against a server of our own that answers as Typesense
 * does; with STEADFAST_TYPESENSE (the path of a typesense-server) also against a real one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkSearch } from '../../suites/thinkingbox/search.js';
import { until } from '../e2e/until.js';

const BINARY = process.env.STEADFAST_TYPESENSE;
const given = BINARY !== undefined && existsSync(BINARY);

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** By path, status and body. The key is `right`. */
async function answering(
  answers: Readonly<Record<string, readonly [number, unknown]>> = {},
): Promise<string> {
  const fine: Record<string, readonly [number, unknown]> = {
    '/health': [200, { ok: true }],
    '/collections': [200, []],
    '/debug': [200, { state: 1, version: '27.1' }],
    ...answers,
  };
  server = createServer((request, response) => {
    const [status, body] = fine[request.url ?? ''] ?? [404, { message: 'Not Found' }];
    const open = request.url === '/health' || request.headers['x-typesense-api-key'] === 'right';
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(open ? status : 401).end(open ? text : '{"message": "Forbidden"}');
  });
  await new Promise<void>((listening) => server?.listen(0, '127.0.0.1', listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a Typesense that is well and takes the key, with a slash behind its address or not', async () => {
  const url = await answering();
  await expect(checkSearch({ url, key: 'right' })).resolves.toBeUndefined();
  await expect(checkSearch({ url: `${url}/`, key: 'right' })).resolves.toBeUndefined();
});

test.each([
  ['unwell', { '/health': [503, { ok: false }] }, /a Typesense that is well .*found \{"ok":false\}/],
  ['something else', { '/health': [200, '<html>'] }, /a Typesense that is well .*found no JSON object/],
  ['no list', { '/collections': [500, { message: 'x' }] }, /a list of collections .*found HTTP 500/],
  ['too old', { '/debug': [200, { version: '0.24.1' }] }, /Typesense 0\.25 or later, .*found 0\.24\.1/],
] as const)('%s is one error', async (_what, answers, words) => {
  const url = await answering(answers);
  await expect(checkSearch({ url, key: 'right' })).rejects.toThrow(words);
});

test('a key that it refuses is told by its variable and never shown; nobody there is told by the address', async () => {
  const url = await answering();
  const refused = checkSearch({ url, key: 'canary', keyEnv: 'MY_KEY' });
  await expect(refused).rejects.toThrow(/MY_KEY: expected a key that manages collections at .*\(401\)/);
  await expect(refused).rejects.not.toThrow('canary');
  await expect(checkSearch({ url, key: '' })).rejects.toThrow(/suite add --search-key-env: expected a key/);
  // Nobody listens there.
  await expect(checkSearch({ url: 'http://127.0.0.1:9', key: 'right' })).rejects.toThrow(
    /a Typesense that answers, found http:..127\.0\.0\.1:9: /,
  );
});

describe.skipIf(!given)(
  'a real one (skipped without STEADFAST_TYPESENSE, the path of a typesense-server)',
  () => {
    let program: ChildProcess | undefined;
    let folder = '';
    afterEach(() => {
      program?.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    });

    test('answers what is asked: its health, its collections for the right key alone, its version', async () => {
      folder = mkdtempSync(join(tmpdir(), 'typesense-'));
      const ports = await freePorts(2);
      const url = `http://127.0.0.1:${ports[0]}`;
      const places = ['--api-address=127.0.0.1', '--peering-address=127.0.0.1'];
      program = spawn(
        BINARY ?? '',
        [
          `--data-dir=${folder}`,
          '--api-key=right',
          `--api-port=${ports[0]}`,
          `--peering-port=${ports[1]}`,
          ...places,
        ],
        { stdio: 'ignore' },
      );
      await until('Typesense', async () => (await fetch(`${url}/health`).catch(() => undefined))?.ok);
      await expect(checkSearch({ url, key: 'wrong', keyEnv: 'MY_KEY' })).rejects.toThrow(/MY_KEY: .*\(401\)/);
      const { version } = (await (
        await fetch(`${url}/debug`, { headers: { 'x-typesense-api-key': 'right' } })
      ).json()) as { version: string };
      const checked = checkSearch({ url, key: 'right' });
      if (/^0\.(?:[01]?\d|2[0-4])\./.test(version)) await expect(checked).rejects.toThrow(`found ${version}`);
      else await expect(checked).resolves.toBeUndefined();
    });
  },
);

async function freePorts(count: number): Promise<readonly number[]> {
  const held = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    held.map(
      (each) =>
        new Promise<number>((got) =>
          each.listen(0, '127.0.0.1', () => got((each.address() as AddressInfo).port)),
        ),
    ),
  );
  await Promise.all(held.map((each) => new Promise((closed) => each.close(closed))));
  return ports;
}
