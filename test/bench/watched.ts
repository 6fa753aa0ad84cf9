/** A program run to its end, with its CPU time and largest resident memory: the kernel's own numbers, looked at often. */
import { spawn } from 'node:child_process';
import { ROOT } from '../../infra/setup/root.mjs';
import { memoryOf, readProcesses } from './process-times.js';

const LOOK_EVERY_MS = 100;

/** Node with these arguments. Throws when it fails, with what it said. */
export async function watched(
  args: readonly string[],
): Promise<{ readonly seconds: number; readonly bytes: number }> {
  const child = spawn(process.execPath, [...args], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const pid = child.pid ?? 0;
  let seconds = 0;
  let bytes = 0;
  const timer = setInterval(() => {
    seconds = Math.max(seconds, readProcesses().get(pid)?.seconds ?? 0);
    bytes = Math.max(bytes, memoryOf(pid).bytes);
  }, LOOK_EVERY_MS);
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('exit', done);
  }).finally(() => clearInterval(timer));
  if (code !== 0) throw new Error(`steadfast ${args.slice(1).join(' ')}: exit ${code}: ${said}`);
  return { seconds, bytes };
}
