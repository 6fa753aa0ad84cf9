/** The simulated user and the judge of a test's own stack: the built-in rules, with silences and a judge that agrees on demand. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createEndpoints } from '../../suites/deskbench/endpoints/app.js';

export interface People {
  /** For the environment of `startStack`: workers are given these endpoints instead of the built-in ones. */
  readonly environment: { readonly STEADFAST_USER_URL: string; readonly STEADFAST_JUDGE_URL: string };
  /** The next `count` answers of the user are empty: each is a system error of one try. */
  silence(count: number): void;
  close(): Promise<void>;
}

/** With `agreeing`, the judge says yes to everything. */
export function startPeople({ agreeing = false } = {}): Promise<People> {
  let silent = 0;
  const rules = createEndpoints();
  const app = new Hono();
  app.all('*', async (context) => {
    const { pathname } = new URL(context.req.url);
    if (pathname === '/user/v1/chat/completions' && silent > 0) {
      silent--;
      return context.json(saying(''));
    }
    if (pathname === '/judge/v1/chat/completions' && agreeing) return context.json(saying('Yes'));
    return rules.fetch(context.req.raw);
  });
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
      const base = `http://127.0.0.1:${port}`;
      resolve({
        environment: { STEADFAST_USER_URL: `${base}/user/v1`, STEADFAST_JUDGE_URL: `${base}/judge/v1` },
        silence: (count) => {
          silent = count;
        },
        close: () =>
          new Promise<void>((done, fail) => {
            server.close((error) => (error ? fail(error) : done()));
            (server as Server).closeAllConnections();
          }),
      });
    });
    server.once('error', reject);
  });
}

function saying(content: string) {
  const message = { role: 'assistant', content };
  return {
    id: 'c',
    object: 'chat.completion',
    created: 0,
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message }],
  };
}
