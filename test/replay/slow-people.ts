/** The simulated user and the judge of a test's stack: the built-in rules, and a user that does not answer for a while. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createEndpoints } from '../../suites/deskbench/endpoints/app.js';

type Mood = 'answers' | 'hangs' | 'silent';

export interface SlowPeople {
  /** For the environment of `startStack`. */
  readonly environment: { readonly STEADFAST_USER_URL: string; readonly STEADFAST_JUDGE_URL: string };
  /** `hangs`: a request is kept until the mood changes. `silent`: the answer is empty, which is a fault of the user. */
  mood: Mood;
  close(): Promise<void>;
}

const LOOK_MS = 50;

export async function startSlowPeople(): Promise<SlowPeople> {
  const rules = createEndpoints();
  let mood: Mood = 'answers';
  const app = new Hono();
  app.all('*', async (context) => {
    const asked = new URL(context.req.url).pathname === '/user/v1/chat/completions';
    while (asked && mood === 'hangs') await new Promise((done) => setTimeout(done, LOOK_MS));
    if (asked && mood === 'silent') return context.json(SILENCE);
    return rules.fetch(context.req.raw);
  });
  const { server, port } = await new Promise<{ server: Server; port: number }>((resolve) => {
    const started = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port: found }) =>
      resolve({ server: started as Server, port: found }),
    );
  });
  const base = `http://127.0.0.1:${port}`;
  return {
    environment: { STEADFAST_USER_URL: `${base}/user/v1`, STEADFAST_JUDGE_URL: `${base}/judge/v1` },
    get mood() {
      return mood;
    },
    set mood(next) {
      mood = next;
    },
    close: () =>
      new Promise<void>((done, fail) => {
        server.close((error) => (error ? fail(error) : done()));
        server.closeAllConnections();
      }),
  };
}

const SILENCE = {
  id: 'c',
  object: 'chat.completion',
  created: 0,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '' } }],
};
