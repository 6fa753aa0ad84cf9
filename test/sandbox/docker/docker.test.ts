/** The docker driver against a real engine: what works, what is told apart, and guests that mean harm. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EngineSettings } from '../../../activities/sandbox/docker/engine.js';
import { rememberImage } from '../../../activities/sandbox/docker/images.js';
import { requireContainers } from '../../../activities/sandbox/docker/preflight.js';
import { createInlineDriver } from '../../../activities/sandbox/inline.js';
import type { Sandbox, SandboxDriver, ServerSpec } from '../../../core/sandbox.js';
import { loadImage } from '../../../infra/images/load.js';
import { programImage } from '../../../infra/images/node-image.js';
import { createDeskbench, stdioEntry } from '../../../suites/deskbench/suite.js';
import { sweepSandboxes } from '../../../workers/sweep.js';
import { guestsOrWhy, type HostileGuests, TEST_HOST } from './guests.js';

const found = await guestsOrWhy();
const engine = 'why' in found ? undefined : found.engine;
if ('why' in found) process.stderr.write(`docker tests are skipped: ${found.why}\n`);
// Its processes are seen among ours.
const local = process.platform === 'linux' && !/^(tcp|https?|ssh):/.test(engine?.settings.host ?? '');

const never = new AbortController().signal;

describe.skipIf(!engine)('docker', () => {
  let given: HostileGuests;
  const open: Sandbox[] = [];

  beforeAll(() => {
    if ('guests' in found) given = found.guests;
  });
  afterAll(async () => {
    try {
      await Promise.all(open.map((sandbox) => sandbox.release()));
      expect(await given.driver.living()).toEqual([]);
    } finally {
      await given.end();
      await engine!.stop();
    }
  });

  async function guest(servers?: readonly ServerSpec[]): Promise<Sandbox> {
    const sandbox = await given.guest(servers);
    open.push(sandbox);
    return sandbox;
  }
  const read = async (sandbox: Sandbox, tool: string, args = {}) =>
    JSON.parse((await given.call(sandbox, tool, args)).text) as Record<string, unknown>;

  test('works, is locked in, and is gone afterwards', async () => {
    const sandbox = await guest();
    expect(await given.call(sandbox, 'hello')).toEqual({ text: 'hello', isError: false });
    expect(await given.driver.living()).toContainEqual({ name: sandbox.name });
    const { Config, HostConfig } = await given.engine.getContainer(sandbox.name).inspect();
    expect(Config.User).toBe('65532:65532');
    expect(Config.Labels).toMatchObject({ 'steadfast.key': 'a key', 'steadfast.host': TEST_HOST });
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: 192 * 2 ** 20,
      MemorySwap: 192 * 2 ** 20,
    });
    await sandbox.release();
    await sandbox.release();
    await expect(given.engine.getContainer(sandbox.name).inspect()).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  test('another worker reaps by name; a second time there is nothing', async () => {
    const servers = [given.spec(), { ...given.spec(), name: 'other' }];
    const sandbox = await guest(servers);
    expect(await given.driver.reap(sandbox.name)).toBe(true);
    expect(await given.driver.reap(sandbox.name)).toBe(false);
    await expect(given.call(sandbox, 'hello')).rejects.toMatchObject({ kind: 'sandbox' });
  });

  test('what has expired is swept, whichever stack made it; what has not stays', async () => {
    const made = async (driver: SandboxDriver, ms: number) => {
      const expiresAt = new Date(Date.now() + ms).toISOString();
      const name = given.name();
      const servers = [given.spec()];
      open.push(await driver.create({ name, servers, signal: never, expiresAt }));
      return name;
    };
    const [old, fresh] = [await made(given.driver, -1), await made(given.driver, 60_000)];
    const foreign = await made(await given.another(), -1);
    const before = await given.driver.living();
    expect(before.find(({ name }) => name === foreign)?.foreign).toBe(true);
    expect(before.find(({ name }) => name === old)?.foreign).toBeUndefined();
    const ledger = {
      openSandboxes: async () => [],
      endedSandboxes: async () => [],
      sandboxEnded: async () => {},
    };
    const parts = { ledger, environment: { host: TEST_HOST, identity: 'w' }, driver: () => given.driver };
    const { reaped, problems } = await sweepSandboxes(parts, { starting: false });
    expect([[...reaped].sort(), problems]).toEqual([[old, foreign].sort(), []]);
    const left = (await given.driver.living()).map(({ name }) => name);
    expect(left).toContain(fresh);
    expect(left).not.toContain(old);
  });

  test.skipIf(!local)('an engine that is away is waited for, not for ever', async () => {
    const path = join(given.home, 'later.sock');
    const request = () => ({ name: given.name(), servers: [given.spec()], signal: never });
    const gone = given.at({ host: `unix://${path}` }, 200);
    await expect(gone.create(request())).rejects.toMatchObject({ code: 'engine_unreachable', retry: true });
    const patient = given.at({ host: `unix://${path}` }, 30_000);
    const creating = patient.create(request());
    await new Promise((resolve) => setTimeout(resolve, 100));
    const back = createServer((client) => {
      const engineSide = connect(socketOf(engine!.settings));
      client.pipe(engineSide).pipe(client);
      for (const side of [client, engineSide]) side.on('error', () => engineSide.destroy());
    });
    await new Promise<void>((resolve) => back.listen(path, resolve));
    const sandbox = await creating;
    open.push(sandbox);
    expect(await given.call(sandbox, 'hello')).toMatchObject({ text: 'hello' });
    await sandbox.release();
    back.close();
  });

  test('what cannot start says why, and leaves nothing', async () => {
    const wrong = (container: NonNullable<ServerSpec['container']>): ServerSpec => ({
      ...given.spec(),
      container,
    });
    const none = `sha256:${'0'.repeat(64)}`;
    await expect(guest([wrong({ image: none, args: [], env: {} })])).rejects.toMatchObject({
      kind: 'sandbox',
      code: 'image_missing',
      retry: false,
    });
    await expect(guest([wrong({ image: 'debian:latest', args: [], env: {} })])).rejects.toThrow(/a digest/);
    await expect(guest([{ name: 'guest', startTimeoutMs: 1 }])).rejects.toMatchObject({ retry: false });
    await expect(guest([given.spec(['silent'])])).rejects.toMatchObject({ code: 'start_timeout' });
  });

  test('the desks: the same in a container, and nothing that would help to cheat', async () => {
    const suite = createDeskbench();
    const [tag] = suite.images as readonly [string];
    const image = { tag, entry: stdioEntry(), snapshots: join(given.home, 'snapshots') };
    const archive = await programImage(image);
    expect((await programImage(image)).id).toBe(archive.id);
    await rememberImage(given.home, tag, await loadImage(given.engine, archive, tag));
    await requireContainers(suite, given.home, engine!.settings);
    const { id } = (await suite.tasks()).find(({ split }) => split === 'benchmark')!;
    const task = await suite.load(id);
    const seen = async (driver: SandboxDriver) => {
      const sandbox = await driver.create({ name: given.name(), servers: task.servers, signal: never });
      open.push(sandbox);
      await task.init(sandbox.tools, never);
      const tools = await task.visibleTools(sandbox.tools, never);
      return { tools, effects: await task.effects(sandbox.tools, never) };
    };
    expect(await seen(given.driver)).toEqual(await seen(createInlineDriver()));
    // The words of the task and what it expects are the suite's, not the server's.
    for (const words of [task.user.opening, ...task.systemMessages]) {
      expect(archive.bytes.includes(words)).toBe(false);
    }
  });

  describe('told apart', () => {
    test.each([
      ['die', { kind: 'sandbox', code: 'session_lost', message: expect.stringContaining('exit 7') }],
      [
        'controls',
        { code: 'session_lost', message: expect.stringMatching(/\(exit 7\) \]0;title\[2Jlast words$/) },
      ],
      ['memory', { kind: 'sandbox', code: 'out_of_memory' }],
      ['memoryOfChild', { kind: 'sandbox', code: 'out_of_memory' }],
      ['endless', { kind: 'sandbox', code: 'output_limit', message: expect.stringContaining('in all') }],
      ['pings', { kind: 'sandbox', code: 'output_limit', message: expect.stringContaining('lines') }],
      ['longLine', { kind: 'sandbox', code: 'output_limit', message: expect.stringContaining('a message') }],
      [
        'wrongId',
        { kind: 'sandbox', code: 'session_lost', message: expect.stringContaining('nobody waits') },
      ],
    ])('%s', async (tool, fault) => {
      await expect(given.call(await guest(), tool)).rejects.toMatchObject(fault);
    });

    test('a tool that fails in a healthy sandbox is a result', async () => {
      const sandbox = await guest();
      const failed = { text: 'this tool does not work', isError: true };
      expect(await given.call(sandbox, 'fail')).toEqual(failed);
      expect(await given.call(sandbox, 'hello')).toMatchObject({ text: 'hello' });
    });

    test.each([60_000, -60_000])('by the engine’s clock, a worker’s being %i ms away', async (ms) => {
      const now = Date.now;
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
      try {
        expect(await given.call(await guest(), 'fail')).toMatchObject({ isError: true });
        const fault = { code: 'out_of_memory' };
        await expect(given.call(await guest(), 'memoryOfChild')).rejects.toMatchObject(fault);
      } finally {
        clock.mockRestore();
      }
    });

    test('silence is a deadline, and a guest that ignores SIGTERM goes all the same', async () => {
      const sandbox = await guest();
      await expect(given.call(sandbox, 'hang', {}, 300)).rejects.toMatchObject({ kind: 'deadline' });
      await sandbox.release();
      expect((await given.driver.living()).map(({ name }) => name)).not.toContain(sandbox.name);
    });
  });

  describe('contained', () => {
    test('a fork bomb', async () => {
      const sandbox = await guest();
      const { text } = await given.call(sandbox, 'forks').catch((error: Error) => ({ text: error.message }));
      expect(text).not.toContain('as many as it liked');
      await sandbox.release();
    });

    test('a disk filler', async () => {
      expect(await read(await guest(), 'disk')).toEqual({ temporary: 'ENOSPC', root: 'EROFS' });
    });

    test('writing into /proc, giving itself rights', async () => {
      const system = await read(await guest(), 'system');
      for (const how of Object.values(system)) expect(how).toMatch(/^(EROFS|EACCES|EPERM|ENOENT)$/);
    });

    test('the host: environment, files behind links, processes', async () => {
      process.env.SECRET_OF_OURS = 'x';
      const file = join(given.home, 'expected.json');
      await writeFile(file, 'the expected state');
      expect(await read(await guest(), 'host', { file })).toEqual({
        env: ['HOME', 'HOSTNAME', 'PATH'],
        files: ['relay.mjs', 'server.mjs'],
        processes: 1,
        linked: 'ENOENT',
      });
      expect(await readFile(file, 'utf8')).toBe('the expected state');
    });

    test('the network, the metadata address, the engine', async () => {
      const socket = socketOf(engine!.settings);
      const network = await read(await guest(), 'network', { socket });
      const { interfaces, outside, metadata, engine: usual, itsEngine } = network;
      expect(interfaces).toEqual(['lo']);
      for (const how of [outside, metadata])
        expect(how).toMatch(/^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/);
      for (const how of [usual, itsEngine]) expect(how).toMatch(/^(ENOENT|EACCES)$/);
    });

    test.skipIf(!local)('a double fork ends with its container', async () => {
      const mark = `mark-${process.pid}-${Date.now()}`;
      const sandbox = await guest();
      await given.call(sandbox, 'doubleFork', { mark });
      const before = await marked(mark);
      await sandbox.release();
      expect([before > 0, await marked(mark)]).toEqual([true, 0]);
    });
  });
});

function socketOf({ host }: EngineSettings): string {
  return host?.replace('unix://', '') ?? '/var/run/docker.sock';
}

/** Processes of this machine with that word on their command line. */
async function marked(mark: string): Promise<number> {
  let count = 0;
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const line = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(mark)) count += 1;
  }
  return count;
}
