/** An HTTP server that answers what a test wrote down, one entry a request; the last is repeated. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as yieldOnce } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
  /** `reset`: the connection is cut before the reply; `half`: in the middle of it; `silent`: nothing ever comes. */
  readonly fault?: 'reset' | 'half' | 'silent';
  readonly stream?: StreamReply;
}

/** An event stream. Objects are sent as `data` events, text as it is. */
export interface StreamReply {
  readonly events: readonly unknown[];
  /** `done`: `[DONE]`, then the end. `close`: the end. `cut`: the connection is cut. `hang`: nothing more ever comes. */
  readonly end?: 'done' | 'close' | 'cut' | 'hang' | 'endless';
  /** Bytes a write; else the whole stream at once. */
  readonly pieces?: number;
}

export interface Received {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  /** The caller has gone before its reply was complete. */
  gone: boolean;
}

export interface ReplyServer {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  readonly received: Received[];
}

export async function serve(replies: readonly Reply[]): Promise<ReplyServer> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const seen: Received = { path: request.url ?? '', body, headers: request.headers, gone: false };
    received.push(seen);
    response.on('close', () => {
      seen.gone = !response.writableFinished;
    });
    const reply = replies[Math.min(received.length, replies.length) - 1] ?? {};
    if (reply.stream) await sendStream(response, reply, reply.stream);
    else send(response, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received };
}

function send(response: ServerResponse, { status = 200, headers = {}, body = {}, fault }: Reply): void {
  const bytes =
    Buffer.isBuffer(body) || typeof body === 'string' ? Buffer.from(body) : Buffer.from(json(body));
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  if (fault === 'silent') return;
  if (fault === 'reset') return void response.destroy();
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length, ...headers });
  if (fault === 'half') {
    response.write(bytes.subarray(0, bytes.length / 2));
    setImmediate(() => response.destroy());
    return;
  }
  response.end(bytes);
}

async function sendStream(response: ServerResponse, reply: Reply, stream: StreamReply): Promise<void> {
  const { events, end = 'done', pieces } = stream;
  response.writeHead(reply.status ?? 200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...reply.headers,
  });
  const last = end === 'done' ? 'data: [DONE]\n\n' : '';
  const bytes = Buffer.from(events.map(wire).join('') + last);
  const size = pieces ?? Math.max(1, bytes.length);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    if (pieces) await yieldOnce();
  }
  while (end === 'endless' && !response.destroyed) {
    response.write(bytes);
    await yieldOnce();
  }
  if (end === 'cut') setImmediate(() => response.destroy());
  else if (end !== 'hang') response.end();
}

function wire(event: unknown): string {
  return typeof event === 'string' ? event : `data: ${json(event)}\n\n`;
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}
