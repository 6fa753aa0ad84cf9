/** An address that is told of regressions: answers as it is told, and keeps what it was sent. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RegressionMessage } from '../../activities/nightly/webhook.js';

export interface Hook {
  /** With a secret in its path. */
  readonly address: string;
  readonly secret: string;
  readonly received: { readonly headers: IncomingHttpHeaders; readonly message: RegressionMessage }[];
  /** The next answers, then 200. */
  answer(...statuses: readonly number[]): void;
  close(): Promise<void>;
}

export async function startHook(): Promise<Hook> {
  const secret = 'T0PSECRET-hook-token';
  const received: Hook['received'] = [];
  const answers: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString()) as RegressionMessage;
      received.push({ headers: request.headers, message });
      response.writeHead(answers.shift() ?? 200, { location: 'http://127.0.0.1:9/' }).end('noted');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}/${secret}`,
    secret,
    received,
    answer: (...statuses) => {
      answers.splice(0, answers.length, ...statuses);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
