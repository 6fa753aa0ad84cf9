/** Programs of ours as child processes that print one JSON document. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../infra/setup/root.mjs';

/** Runs a built program to its end; its standard error is shown line by line. Throws when it fails. */
export async function jsonOf<T>(
  script: string,
  args: readonly string[],
  options: { readonly say: (line: string) => void; readonly env?: Readonly<Record<string, string>> },
): Promise<T> {
  const child = spawn(process.execPath, [join(ROOT, 'dist', script), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  let last = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    last = text;
    for (const line of text.trimEnd().split('\n')) options.say(`  ${line}`);
  });
  const stop = (): void => void child.kill('SIGTERM');
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  process.off('SIGINT', stop).off('SIGTERM', stop);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')}: exit ${code}: ${last.trim()}`);
  return JSON.parse(out) as T;
}
