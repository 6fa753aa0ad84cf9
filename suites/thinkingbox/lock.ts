/** One at a time across processes of one machine: a file that holds the id of the process that works. */
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 250;

/** Runs `work` while holding the lock at `path`; the lock of a process that is gone is taken over. */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  while (!(await taken(path))) await sleep(POLL_MS);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function taken(path: string): Promise<boolean> {
  const own = `${path}.${process.pid}`;
  await writeFile(own, String(process.pid));
  try {
    // A link appears with its content: nobody ever reads a lock without a holder.
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(own, { force: true });
  }
  const holder = await readFile(path, 'utf8').catch(() => undefined);
  if (holder !== undefined && !alive(Number(holder))) await rm(path, { force: true });
  return false;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
