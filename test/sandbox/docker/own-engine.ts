/**
 * A Docker engine of a test's own, on a data root and a socket of its own: it can be stopped, killed, frozen and started
 * again without anybody else losing anything. Only as root; with CI=true on Debian it is installed first.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkEngine, type EngineSettings, openEngine } from '../../../activities/sandbox/docker/engine.js';
import { withLock } from '../../../infra/setup/lock.mjs';

const run = promisify(execFile);
const INSTALL_MS = 110_000;
const READY_MS = 60_000;
/** Longer than the engine itself gives its containers. */
const STOP_MS = 30_000;

export interface OwnEngine {
  readonly settings: EngineSettings;
  /** Process id of the running daemon. */
  pid(): number;
  /** Ends the daemon (SIGTERM unless told otherwise) and waits for it; its containers are its own affair. */
  down(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the daemon again on the same data; done when it answers. */
  up(): Promise<void>;
  /** SIGSTOP, SIGCONT: connections are taken, nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Ends everything and removes its folders. */
  stop(): Promise<void>;
}

/** Throws with the last lines of its log when it does not start. */
export async function ownEngine(flags: readonly string[] = []): Promise<OwnEngine> {
  await install();
  // Sockets have short paths.
  const home = await mkdtemp('/tmp/sf-docker-');
  await mkdir(join(home, 'exec'));
  const socket = join(home, 'docker.sock');
  const settings = { host: `unix://${socket}` };
  const log = join(home, 'dockerd.log');
  // No network of its own: the tests need none, and the machine's packet filter stays as it is.
  const apart = ['--bridge=none', '--iptables=false', '--ip6tables=false'];
  const places = ['--data-root', join(home, 'data'), '--exec-root', join(home, 'exec')];
  const all = [...places, '-H', settings.host, '--pidfile', join(home, 'docker.pid'), ...apart, ...flags];
  let daemon: ChildProcess;

  const up = async (): Promise<void> => {
    const until = Date.now() + READY_MS;
    // One that is started right after a killed one may give up; the next gets on.
    do {
      // Left by a daemon that was killed, and taken for alive when somebody else has its process id by now.
      for (const file of ['docker.pid', 'exec/containerd/containerd.pid'])
        await rm(join(home, file), { force: true });
      const out = openSync(log, 'a');
      daemon = spawn('dockerd', all, { stdio: ['ignore', out, out] });
      closeSync(out);
      daemon.on('error', () => undefined);
      while (Date.now() < until && !hasEnded(daemon)) {
        if (existsSync(socket) && (await problemOf(settings)) === undefined) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    } while (Date.now() < until && daemon.exitCode === 1);
    throw new Error(`dockerd did not start: ${await lastLines(log)}`);
  };
  const down = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (hasEnded(daemon)) return;
    const ended = once(daemon, 'exit');
    daemon.kill('SIGCONT');
    daemon.kill(signal);
    const late = setTimeout(() => daemon.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
    // A daemon that was killed leaves its containerd, which the next one does not always get hold of.
    if (daemon.signalCode === 'SIGKILL') await endLeft(join(home, 'exec'), /^\S*containerd\0/);
  };
  const stop = async (): Promise<void> => {
    // What a killed one has left running is ended by the next.
    if (daemon.signalCode === 'SIGKILL') await up().catch(() => undefined);
    await down();
    await endLeft(join(home, 'exec'));
    await unmount(home);
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  try {
    await up();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    settings,
    pid: () => daemon.pid ?? 0,
    down,
    up,
    freeze: () => void daemon.kill('SIGSTOP'),
    thaw: () => void daemon.kill('SIGCONT'),
    stop,
  };
}

/** Why an engine of one's own cannot be had here, or undefined. */
export function noOwnEngine(): string | undefined {
  if (process.getuid?.() !== 0) return 'an engine of its own needs root';
  if (installed()) return undefined;
  const debian = process.env.CI === 'true' && existsSync('/etc/debian_version');
  return debian ? undefined : 'dockerd is not installed, and is installed only with CI=true on Debian';
}

export async function problemOf(settings: EngineSettings): Promise<string | undefined> {
  try {
    await checkEngine(await openEngine(settings), settings);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function installed(): boolean {
  return existsSync('/usr/sbin/dockerd') || existsSync('/usr/bin/dockerd');
}

/** Test files run beside each other: one installs, the others wait for it. */
async function install(): Promise<void> {
  await withLock(join(tmpdir(), 'steadfast-test-docker-install.lock'), async () => {
    if (installed()) return;
    const options = { timeout: INSTALL_MS, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['update'], options);
    // Another step of the same machine may hold the lock.
    const apt = ['-o', 'DPkg::Lock::Timeout=60', 'install', '-y', '--no-install-recommends', 'docker.io'];
    await run('apt-get', apt, options);
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function lastLines(log: string): Promise<string> {
  return (await readFile(log, 'utf8')).trim().split('\n').slice(-3).join(' / ');
}

/** What daemons that were killed have left mounted there. */
async function unmount(home: string): Promise<void> {
  const lines = (await readFile('/proc/mounts', 'utf8')).split('\n');
  const places = lines.map((line) => line.split(' ')[1] ?? '').filter((place) => place.startsWith(home));
  // The innermost first.
  for (const place of places.reverse()) await run('umount', ['--lazy', place]).catch(() => undefined);
}

/** Processes with that folder on their command line: containerd and shims of this engine, of nobody else. */
async function endLeft(execRoot: string, which = /^/): Promise<void> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const line = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (!line.includes(execRoot) || !which.test(line)) continue;
    try {
      process.kill(Number(entry), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
