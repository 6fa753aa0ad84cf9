/**
 * Servers of a checkout in containers, on a real Docker engine: the same verdicts as in processes, and nothing of what
 * is wanted within reach. On our own cases; with a checkout also on ten of each scenario of the benchmark.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDockerDriver } from '../../activities/sandbox/docker/driver.js';
import { openEngine } from '../../activities/sandbox/docker/engine.js';
import { Frames } from '../../activities/sandbox/docker/frames.js';
import { requireContainers } from '../../activities/sandbox/docker/preflight.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import type { ImageArchive } from '../../infra/images/archive.js';
import { revisionOf } from '../../suites/thinkingbox/checkout.js';
import { replayPolicy } from '../../suites/thinkingbox/golden.js';
import type { ScriptedCall } from '../../suites/thinkingbox/protocol.js';
import {
  createThinkingBox,
  type ThinkingBoxOptions,
  type ThinkingBoxSuite,
} from '../../suites/thinkingbox/suite.js';
import { notLong } from '../long.js';
import { guestsOrWhy } from '../sandbox/docker/guests.js';
import { DATA, FRAMEWORK, play, preparedPython, processDriver, THINKINGBOX, titled } from './given.js';
import { builtImage } from './image.js';

const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 600_000;
const official = THINKINGBOX !== undefined && DATA !== undefined;
const EACH = Number(process.env.STEADFAST_TEST_CASES ?? 10);
const { signal } = new AbortController();

/** Run by the guest's own user, beside the server: says how many files there are, and which hold what is wanted. */
const SEARCH = `
import os
words, hits, files = [b'canary-' + b'of-the', b'test_' + b'sale'], [], 0
for root, folders, names in os.walk('/'):
    folders[:] = [f for f in folders if os.path.join(root, f) not in ('/proc', '/sys', '/dev')]
    for name in names:
        data = open(os.path.join(root, name), 'rb').read()
        files += 1
        if any(word in data for word in words):
            hits.append(os.path.join(root, name))
def known(path, first=0, count=-1):
    with open(path, 'rb', 0) as file:
        file.seek(first)
        return any(word in (file.read(count) or b'') for word in words[:1])
hits += [what for what in ('environ', 'cmdline') if known('/proc/1/' + what)]
for line in open('/proc/1/maps'):
    first, last = (int(part, 16) for part in line.split()[0].split('-'))
    try:
        if known('/proc/1/mem', first, last - first):
            hits.append('memory ' + line)
    except (OSError, OverflowError):
        continue  # the kernel's own, or a system that shows no memory
print(files, hits)
`;

const ASK = `
import os, socket, urllib.request
def post(path, body):
    key = os.environ['TYPESENSE_API_KEY']
    request = urllib.request.Request(os.environ['STEADFAST_TYPESENSE_URL'] + path, body, {'x-typesense-api-key': key})
    with urllib.request.urlopen(request, timeout=20) as reply:
        return [reply.status, len(reply.read())]
def reached(host, port):
    try:
        socket.create_connection((host, port), 5).close()
        return 'reached'
    except socket.gaierror:
        return 'unknown'
    except OSError:
        return 'refused'
print(post('/a', b'a' * 3000000), post('/b', b'a'), reached('127.0.0.1', PORT), reached('1.1.1.1', 80), reached('example.org', 80))
`;

const found = notLong === undefined ? await guestsOrWhy() : { why: notLong };
const engine = 'why' in found ? undefined : found.engine;
if ('why' in found) process.stderr.write(`servers in containers are not tested: ${found.why}\n`);

