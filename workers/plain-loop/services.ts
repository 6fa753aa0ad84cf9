/** The two servers that the loop talks to, as child processes of its own: the trainer, and user and judge. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../core/faults.js';

export interface Services {
  readonly trainerUrl: string;
  readonly userUrl: string;
  readonly judgeUrl: string;
  readonly pids: { readonly trainer: number; readonly endpoints: number };
  stop(): void;
}

/** Root of the checkout, seen from the source or from `dist/`. */
function root(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

/** `home`: folder for what the trainer writes. Throws `UsageError` when a program is missing or ends at once. */
export async function startServices(home: string): Promise<Services> {
  const base = root();
  const python = process.env.STEADFAST_PYTHON ?? join(base, '.steadfast', 'venv', 'bin', 'python');
  const trainer = start(
    python,
    [
      '-m',
      'steadfast_trainer',
      'serve',
      '--port',
      '0',
      '--home',
      home,
      '--base',
      process.env.STEADFAST_BASE ?? join(base, 'native', 'trainer', 'base'),
    ],
    { PYTHONPATH: join(base, 'native', 'trainer'), OPENBLAS_NUM_THREADS: '1' },
  );
  const endpoints = start(
    process.execPath,
    [join(base, 'dist', 'suites', 'deskbench', 'endpoints', 'main.js')],
    { PORT: '0' },
  );
  const stop = (): void => {
    trainer.kill('SIGTERM');
    endpoints.kill('SIGTERM');
  };
  process.once('exit', stop);
  try {
    const [trainerLine, endpointsLine] = await Promise.all([firstLine(trainer), firstLine(endpoints)]);
    const { user, judge } = JSON.parse(endpointsLine) as { user: string; judge: string };
    const trainerUrl = /http:\S+/.exec(trainerLine)?.[0] ?? '';
    const pids = { trainer: trainer.pid ?? 0, endpoints: endpoints.pid ?? 0 };
    return { trainerUrl, userUrl: user, judgeUrl: judge, pids, stop };
  } catch (error) {
    stop();
    throw error;
  }
}

function start(file: string, args: readonly string[], env: Record<string, string>): ChildProcess {
  return spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Programs say where they listen on their first line. */
function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const failed = (found: string): void =>
      reject(
        new UsageError(
          child.spawnfile,
          'a server that says where it listens',
          found,
          'Run `npm run setup` first.',
        ),
      );
    child.once('error', (error) => failed(error.message));
    child.once('exit', (code) => failed(`exit ${code}`));
    if (child.stdout) createInterface({ input: child.stdout }).once('line', resolve);
  });
}
