/** The image of the hostile guest in the engine of the tests, and sandboxes with it. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDockerDriver } from '../../../activities/sandbox/docker/driver.js';
import { type EngineSettings, openEngine } from '../../../activities/sandbox/docker/engine.js';
import { rememberImage } from '../../../activities/sandbox/docker/images.js';
import { CONTAINER_LIMITS, type ContainerLimits } from '../../../activities/sandbox/docker/limits.js';
import type { WarmSettings } from '../../../activities/sandbox/warm/pool.js';
import type { Sandbox, ServerSpec } from '../../../core/sandbox.js';
import type { ImageArchive } from '../../../infra/images/archive.js';
import { loadImage } from '../../../infra/images/load.js';
import { programImage } from '../../../infra/images/node-image.js';
import { type TestEngine, testEngine } from './engine.js';

export type GuestsOrWhy =
  | { readonly engine: TestEngine; readonly guests: HostileGuests }
  | { readonly why: string };

/** An engine that answers may still be unable to run anything, inside a container of somebody's CI for instance. */
export async function guestsOrWhy(): Promise<GuestsOrWhy> {
  const engine = await testEngine();
  if ('why' in engine) return engine;
  const entry = fileURLToPath(new URL('fixtures/hostile.ts', import.meta.url));
  const relay = fileURLToPath(new URL('../../../activities/sandbox/docker/relay/guest.ts', import.meta.url));
  const archive = await programImage({ tag: TAG, entry, relay });
  const HostConfig = { NetworkMode: 'none', Memory: 64 * 2 ** 20, PidsLimit: 64 };
  const home = await mkdtemp(join(tmpdir(), 'docker-guests-'));
  try {
    const guests = await hostileGuests(engine.settings, home, archive);
    const container = await guests.engine.createContainer({ Image: TAG, Cmd: ['silent'], HostConfig });
    await container.start().finally(() => container.remove({ force: true }));
    return { engine, guests };
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    await engine.stop();
    return {
      why: `the engine runs no containers: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

const TAG = 'steadfast/hostile:test';
const never = new AbortController().signal;

export const TEST_HOST = `tests-${process.pid}`;

async function hostileGuests(settings: EngineSettings, home: string, archive: ImageArchive) {
  const engine = await openEngine(settings);
  await rememberImage(home, TAG, await loadImage(engine, archive, TAG));
  const driverWith = (limits: ContainerLimits) =>
    createDockerDriver({ home, host: TEST_HOST, engine: settings, limits });
  const driver = driverWith({ ...CONTAINER_LIMITS, memoryMebibytes: 192 });
  const homes = [home];
  /** The driver of another stack with the same engine and images. */
  const another = async () => {
    const other = await mkdtemp(join(tmpdir(), 'docker-guests-'));
    homes.push(other);
    await cp(join(home, 'images.json'), join(other, 'images.json'));
    return createDockerDriver({ home: other, host: TEST_HOST, engine: settings });
  };
  const at = (engineSettings: EngineSettings, waitMs: number) =>
    createDockerDriver({ home, host: TEST_HOST, engine: engineSettings, waitMs });
  /** The driver of a worker on a host of its own, which may start some ahead. */
  const on = (host: string, warm?: WarmSettings, engineSettings: EngineSettings = settings) =>
    createDockerDriver({ home, host, engine: engineSettings, waitMs: 30_000, ...(warm && { warm }) });
  let count = 0;
  const spec = (args: readonly string[] = [], env = {}): ServerSpec => ({
    name: 'guest',
    container: { image: TAG, args, env },
    startTimeoutMs: args.length > 0 ? 2_000 : 30_000,
  });
  return {
    home,
    engine,
    driver,
    another,
    at,
    on,
    end: () => Promise.all(homes.map((folder) => rm(folder, { recursive: true, force: true }))),
    spec,
    name: () => {
      count += 1;
      return `sf-test-${process.pid}-${count}`;
    },
    async guest(servers: readonly ServerSpec[] = [spec()]): Promise<Sandbox> {
      const name = this.name();
      return driver.create({ name, servers, signal: never, labels: { key: 'a key' } });
    },
    call: (sandbox: Sandbox, tool: string, args = {}, timeoutMs = 60_000) =>
      sandbox.tools.call('guest', tool, args, { signal: never, timeoutMs }),
  };
}

export type HostileGuests = Awaited<ReturnType<typeof hostileGuests>>;
