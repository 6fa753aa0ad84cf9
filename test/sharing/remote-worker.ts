/** A worker as a person starts it on another host: by the command line, told everything by its environment. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { StackInfo } from '../../infra/stack/info.js';
import { ROOT } from '../import-graph.js';

export interface RemoteWorker {
  /** As the ledger knows it. */
  readonly identity: string;
  /** Sends the signal, unless it has ended; its exit code, null when the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Standard output and error so far. */
  said(): string;
}

export interface RemoteHost {
  /** `STEADFAST_HOST`. */
  readonly name: string;
  /** `STEADFAST_HOME`. */
  readonly home: string;
  /** `DOCKER_HOST`. */
  readonly engine?: string;
}

/** What docs/sandboxes.md tells people to set. */
export function remoteEnvironment(info: StackInfo, { name, home, engine }: RemoteHost): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    ...{ PATH, HOME },
    TEMPORAL_ADDRESS: info.temporal.address,
    DATABASE_URL: info.databaseUrl,
    STEADFAST_HOME: home,
    STEADFAST_ARTIFACTS: info.artifacts,
    STEADFAST_TRAINER_URL: info.trainerUrl,
    STEADFAST_USER_URL: info.userUrl,
    STEADFAST_JUDGE_URL: info.judgeUrl,
    STEADFAST_HOST: name,
    ...(engine === undefined ? {} : { DOCKER_HOST: engine, STEADFAST_ISOLATION: 'docker' }),
  };
}

type Kind = 'pipeline' | 'sandbox' | 'gpu';

/** Resolves when it polls, or has said what `sign` is found in. Throws with what it said when it ends before. */
export async function remoteWorker(
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
  kind: Kind = 'sandbox',
  sign = ' ready, process ',
): Promise<RemoteWorker> {
  const args = [join(ROOT, 'cli', 'steadfast.mjs'), 'workers', kind, ...flags];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes(sign)) resolve();
      });
    }
  });
  const ended = once(child, 'close') as Promise<[number | null]>;
  await Promise.race([
    ready,
    ended.then(([code]) => {
      throw new Error(`exit code ${code}: ${said}`);
    }),
  ]);
  return {
    identity: `${env.STEADFAST_HOST}:${child.pid}`,
    async end(signal) {
      if (child.exitCode === null) child.kill(signal);
      const [code] = await ended;
      return code;
    },
    said: () => said,
  };
}
