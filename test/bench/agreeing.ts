/** A chat endpoint that says yes to everything: the judge of benchmarks that measure no judge. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Agreeing {
  /** For the environment of `startStack`. */
  readonly environment: { readonly STEADFAST_USER_URL: string; readonly STEADFAST_JUDGE_URL: string };
  close(): void;
}

export async function startAgreeing(): Promise<Agreeing> {
  const message = { role: 'assistant', content: 'Yes' };
  const answer = JSON.stringify({
    id: 'yes',
    object: 'chat.completion',
    created: 0,
    model: 'yes',
    choices: [{ index: 0, finish_reason: 'stop', message }],
    usage: { prompt_tokens: 0, completion_tokens: 1, total_tokens: 1 },
  });
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json').end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    environment: { STEADFAST_USER_URL: url, STEADFAST_JUDGE_URL: url },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
