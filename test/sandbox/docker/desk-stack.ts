/** A whole stack whose episodes of the desks run in containers of a Docker engine, and what is left of them there. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import pg from 'pg';
import { type SandboxVerification, verifySandboxes } from '../../../activities/ledger/verify-sandboxes.js';
import { type EngineSettings, openEngine } from '../../../activities/sandbox/docker/engine.js';
import { rememberImage } from '../../../activities/sandbox/docker/images.js';
import { openStack, type StackContext } from '../../../cli/context.js';
import { ISOLATIONS } from '../../../core/sandbox.js';
import { hostName } from '../../../infra/host-name.js';
import { loadImage } from '../../../infra/images/load.js';
import { programImage } from '../../../infra/images/node-image.js';
import { startStack } from '../../../infra/stack/start.js';
import { createDeskbench, stdioEntry } from '../../../suites/deskbench/suite.js';
import { sandboxDrivers } from '../../../workers/drivers.js';
import { workerIsAlive } from '../../../workers/sweep.js';
import { noOwnEngine, type OwnEngine, ownEngine } from './own-engine.js';

export interface DeskStack {
  readonly context: StackContext;
  readonly engine: Docker;
  readonly database: pg.Pool;
  /** `verify sandbox`. */
  verify(): Promise<SandboxVerification>;
  /** By the engine's and the system's own word. */
  left(): Promise<Left>;
  /** Ends connections; the stack is the caller's to end. */
  close(): Promise<void>;
}

export interface Left {
  readonly containers: readonly string[];
  /** Without those that every engine has. */
  readonly networks: readonly string[];
  readonly volumes: readonly string[];
  readonly folders: readonly string[];
}

const BUILT_IN: ReadonlySet<string> = new Set(['none', 'host', 'bridge']);

/** An engine of one's own that has the image, known in the home by its name; or why there is none that runs containers. */
export async function engineWithDesks(
  home: string,
): Promise<{ readonly engine: OwnEngine } | { readonly why: string }> {
  const none = noOwnEngine();
  if (none !== undefined) return { why: none };
  let engine: OwnEngine | undefined;
  try {
    engine = await ownEngine();
    await deskImage(await openEngine(engine.settings), home);
    return { engine };
  } catch (error) {
    await engine?.stop();
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** The stack of a home whose image is there. */
export async function startDeskStack(settings: EngineSettings, home: string): Promise<DeskStack> {
  const engine = await openEngine(settings);
  // Inherited by the workers, and read by the drivers of this process.
  if (settings.host) process.env.DOCKER_HOST = settings.host;
  process.env.STEADFAST_ISOLATION = 'docker';
  const context = openStack(await startStack({ home }));
  const database = new pg.Pool({ connectionString: context.info.databaseUrl, max: 2 });
  // A server that is being ended says so to idle connections.
  database.on('error', () => undefined);
  return {
    context,
    engine,
    database,
    verify: () => verifyStack(database, home),
    left: () => left(engine, home),
    async close() {
      await database.end();
      await context.close();
    },
  };
}

/** `verify sandbox`, of a stack whose workers have the environment of this process. */
export function verifyStack(database: pg.Pool, home: string): Promise<SandboxVerification> {
  const driver = sandboxDrivers(home);
  const living = async () =>
    (await Promise.all(ISOLATIONS.map((isolation) => driver(isolation).living()))).flat();
  return verifySandboxes({ pool: database, host: hostName(process.env), living, workerIsAlive });
}

/** Throws when nothing can be started from it. */
export async function deskImage(engine: Docker, home: string): Promise<void> {
  const [tag] = createDeskbench().images as readonly [string];
  const id = await loadImage(
    engine,
    await programImage({ tag, entry: stdioEntry(), snapshots: join(home, 'snapshots') }),
    tag,
  );
  await rememberImage(home, tag, id);
  const container = await engine.createContainer({ Image: id, HostConfig: { NetworkMode: 'none' } });
  await container.start().finally(() => container.remove({ force: true }));
}

export async function left(engine: Docker, home: string): Promise<Left> {
  const containers = await engine.listContainers({ all: true });
  const networks = await engine.listNetworks();
  const { Volumes } = await engine.listVolumes();
  const folders = await readdir(join(home, 'sandboxes')).catch(() => []);
  return {
    containers: containers.map(({ Names, Status }) => `${Names[0]} ${Status}`),
    networks: networks.map(({ Name }) => Name).filter((name) => !BUILT_IN.has(name)),
    volumes: (Volumes ?? []).map(({ Name }) => Name),
    folders,
  };
}
