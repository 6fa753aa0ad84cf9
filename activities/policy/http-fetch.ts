/**
 * `fetch` over Node's own HTTP client with kept-alive connections, for endpoints on plain `http:`.
 *
 * The OpenAI client takes any fetch. With the built-in one a request costs 0.76 ms of CPU, with this one 0.37 ms
 * (both with the client's own share; 120 ids in, 20 out), and an episode makes five to ten of them.
 */
import http from 'node:http';

const agent = new http.Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo' });

/** Requests with other bodies than text, and other schemes, go to the built-in fetch. */
export async function httpFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const url = input instanceof Request ? input.url : String(input);
  const { body, method, headers, signal } = init;
  const plain = body === undefined || body === null || typeof body === 'string';
  if (!url.startsWith('http:') || !plain || input instanceof Request) return fetch(input, init);
  return new Promise<Response>((resolve, reject) => {
    const request = http.request(url, {
      agent,
      method: method ?? 'GET',
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        'content-length': Buffer.byteLength(body ?? ''),
      },
      ...(signal ? { signal } : {}),
    });
    request.once('error', reject);
    request.once('response', (message) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.once('error', reject);
      message.once('end', () => resolve(response(message, Buffer.concat(chunks))));
    });
    request.end(body ?? undefined);
  });
}

function response(message: http.IncomingMessage, body: Buffer): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = message.statusCode ?? 0;
  // The standard allows no body with these, not even an empty one.
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : new Uint8Array(body), {
    status,
    statusText: message.statusMessage ?? '',
    headers,
  });
}
