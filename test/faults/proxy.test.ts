/** The fault tools themselves: each fault does what it says, and the same seed gives the same faults. */
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultPlan, type FaultRule } from './plan.js';
import { type FaultProxy, startFaultProxy } from './proxy.js';
import { startTcpProxy } from './tcp-proxy.js';

let server: http.Server;
let proxy: FaultProxy;
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  server = http.createServer(async (request, response) => {
    let body = '';
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      // Cut on the way: a server acts on whole requests only.
      return;
    }
    arrived.push(`${request.method} ${request.url} ${body}`);
    response.end(`answer ${arrived.length}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startFaultProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

/** The answer's text, or `broken`. */
async function ask(path = '/a'): Promise<string> {
  try {
    return await (await fetch(proxy.url + path, { method: 'POST', body: '12345678' })).text();
  } catch {
    // What the client sees of a reset is an error of its own making; that it failed is all that counts here.
    return 'broken';
  }
}

test.each([
  ['reset', 'broken', []],
  ['drop-request', 'broken', []],
  ['drop-reply', 'broken', ['POST /a 12345678']],
  ['truncate-reply', 'broken', ['POST /a 12345678']],
  ['truncate-request', 'broken', []],
  ['delay-request', 'answer 1', ['POST /a 12345678']],
  ['delay-reply', 'answer 1', ['POST /a 12345678']],
  ['duplicate', 'answer 2', ['POST /a 12345678', 'POST /a 12345678']],
] as const)('%s', async (fault, answer, seen) => {
  proxy.plan.set([{ fault, times: 1, ms: 10 }]);
  expect(await ask()).toBe(answer);
  expect(arrived).toEqual(seen);
  expect(await ask()).toBe(`answer ${seen.length + 1}`);
  expect(proxy.plan.events).toEqual([{ fault, path: '/a' }]);
});

test('a request that is delayed arrives although its sender has gone', async () => {
  proxy.plan.set([{ fault: 'delay-request', ms: 200, times: 1 }]);
  const gone = new AbortController();
  const lost = fetch(`${proxy.url}/late`, { method: 'POST', body: 'x', signal: gone.signal });
  while (proxy.plan.events.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  gone.abort();
  await expect(lost).rejects.toThrow();
  while (arrived.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(arrived).toEqual(['POST /late x']);
});

test('rules hold for their path; the same seed draws the same faults', () => {
  const rules: FaultRule[] = [
    { fault: 'reset', share: 0.3, path: '/trainer' },
    { fault: 'duplicate', share: 0.3 },
  ];
  const drawn = (seed: number) => {
    const plan = new FaultPlan(seed, rules);
    return Array.from({ length: 200 }, (_, n) => plan.next(n % 2 ? '/trainer/x' : '/v1')?.fault ?? 'none');
  };
  expect(drawn(1)).toEqual(drawn(1));
  expect(drawn(1)).not.toEqual(drawn(2));
  const counts = new Map<string, number>();
  for (const fault of drawn(1)) counts.set(fault, (counts.get(fault) ?? 0) + 1);
  expect([...counts.keys()].sort()).toEqual(['duplicate', 'none', 'reset']);
  expect(drawn(1).filter((fault, n) => fault === 'reset' && n % 2 === 0)).toEqual([]);
});

test('bytes of any protocol: passed, stalled, cut, refused, reset', async () => {
  const echo = net.createServer((socket) => {
    socket.on('error', () => undefined).pipe(socket);
  });
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const tcp = await startTcpProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port });
  try {
    // Not `once`: a reset is an error first, and that is what is waited for.
    const closing = (socket: net.Socket) => new Promise((resolve) => socket.once('close', resolve));
    const connect = async () => {
      const socket = net.connect(tcp.port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const socket = await connect();
    const next = async () => String((await once(socket, 'data'))[0]);
    socket.write('one');
    expect(await next()).toBe('one');

    tcp.set({ stalled: true });
    socket.write('two');
    const held = await Promise.race([next(), new Promise((resolve) => setTimeout(resolve, 100, 'nothing'))]);
    expect(held).toBe('nothing');
    const later = next();
    tcp.set({ delayMs: 20 });
    expect(await later).toBe('two');

    tcp.set({ cutShare: 1 });
    const closed = closing(socket);
    socket.write('12345678');
    await closed;

    tcp.set({ refusing: true });
    await closing(net.connect(tcp.port, '127.0.0.1').on('error', () => undefined));

    tcp.set({});
    const last = await connect();
    last.write('x');
    await once(last, 'data');
    expect(tcp.open).toBe(1);
    const ended = closing(last);
    tcp.reset();
    await ended;
  } finally {
    await tcp.close();
    echo.close();
  }
});
