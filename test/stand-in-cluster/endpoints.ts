/** An endpoint that takes no key that it is given, as one does whose customer has not paid. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ExpiredEndpoint {
  /** Ends in `/v1`. */
  readonly url: string;
  close(): void;
}

export async function expiredEndpoint(): Promise<ExpiredEndpoint> {
  const server = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'this key has expired', code: 'invalid_api_key' } }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, close: () => void server.close() };
}
