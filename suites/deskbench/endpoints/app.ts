/** The simulated user and the judge behind one port: `/user/v1`, `/judge/v1`, `/health`. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { chatRoutes } from './chat.js';
import { answerAsJudge, answerAsUser } from './rules.js';

export const USER_MODEL = 'rule-user';
export const JUDGE_MODEL = 'rule-judge';

export function createEndpoints(): Hono {
  const app = new Hono();
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.route('/user/v1', chatRoutes(USER_MODEL, answerAsUser));
  app.route('/judge/v1', chatRoutes(JUDGE_MODEL, answerAsJudge));
  return app;
}

export interface RunningEndpoints {
  readonly userUrl: string;
  readonly judgeUrl: string;
  close(): Promise<void>;
}

/** Port 0 takes a free one. Rejects when the port is taken. */
export function startEndpoints(port: number, hostname = '127.0.0.1'): Promise<RunningEndpoints> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: createEndpoints().fetch, port, hostname }, (address) => {
      const base = `http://${hostname}:${address.port}`;
      resolve({
        userUrl: `${base}/user/v1`,
        judgeUrl: `${base}/judge/v1`,
        close: () =>
          new Promise<void>((done, fail) => {
            server.close((error) => (error ? fail(error) : done()));
            (server as Server).closeAllConnections();
          }),
      });
    }) as Server;
    server.once('error', reject);
  });
}
