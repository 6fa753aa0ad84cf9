/** An HTTP server that answers what a test wrote down, one entry a request; the last is repeated. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: unknown;
  /** `reset`: the connection is cut before the reply; `half`: in the middle of it; `silent`: nothing ever comes. */
  readonly fault?: 'reset' | 'half' | 'silent';
}

export interface Received {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
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
    received.push({ path: request.url ?? '', body, headers: request.headers });
    send(response, replies[Math.min(received.length, replies.length) - 1] ?? {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received };
}

function send(response: ServerResponse, { status = 200, headers = {}, body = {}, fault }: Reply): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  if (fault === 'silent') return;
  if (fault === 'reset') return void response.destroy();
  response.writeHead(status, { 'content-type': type, 'content-length': text.length, ...headers });
  if (fault === 'half') {
    response.write(text.slice(0, text.length / 2));
    setImmediate(() => response.destroy());
    return;
  }
  response.end(text);
}
