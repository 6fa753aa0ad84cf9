/**
 * Processes told apart for certain. A process id is used again after its process has ended; the id together with
 * the time the process started is not. Nothing is ever signalled by id alone.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process started, as an opaque string that no later process with the same id has; undefined when there is
 * no such process, or only its zombie.
 * @param {number} pid @returns {string | undefined}
 */
export function startedAt(pid) {
  return process.platform === 'linux' ? startedLinux(pid) : startedPs(pid);
}

/** @param {number} pid */
function startedLinux(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
  // After the command in parentheses (which may hold spaces and parentheses): state is field 3, start time field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${bootId()}:${fields[19]}`;
}

let boot = '';
function bootId() {
  // Start times count from boot: ticks alone could come again after a restart of the machine.
  boot ||= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().slice(0, 8);
  return boot;
}

/** @param {number} pid */
function startedPs(pid) {
  try {
    const out = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return out === '' || out.startsWith('Z') ? undefined : out.replace(/^\S+\s+/, '').replaceAll(' ', '_');
  } catch (error) {
    // ps ends with 1 when there is no such process.
    if (/** @type {{ status?: number }} */ (error).status === 1) return undefined;
    throw error;
  }
}

/** @typedef {{ readonly pid: number, readonly started: string }} ProcessId */

/** @returns {ProcessId} this process. */
export function self() {
  return { pid: process.pid, started: startedAt(process.pid) ?? '' };
}

/** @param {ProcessId} id */
export function isAlive(id) {
  return id.pid > 0 && startedAt(id.pid) === id.started;
}

/**
 * Sends the signal if exactly this process is alive; false when it is not.
 * @param {ProcessId} id @param {NodeJS.Signals} name
 */
export function signal(id, name) {
  if (!isAlive(id)) return false;
  try {
    process.kill(id.pid, name);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Waits until the process is gone; false when it is still there after `limitMs`.
 * @param {ProcessId} id @param {number} limitMs
 */
export async function gone(id, limitMs) {
  const deadline = Date.now() + limitMs;
  for (let wait = 10; isAlive(id); wait = Math.min(wait * 1.5, 100)) {
    if (Date.now() > deadline) return false;
    await new Promise((done) => setTimeout(done, wait));
  }
  return true;
}
