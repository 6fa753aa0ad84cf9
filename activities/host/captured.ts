/** Standard output of a short command of this machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 60_000;
const MOST_BYTES = 4 * 2 ** 20;

type Failure = NodeJS.ErrnoException & { readonly stderr?: string; readonly killed?: boolean };

/** Throws with the command's own last words when it is not there, fails, or takes longer than a minute. */
export async function captured(file: string, args: readonly string[], signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await run(file, [...args], { timeout: LIMIT_MS, maxBuffer: MOST_BYTES, signal });
    return stdout;
  } catch (error) {
    const { code, killed, stderr = '', message } = error as Failure;
    if (code === 'ENOENT') throw new Error(`no ${file} on this machine`, { cause: error });
    if (killed && !signal.aborted)
      throw new Error(`${file}: no answer within ${LIMIT_MS / 1000} s`, { cause: error });
    const last = stderr.trim().split('\n').at(-1) || message.split('\n')[0]!;
    throw new Error(`${file}: ${last.slice(0, 200)}`, { cause: error });
  }
}
