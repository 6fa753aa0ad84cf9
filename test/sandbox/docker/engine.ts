/**
 * A real Docker engine for tests: the one of this machine where one answers; else, as root with CI=true on Debian,
 * Debian's own, installed and started here on a data root and a socket of its own. Otherwise the tests are skipped,
 * and `why` says so.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkEngine, type EngineSettings, openEngine } from '../../../activities/sandbox/docker/engine.js';

const run = promisify(execFile);
const INSTALL_MS = 110_000;
const READY_MS = 30_000;

export interface TestEngine {
  readonly settings: EngineSettings;
  stop(): Promise<void>;
}

export interface NoEngine {
  readonly why: string;
}

export async function testEngine(): Promise<TestEngine | NoEngine> {
  const host = process.env.STEADFAST_TEST_DOCKER_HOST || process.env.DOCKER_HOST || undefined;
  const found = { host };
  const why = await problemOf(found);
  if (why === undefined) return { settings: found, stop: async () => {} };
  const debian = process.getuid?.() === 0 && process.env.CI === 'true' && existsSync('/etc/debian_version');
  if (!debian)
    return { why: `no Docker engine answers (${why}); one is installed only as root with CI=true` };
  try {
    await install();
    return await start();
  } catch (error) {
    return {
      why: `no Docker engine can be had here: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

async function problemOf(settings: EngineSettings): Promise<string | undefined> {
  try {
    await checkEngine(await openEngine(settings), settings);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function install(): Promise<void> {
  if (existsSync('/usr/sbin/dockerd') || existsSync('/usr/bin/dockerd')) return;
  const options = { timeout: INSTALL_MS, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run('apt-get', ['update'], options);
  // Another step of the same machine may hold the lock.
  const apt = ['-o', 'DPkg::Lock::Timeout=60', 'install', '-y', '--no-install-recommends', 'docker.io'];
  await run('apt-get', apt, options);
}

/** No network of its own: the tests need none, and the machine's packet filter stays as it is. */
async function start(): Promise<TestEngine> {
  // Sockets have short paths.
  const home = await mkdtemp('/tmp/sf-docker-');
  await mkdir(join(home, 'exec'));
  const host = `unix://${join(home, 'docker.sock')}`;
  const flags = ['--data-root', join(home, 'data'), '--exec-root', join(home, 'exec'), '-H', host];
  const apart = [
    '--pidfile',
    join(home, 'docker.pid'),
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
  ];
  const log = openSync(join(home, 'dockerd.log'), 'w');
  const engine = spawn('dockerd', [...flags, ...apart], { stdio: ['ignore', log, log] });
  const stop = async (): Promise<void> => {
    if (engine.exitCode === null && engine.signalCode === null) {
      const ended = once(engine, 'exit');
      engine.kill('SIGTERM');
      await ended;
    }
    await rm(home, { recursive: true, force: true });
  };
  engine.on('error', () => undefined);
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; ) {
    if (existsSync(join(home, 'docker.sock')) && (await problemOf({ host })) === undefined) {
      return { settings: { host }, stop };
    }
    if (engine.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const said = (await readFile(join(home, 'dockerd.log'), 'utf8')).trim().split('\n').slice(-3).join(' / ');
  await stop();
  throw new Error(`dockerd did not start: ${said}`);
}
