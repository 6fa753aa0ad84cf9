/**
 * Servers that really tokenise, with whatever tokenizer they are given, and say so in the shapes of real engines: vLLM's
 * and llama.cpp's `/tokenize`, and a completion that returns the ids of its prompt.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type ModelFiles, Renderer } from '../../core/render/renderer.js';

/** What the server has; everything else is 404. */
export type Shape = 'vllm' | 'llama.cpp' | 'completion' | 'none';

export interface TokenizerServer {
  readonly baseUrl: string;
  /** Paths of the requests, in order. */
  readonly asked: string[];
  readonly authorization: Set<string | undefined>;
}

export async function serveTokenizer(files: ModelFiles, shape: Shape): Promise<TokenizerServer> {
  const { tokens } = new Renderer(files);
  const asked: string[] = [];
  const authorization = new Set<string | undefined>();
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    authorization.add(request.headers.authorization);
    const body = await bodyOf(request);
    const reply = answer(shape, path, body, (text) => tokens.encode(text));
    response.writeHead(reply === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? { detail: 'Not Found' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, authorization };
}

function answer(
  shape: Shape,
  path: string,
  body: Readonly<Record<string, unknown>>,
  encode: (text: string) => number[],
): object | undefined {
  if (path === '/tokenize' && shape === 'vllm') {
    const ids = encode(String(body.prompt));
    return { count: ids.length, max_model_len: 4_096, tokens: ids, token_strs: null };
  }
  // Without its own member llama.cpp has no text, and no tokens.
  if (path === '/tokenize' && shape === 'llama.cpp') {
    return { tokens: typeof body.content === 'string' ? encode(body.content) : [] };
  }
  if (path === '/v1/completions' && shape === 'completion') {
    const ids = body.return_token_ids === true ? encode(String(body.prompt)) : null;
    return { choices: [{ index: 0, text: 'x', finish_reason: 'length', prompt_token_ids: ids }] };
  }
  return undefined;
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Readonly<Record<string, unknown>>;
}
