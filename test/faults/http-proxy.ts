/**
 * An HTTP proxy that a test puts between a client and a real server, and that may do anything with what passes.
 *
 * Each request is read whole and given to an `Intercept`, which forwards it as often as it likes and returns what the
 * client gets; `null` resets the connection. Without one everything passes unchanged.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProxiedRequest {
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  /** Bytes of the body to send before the connection is reset; all when absent. */
  readonly cutAfter?: number;
}

export interface ProxiedReply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
  /** Bytes of the body to send before the connection is reset; all when absent. */
  readonly cutAfter?: number;
}

export type Forward = (request: ProxiedRequest) => Promise<ProxiedReply>;
/** Throws like the server's connection; what it throws resets the client's. */
export type Intercept = (request: ProxiedRequest, forward: Forward) => Promise<ProxiedReply | null>;

export interface HttpProxy {
  readonly url: string;
  /** Takes the place of the interceptor from the next request on. */
  intercept(next: Intercept): void;
  /** Resets what is open. */
  close(): Promise<void>;
}

/** `target`: base URL of the server. Listens on a free port of 127.0.0.1. */
export async function startHttpProxy(target: string, first: Intercept = pass): Promise<HttpProxy> {
  let intercept = first;
  // No connection is kept: what one request did to its connection must not reach another.
  const agent = new http.Agent({ keepAlive: false });
  const forward: Forward = (request) => send(target, agent, request);
  const server = http.createServer((incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  async function answer(incoming: http.IncomingMessage, outgoing: http.ServerResponse): Promise<void> {
    try {
      const reply = await intercept(await readRequest(incoming), forward);
      if (reply === null) outgoing.socket?.resetAndDestroy();
      else write(outgoing, reply);
    } catch {
      // The server's connection broke, or the client's did: either way the client sees a broken connection.
      outgoing.socket?.resetAndDestroy();
    }
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    intercept: (next) => {
      intercept = next;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}

export const pass: Intercept = (request, forward) => forward(request);

async function readRequest(incoming: http.IncomingMessage): Promise<ProxiedRequest> {
  const body = await whole(incoming);
  return { method: incoming.method ?? 'GET', path: incoming.url ?? '/', headers: incoming.headers, body };
}

async function send(target: string, agent: http.Agent, request: ProxiedRequest): Promise<ProxiedReply> {
  const { method, path, headers, body } = request;
  const outgoing = http.request(new URL(path, target), {
    method,
    agent,
    headers: { ...withoutHop(headers), 'content-length': body.length },
  });
  if (request.cutAfter === undefined) outgoing.end(body);
  else outgoing.write(body.subarray(0, request.cutAfter), () => outgoing.destroy(new Error('cut')));
  const [incoming] = (await once(outgoing, 'response')) as [http.IncomingMessage];
  return {
    status: incoming.statusCode ?? 502,
    headers: withoutHop(incoming.headers),
    body: await whole(incoming),
  };
}

function write(outgoing: http.ServerResponse, { status, headers, body, cutAfter }: ProxiedReply): void {
  outgoing.writeHead(status, { ...withoutHop(headers), 'content-length': body.length });
  if (cutAfter === undefined) outgoing.end(body);
  else outgoing.write(body.subarray(0, cutAfter), () => outgoing.socket?.resetAndDestroy());
}

/** Headers of one connection, and the length, which follows the body. */
function withoutHop(headers: http.IncomingHttpHeaders): http.IncomingHttpHeaders {
  const {
    connection,
    'keep-alive': _alive,
    'transfer-encoding': _encoding,
    'content-length': _length,
    ...rest
  } = headers;
  return rest;
}

async function whole(stream: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
