/** The real embedded trainer as a child process, on a free port. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export const ROOT = path.resolve(import.meta.dirname, '..', '..');
export const TRAINER = path.join(ROOT, 'native', 'trainer');
export const BASE = path.join(TRAINER, 'base');

/** `STEADFAST_PYTHON`, the checkout's virtual environment, or whatever `python3` is. */
export function python(): string {
  const venv = path.join(ROOT, '.steadfast', 'venv', 'bin', 'python');
  return process.env.STEADFAST_PYTHON ?? (existsSync(venv) ? venv : 'python3');
}

export interface RunningTrainer {
  readonly url: string;
  readonly child: ChildProcess;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Command line of the trainer; `args` follow the verb. */
export function runTrainer(verb: string, args: readonly string[]): ChildProcess {
  return spawn(python(), ['-m', 'steadfast_trainer', verb, ...args], {
    cwd: TRAINER,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export async function startTrainer(args: readonly string[] = []): Promise<RunningTrainer> {
  const home = await mkdtemp(path.join(tmpdir(), 'trainer-test-'));
  const child = runTrainer('serve', ['--port', '0', '--home', home, '--base', BASE, ...args]);
  child.stderr?.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout! });
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the trainer ended with ${code}`))),
  ]);
  return {
    url: line.slice(line.indexOf('http')),
    child,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill(signal);
      await ended;
    },
  };
}

/** Everything a program wrote, and its exit code. */
export async function finished(child: ChildProcess): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (data: Buffer) => {
    out += data;
  });
  child.stderr?.on('data', (data: Buffer) => {
    err += data;
  });
  const [code] = await once(child, 'close');
  return { code: Number(code), out, err };
}

export interface Completion {
  readonly choices: readonly {
    readonly text: string;
    readonly finish_reason: string;
    readonly token_ids: readonly number[];
    readonly logprobs: { readonly token_logprobs: readonly number[] };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly weight_version: string;
}

/** POST with a JSON body: status and JSON answer. */
export async function post<Reply>(url: string, body: object): Promise<{ status: number; value: Reply }> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, value: (await response.json()) as Reply };
}
