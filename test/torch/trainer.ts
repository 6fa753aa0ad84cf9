/** The real PyTorch trainer as a child process, on a free port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { NATIVE, PYTHONPATH } from './tiny-model.js';

export interface TorchProcess {
  /** Without `/v1`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** `folder` holds the model and what the trainer writes. */
export async function startTorch(
  python: string,
  folder: string,
  args: readonly string[],
): Promise<TorchProcess> {
  const child = spawn(
    python,
    [
      ...['-m', 'steadfast_torch', 'serve', '--port', '0', '--home', path.join(folder, 'home')],
      ...['--model', path.join(folder, 'model'), ...args],
    ],
    { cwd: NATIVE, env: { ...process.env, PYTHONPATH }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'exit');
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
    ended.then(([code]) => Promise.reject(new Error(`the trainer ended with ${code}`))),
  ]);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  };
  return { url: line.slice(line.indexOf('http')), stop };
}
