/** The search tool of a benchmark case against an address of our own that speaks as much Typesense as it needs. */

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDockerDriver } from '../../activities/sandbox/docker/driver.js';
import { requireContainers } from '../../activities/sandbox/docker/preflight.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import { replayPolicy } from '../../suites/thinkingbox/golden.js';
import { createThinkingBox, readList, type ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';
import { type TestEngine, testEngine } from '../sandbox/docker/engine.js';
import { DATA, play, preparedPython, processDriver, THINKINGBOX, titled } from './given.js';
import { builtImage } from './image.js';

const given = THINKINGBOX !== undefined && DATA !== undefined;
const SLOW_MS = 300_000;
const found = given ? await testEngine() : { why: 'there is no checkout' };

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

describe.skipIf(!given)(titled('search', given), () => {
  const asked: Asked[] = [];
  const collections = new Set<string>();
  let server: Server;
  let suite: ThinkingBoxSuite;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { method = '', url = '', headers } = request;
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => {
        asked.push({ method, path: url, key: String(headers['x-typesense-api-key']) });
        const name = /^\/collections\/([^/?]+)/.exec(url)?.[1];
        const answer = (status: number, value: object) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
        if (url.startsWith('/multi_search')) {
          const hit = { document: { source: 'policy.md', text: 'Books stand upright.' }, text_match: 1 };
          answer(200, { results: [{ grouped_hits: [{ hits: [hit] }] }] });
        } else if (method === 'POST' && url === '/collections') {
          collections.add((JSON.parse(body) as { name: string }).name);
          answer(201, JSON.parse(body) as object);
        } else if (method === 'DELETE' && name) answer(collections.delete(name) ? 200 : 404, { name });
        else if (method === 'GET' && name) answer(collections.has(name) ? 200 : 404, { name });
        else answer(201, {});
      });
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    suite = await createThinkingBox({
      thinkingboxDir: resolve(THINKINGBOX ?? ''),
      dataDir: resolve(DATA ?? ''),
      python: await preparedPython(),
      cases: (await readList('examples/thinkingbox-five.yaml')).slice(0, 1),
      cache: await mkdtemp(join(tmpdir(), 'listings-')),
      search: { url, key: 'key-of-the-search' },
    });
  }, SLOW_MS);
  afterAll(async () => {
    await suite?.close();
    server?.close();
    if ('stop' in found) await found.stop();
  });

  async function finds(driver: SandboxDriver): Promise<void> {
    asked.length = 0;
    const [ref] = await suite.tasks();
    const query = { query: 'How do books stand?' };
    const search = { name: 'search_policy', arguments: query, argumentsText: JSON.stringify(query) };
    const episode = await play({
      task: await suite.load(ref?.id ?? ''),
      policy: replayPolicy([search]),
      driver,
    });
    expect(episode.fault).toBeUndefined();
    const said = episode.record.messages.find(({ role }) => role === 'tool')?.content;
    expect(said).toContain('Books stand upright.');
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(['key-of-the-search']));
    expect(asked.some(({ path }) => path.includes('/documents'))).toBe(true);
    expect(asked.at(-1)).toMatchObject({ method: 'DELETE' });
    expect(collections.size).toBe(0);
  }

  test('finds what the given service says, and leaves nothing there', { timeout: SLOW_MS }, async () => {
    await finds(await processDriver());
  });

  test.skipIf('why' in found)(
    'finds the same from a container, which reaches nothing else',
    { timeout: SLOW_MS },
    async () => {
      const home = await mkdtemp(join(tmpdir(), 'tb-search-'));
      const settings = { ...(found as TestEngine).settings, endpoints: suite.endpoints ?? [] };
      try {
        await builtImage(suite, home, settings);
        await requireContainers(suite, home, settings);
        await finds(createDockerDriver({ home, host: `tests-${process.pid}`, engine: settings }));
      } finally {
        await rm(home, { recursive: true, force: true });
      }
    },
  );

  test('its results are comparable, and told apart from those without', { timeout: SLOW_MS }, async () => {
    expect(suite.notComparable).toEqual([]);
    const without = await createThinkingBox({
      thinkingboxDir: resolve(THINKINGBOX ?? ''),
      dataDir: resolve(DATA ?? ''),
      python: await preparedPython(),
      cases: (await suite.tasks()).map(({ id }) => id),
    });
    expect(without.notComparable).toEqual([expect.stringContaining('search_policy is not available')]);
    expect(without.digest).not.toBe(suite.digest);
    await without.close();
  });
});
