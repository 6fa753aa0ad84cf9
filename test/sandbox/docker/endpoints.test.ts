/** Containers that may reach named endpoints: these work, and nothing else is within reach, however a guest tries. */

import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireContainers } from '../../../activities/sandbox/docker/preflight.js';
import { frame, KINDS } from '../../../activities/sandbox/docker/relay/frames.js';
import type { Endpoint, Sandbox, ServerSpec } from '../../../core/sandbox.js';
import { guestsOrWhy, type HostileGuests } from './guests.js';

const found = await guestsOrWhy();
const engine = 'why' in found ? undefined : found.engine;
if ('why' in found) process.stderr.write(`tests of endpoints are skipped: ${found.why}\n`);

const never = new AbortController().signal;
/** What a socket says where nothing listens, or no way leads. */
const NOWHERE = /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/;

describe.skipIf(!engine)('endpoints', () => {
  let given: HostileGuests;
  let service: Server;
  let other: Server;
  const talking = new Set<Socket>();
  const open: Sandbox[] = [];

  beforeAll(async () => {
    if ('guests' in found) given = found.guests;
    service = await listening((socket) => {
      talking.add(socket);
      socket.on('close', () => talking.delete(socket));
      const parts: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => parts.push(chunk));
      socket.on('end', () => socket.end(`said ${Buffer.concat(parts)}`));
    });
    other = await listening((socket) => socket.end('the other one'));
  });
  afterAll(async () => {
    try {
      await Promise.all(open.map((sandbox) => sandbox.release()));
      expect(await given.driver.living()).toEqual([]);
    } finally {
      service.close();
      other.close();
      await given.end();
      await engine!.stop();
    }
  });

  const search = (): Endpoint => {
    const { port } = service.address() as AddressInfo;
    return { name: 'search', port, address: `127.0.0.1:${port}` };
  };
  const reaching = (endpoints: readonly Endpoint[]): ServerSpec => {
    const spec = given.spec();
    return { ...spec, container: { ...spec.container!, endpoints } };
  };
  async function guest(
    endpoints: readonly Endpoint[] = [search()],
    approved: readonly string[] = endpoints.map(({ address }) => address),
  ): Promise<Sandbox> {
    const driver = given.at({ ...engine!.settings, endpoints: approved }, 10_000);
    const sandbox = await driver.create({
      name: given.name(),
      servers: [reaching(endpoints)],
      signal: never,
    });
    open.push(sandbox);
    return sandbox;
  }
  const ask = async (sandbox: Sandbox, tool: string, args = {}) =>
    (await given.call(sandbox, tool, args)).text;
  const talk = (sandbox: Sandbox, host: string, port: number, words = 'hello') =>
    ask(sandbox, 'talk', { host, port: String(port), words });

  test('a named endpoint answers under its name, one connection beside another', async () => {
    const sandbox = await guest();
    const { name, port } = search();
    const words = ['one', 'two', 'three', 'x'.repeat(150)];
    const heard = await Promise.all(words.map((word) => talk(sandbox, name, port, word)));
    expect(heard).toEqual(words.map((word) => `said ${word}`));
    expect(await talk(sandbox, name, port, 'y'.repeat(3_000_000))).toMatch(/^said y{195}$/);
    await sandbox.release();
    await expect.poll(() => talking.size).toBe(0);
  });

  test('a second endpoint of another name', async () => {
    const { port } = other.address() as AddressInfo;
    const sandbox = await guest([search(), { name: 'other.test', port, address: `localhost:${port}` }]);
    expect(await talk(sandbox, 'other.test', port)).toBe('the other one');
    expect(await talk(sandbox, 'search', port)).toMatch(NOWHERE);
  });

  test('nothing else: addresses, names, the metadata service, the engine, the host, other sandboxes', async () => {
    const [sandbox, neighbour] = [await guest(), await guest()];
    const { port } = search();
    const elsewhere = (other.address() as AddressInfo).port;
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const hosts = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
    for (const host of ['1.1.1.1', '169.254.169.254', '172.17.0.1', ...hosts]) {
      expect(await talk(sandbox, host, port)).toMatch(NOWHERE);
      expect(await talk(sandbox, host, elsewhere)).toMatch(NOWHERE);
    }
    expect(await talk(sandbox, 'search', elsewhere)).toMatch(NOWHERE);
    for (const host of ['example.org', 'metadata.google.internal', neighbour.name, 'host.docker.internal']) {
      expect(await ask(sandbox, 'resolve', { host })).toMatch(/^(EAI_AGAIN|ENOTFOUND)$/);
    }
    const socket = engine!.settings.host?.replace('unix://', '') ?? '/var/run/docker.sock';
    const network = JSON.parse(await ask(sandbox, 'network', { socket })) as Record<string, unknown>;
    expect(network).toMatchObject({ interfaces: ['lo'] });
    expect(network.engine).toMatch(/^(ENOENT|EACCES)$/);
    expect(network.itsEngine).toMatch(/^(ENOENT|EACCES)$/);
  });

  test('what the operator has not approved is refused before anything is made', async () => {
    await expect(guest([search()], [])).rejects.toMatchObject({
      kind: 'sandbox',
      code: 'endpoint_refused',
      retry: false,
      message: expect.stringContaining(`STEADFAST_ENDPOINTS=${search().address}`),
    });
  });

  test('an approved name that leads to a metadata service leads nowhere', async () => {
    const metadata = { name: 'search', port: 80, address: '169.254.169.254:80' };
    const sandbox = await guest([metadata]);
    expect(await talk(sandbox, 'search', 80)).toMatch(/^(closed|ECONNRESET)$/);
    await expect(given.call(sandbox, 'fail')).rejects.toThrow(
      /169\.254\.169\.254:80 cannot be reached: it is a metadata/,
    );
  });

  test('an endpoint that is away is no doing of the agent’s', async () => {
    const gone = await listening((socket) => socket.destroy());
    const { port } = gone.address() as AddressInfo;
    const address = `127.0.0.1:${port}`;
    const suite = { name: 'x', images: [given.spec().container!.image], endpoints: [address] };
    const settings = { ...engine!.settings, endpoints: [address] };
    await requireContainers(suite, given.home, settings);
    await expect(requireContainers(suite, given.home, engine!.settings)).rejects.toThrow(
      /STEADFAST_ENDPOINTS/,
    );
    await new Promise((resolve) => gone.close(resolve));
    await expect(requireContainers(suite, given.home, settings)).rejects.toThrow(
      /takes connections.*REFUSED/,
    );
    const sandbox = await guest([{ name: 'search', port, address }]);
    expect(await talk(sandbox, 'search', port)).toMatch(/^(closed|ECONNRESET)$/);
    await expect(given.call(sandbox, 'fail')).rejects.toMatchObject({ kind: 'sandbox', code: 'unhealthy' });
  });

  test.each([
    ['words that are no frames', Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('hex')],
    ['a frame without end', 'ff000000010fffffff'],
  ])('a guest that speaks for the relay, with %s, loses its endpoints', async (_what, hex) => {
    const sandbox = await guest();
    expect(await ask(sandbox, 'forge', { hex })).toBe('done');
    await expect(given.call(sandbox, 'fail')).rejects.toThrow(/expected a frame of the relay/);
    expect(await talk(sandbox, 'search', search().port)).not.toContain('said');
  });

  test('nor does it get further with frames: endpoints that it has not, connections that are none', async () => {
    const sandbox = await guest();
    const forged = [
      frame(KINDS.open, 9_000, Uint8Array.of(7)),
      frame(KINDS.open, 9_001),
      frame(KINDS.data, 9_002, Buffer.from('x')),
      frame(KINDS.close, 9_003),
      frame(KINDS.ready, 0),
    ];
    await ask(sandbox, 'forge', { hex: Buffer.concat(forged).toString('hex') });
    expect(await talk(sandbox, 'search', search().port)).toBe('said hello');
  });

  test('an endpoint that is away leaves the others within reach', async () => {
    const gone = await listening((socket) => socket.destroy());
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const sandbox = await guest([search(), { name: 'gone', port, address: `127.0.0.1:${port}` }]);
    expect(await talk(sandbox, 'gone', port)).toMatch(/^(closed|ECONNRESET)$/);
    expect(await talk(sandbox, 'search', search().port)).toBe('said hello');
  });

  test('connections without end are ended', async () => {
    const sandbox = await guest();
    const args = { host: 'search', port: String(search().port), count: '3000' };
    expect(Number(await ask(sandbox, 'dial', args))).toBeLessThanOrEqual(2_000);
    await expect(given.call(sandbox, 'fail')).rejects.toThrow(/more than 2000 connections/);
  });
});

async function listening(each: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    each(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
