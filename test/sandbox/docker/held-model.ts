/** A chat endpoint that answers nobody until it is told to: episodes stay open for as long as a test needs them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HeldModel {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  /** Conversations that wait for their answer now. */
  waiting(): number;
  /** From now on everybody is answered, with a message and no tool call. */
  open(): void;
  stop(): Promise<void>;
}

const ANSWER = JSON.stringify({
  id: 'held',
  object: 'chat.completion',
  created: 0,
  model: 'held',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'I cannot help .' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

export async function heldModel(): Promise<HeldModel> {
  const held = new Set<ServerResponse>();
  let open = false;
  const answer = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  };
  const server = createServer((request, response) => {
    request.resume();
    if (open) return answer(response);
    held.add(response);
    response.on('close', () => held.delete(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    waiting: () => held.size,
    open() {
      open = true;
      for (const response of held) answer(response);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