describe.skipIf(!engine)('servers in containers', () => {
  let home: string;
  let driver: SandboxDriver;
  const open: ThinkingBoxSuite[] = [];
  const archives = new Map<string, Promise<ImageArchive>>();

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'tb-containers-'));
    driver = createDockerDriver(settings());
  });
  afterAll(async () => {
    await Promise.all(open.map((suite) => suite.close()));
    try {
      expect(await driver.living()).toEqual([]);
    } finally {
      await rm(home, { recursive: true, force: true });
      if ('guests' in found) await found.guests.end();
      await engine!.stop();
    }
  });

  const settings = () => ({ home, host: `tests-${process.pid}`, engine: engine!.settings });

  /** What a program says that is run in the container beside its server. */
  async function python(name: string, program: string): Promise<string> {
    const container = (await openEngine(engine!.settings)).getContainer(name);
    const exec = await container.exec({
      Cmd: ['/usr/local/bin/python3', '-I', '-S', '-c', program],
      AttachStdout: true,
      AttachStderr: true,
    });
    return heard(await exec.start({}));
  }

  async function opened(
    thinkingboxDir: string,
    dataDir: string,
    options: Pick<ThinkingBoxOptions, 'cases' | 'search'> = {},
  ) {
    const suite = await createThinkingBox({
      thinkingboxDir,
      dataDir,
      python: await preparedPython(),
      accepted: {
        thinkingbox: await revisionOf(thinkingboxDir, 'thinkingbox', 'thinkingbox'),
        data: await revisionOf(dataDir, 'data', 'data'),
      },
      cache: join(home, 'listings'),
      ...options,
    });
    open.push(suite);
    return suite;
  }

  /** The archive of a suite's image, made and given to the engine once. */
  function built(suite: ThinkingBoxSuite): Promise<ImageArchive> {
    const [tag] = suite.images as readonly [string];
    const made = archives.get(tag) ?? builtImage(suite, home, engine!.settings);
    archives.set(tag, made);
    return made;
  }

  async function verdict(
    suite: ThinkingBoxSuite,
    id: string,
    calls: readonly ScriptedCall[],
    where = driver,
  ) {
    const { fault, releaseError, clean, record } = await play({
      task: await suite.load(id),
      policy: replayPolicy(calls),
      driver: where,
    });
    expect([id, fault, releaseError]).toEqual([id, undefined, undefined]);
    return { verdict: clean?.verdict, effects: record.effects, messages: record.messages };
  }

  test('our own cases: the same in a container as in a process; nothing that is wanted is in it', {
    timeout: SLOW_MS,
  }, async () => {
    const suite = await opened(FRAMEWORK, MINI, {
      cases: ['rooms.py:test_two_servers', 'till.py:test_sale'],
    });
    await expect(requireContainers(suite, home, engine!.settings)).rejects.toThrow(
      /Build it: steadfast sandbox image build thinkingbox/,
    );
    const archive = await built(suite);
    await requireContainers(suite, home, engine!.settings);
    expect(archive.bytes.includes('canary-of-the')).toBe(false);
    expect(archive.bytes.includes('class SandboxToolsSystem')).toBe(true);

    const golden = await suite.goldenCalls('till.py:test_sale');
    const processes = await processDriver();
    for (const calls of [golden, []]) {
      const inside = await verdict(suite, 'till.py:test_sale', calls);
      expect(inside).toEqual(await verdict(suite, 'till.py:test_sale', calls, processes));
      expect(inside.verdict?.passed).toBe(calls === golden);
    }
    const put = { name: 'put', arguments: { title: 'novel' }, argumentsText: '{"title": "novel"}' };
    const two = await verdict(suite, 'rooms.py:test_two_servers', [put]);
    expect(two.verdict).toMatchObject({ passed: true });

    // As the guest itself sees them: all files, all variables, all memory that it was given to start with.
    const task = await suite.load('till.py:test_sale');
    const sandbox = await driver.create({ name: `tb-seen-${process.pid}`, servers: task.servers, signal });
    try {
      await task.init(sandbox.tools, signal);
      expect(await python(sandbox.name, SEARCH)).toMatch(/^\d{3,} \[\]\n$/);
    } finally {
      await sandbox.release();
    }
  });

  test('a search service is reached under its name when the operator approves, and nothing beside it', {
    timeout: SLOW_MS,
  }, async () => {
    const asked: string[] = [];
    const service = createServer((request, reply) => {
      let bytes = 0;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      request.on('end', () => {
        asked.push(`${request.method} ${request.url} ${request.headers['x-typesense-api-key']} ${bytes}`);
        reply.end('b'.repeat(bytes));
      });
    });
    await new Promise<void>((listening) => service.listen(0, '127.0.0.1', listening));
    const { port } = service.address() as AddressInfo;
    const address = `127.0.0.1:${port}`;
    const search = { url: `http://${address}`, key: 'key-of-the-search' };
    const suite = await opened(FRAMEWORK, MINI, { cases: ['till.py:test_sale'], search });
    expect(suite.endpoints).toEqual([address]);
    await built(suite);
    await requireContainers(suite, home, { ...engine!.settings, endpoints: [address] });
    const { servers } = await suite.load('till.py:test_sale');
    const name = `tb-search-${process.pid}`;
    await expect(driver.create({ name, servers, signal })).rejects.toMatchObject({
      code: 'endpoint_refused',
    });
    const approving = createDockerDriver({
      ...settings(),
      engine: { ...engine!.settings, endpoints: [address] },
    });
    const sandbox = await approving.create({ name, servers, signal });
    try {
      expect(await python(name, ASK.replace('PORT', String(port)))).toBe(
        `[200, 3000000] [200, 1] refused refused unknown\n`,
      );
      expect(asked).toEqual(['POST /a key-of-the-search 3000000', 'POST /b key-of-the-search 1']);
    } finally {
      await sandbox.release();
      service.close();
    }
  });

  describe.skipIf(!official)(titled('the benchmark', official), () => {
    test(`golden calls of ${EACH} cases of each scenario: the verdicts of processes`, {
      timeout: 10 * SLOW_MS,
    }, async () => {
      const suite = await opened(resolve(THINKINGBOX!), resolve(DATA!));
      await built(suite);
      const all = await suite.tasks();
      const domains = [...new Set(all.map(({ domain }) => domain))];
      expect(domains).toHaveLength(5);
      const processes = await processDriver();
      for (const domain of domains) {
        const tasks = all.filter((task) => task.domain === domain);
        for (let n = 0; n < EACH; n += 1) {
          const { id } = tasks[Math.floor((n * tasks.length) / EACH)]!;
          const golden = await suite.goldenCalls(id);
          const inside = await verdict(suite, id, golden);
          expect([id, inside.verdict]).toMatchObject([id, { passed: true }]);
          const outside = await verdict(suite, id, golden, processes);
          expect([id, inside.effects]).toEqual([id, outside.effects]);
        }
      }
    });
  });
});

/** What a program in a container says, both of its streams together. */
async function heard(stream: NodeJS.ReadableStream): Promise<string> {
  const parts: Buffer[] = [];
  const take = (part: Buffer) => parts.push(part);
  const frames = new Frames({ stdout: take, stderr: take });
  for await (const chunk of stream) frames.read(chunk as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
