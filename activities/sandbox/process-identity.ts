/**
 * Which process is meant: a process id is used again, its start time is not. And which processes belong to a
 * sandbox: those that carry its name in their environment, wherever they have moved to.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Environment variable by which every process of a sandbox is known, its grandchildren too. */
export const SANDBOX_MARK = 'STEADFAST_SANDBOX';

/** Start time of a live process in the system's own words, or undefined when there is no such process. */
export async function processStart(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The second field is the command in parentheses and may hold anything; fields count from behind it.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields?.[0] === 'Z' ? undefined : fields?.[19];
  }
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'lstart=', '-p', String(pid)], (error, out) =>
      resolve(error ? undefined : out.trim()),
    );
  });
}

/** Ids of live processes marked with this name. Empty where the system does not show environments. */
export async function markedProcesses(name: string, variable = SANDBOX_MARK): Promise<readonly number[]> {
  if (process.platform !== 'linux') return [];
  const mark = `${variable}=${name}`;
  // Every release looks at every process, so it must be cheap: a synchronous read takes some ten microseconds, the same
  // through the thread pool ten times that.
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && environmentOf(entry).split('\0').includes(mark))
    .map(Number);
}

/** Empty where it cannot be read: the process has ended meanwhile, or is another user's and so not ours. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}

/** Ends a process, or a whole group with a negative id, at once. True when there was one. */
export function killNow(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
