/**
 * Driver `docker`: every server the main process of a container that is made for one try and removed after it
 * (container-options.ts says what it cannot do). Containers are found again by their labels.
 */
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import { withDeadline } from '../../../core/deadline.js';
import { asFault, Fault, UsageError } from '../../../core/faults.js';
import type {
  LivingSandbox,
  Sandbox,
  SandboxDriver,
  SandboxRequest,
  ServerSpec,
} from '../../../core/sandbox.js';
import { McpSession } from '../session.js';
import { containerOptions, LABELS } from './container-options.js';
import { requireApprovedEndpoints } from './endpoints.js';
import { type EngineSettings, noEngine, openEngine } from './engine.js';
import { builtImages, imageByDigest, relayCommand } from './images.js';
import { CONTAINER_LIMITS, type ContainerLimits } from './limits.js';
import { throughOutages } from './outage.js';
import { Relay } from './relay/host.js';
import { ContainerTransport } from './transport.js';

/**
 * How long an episode waits for its container: for an engine that is being started again, hangs, or is very busy. Too
 * low: an outage of minutes uses up the tries of attempts; too high: episodes hold their slots for nothing.
 */
const ENGINE_WAIT_MS = 5 * 60_000;
/** Sweeps and `verify` ask for what is there; they come back. */
const LOOK_MS = 30_000;
const REMOVE_MS = 12_000;

export interface DockerDriverOptions {
  /** State folder of this machine (`STEADFAST_HOME`), where the images that were built here are written down. */
  readonly home: string;
  readonly host: string;
  readonly engine: EngineSettings;
  readonly limits?: ContainerLimits;
  /** How long an episode waits for an engine that is not there, ms. */
  readonly waitMs?: number;
}

export function createDockerDriver(options: DockerDriverOptions): SandboxDriver {
  let opened: Promise<Docker> | undefined;
  const engine = () => {
    opened ??= openEngine(options.engine);
    return opened;
  };
  return {
    isolation: 'docker',
    create: async (request) => {
      const docker = await engine();
      const { waitMs = ENGINE_WAIT_MS } = options;
      const takeBack = () => reap(docker, request.name, options);
      return throughOutages(docker, { signal: request.signal, waitMs, takeBack }, () =>
        create(docker, request, options),
      );
    },
    reap: async (name) => reap(await engine(), name, options),
    living: () =>
      inTime('list of containers', async (signal) => {
        if (noEngine(options.engine)) return [];
        const found = await labelled(await engine(), `${LABELS.host}=${options.host}`, options.home, signal);
        const byName = new Map(found.map(({ sandbox }) => [sandbox.name, sandbox]));
        return [...byName.values()];
      }),
  };
}

function reap(docker: Docker, name: string, { home }: DockerDriverOptions): Promise<boolean> {
  return inTime(`end of sandbox ${name}`, async (signal) => {
    const found = await labelled(docker, `${LABELS.sandbox}=${name}`, home, signal);
    await Promise.all(found.map(({ container }) => remove(container)));
    return found.length > 0;
  });
}

async function create(
  docker: Docker,
  request: SandboxRequest,
  options: DockerDriverOptions,
): Promise<Sandbox> {
  const session = new McpSession();
  const creating: Promise<Container>[] = [];
  let gone = false;
  const release = async (): Promise<void> => {
    if (gone) return;
    await session.close();
    // One that is still being made must be there before it can be removed.
    const made = await Promise.allSettled(creating);
    await Promise.all(made.map((one) => (one.status === 'fulfilled' ? remove(one.value) : undefined)));
    gone = true;
  };
  try {
    const built = await builtImages(options.home);
    await Promise.all(
      request.servers.map(async (spec) => {
        const container = containerOf(spec);
        const image = imageOf(container.image, built);
        const guest = { request, container, image, name: nameOf(request, spec) };
        const { limits = CONTAINER_LIMITS, engine, host, home, waitMs = ENGINE_WAIT_MS } = options;
        const locked = containerOptions({ ...guest, host, home, limits, runtime: engine.runtime });
        const { endpoints = [] } = container;
        requireApprovedEndpoints(spec.name, endpoints, engine.endpoints ?? []);
        const command = endpoints.length === 0 ? undefined : await relayOf(docker, image, spec.name);
        const making = docker.createContainer(locked);
        creating.push(making);
        const clock = {
          ms: waitMs,
          what: `container of server "${spec.name}"`,
          kind: 'sandbox',
          code: 'engine_timeout',
        } as const;
        const made = await withDeadline(request.signal, clock, () => making).catch((error: unknown) => {
          throw request.signal.aborted ? error : engineFault(error, spec.name);
        });
        const startRelay =
          command && (() => Relay.start({ container: made, command, endpoints, signal: request.signal }));
        const transport = new ContainerTransport(docker, made, startRelay);
        await session.connect(
          spec.name,
          {
            transport,
            lastWords: () => transport.lastWords(),
            lostBy: () => transport.lostBy(),
            health: () => transport.health(),
            lines: true,
          },
          spec.startTimeoutMs,
          request.signal,
        );
      }),
    );
  } catch (error) {
    await cleared(release, request.name);
    throw error;
  }
  return { name: request.name, tools: session, release };
}

/** After a failed start. What is left when the engine does not answer is ended by label and expiry. */
async function cleared(release: () => Promise<void>, name: string): Promise<void> {
  const clock = { ms: REMOVE_MS, what: `removal of sandbox ${name}` };
  await withDeadline(new AbortController().signal, clock, release).catch(() => undefined);
}

function containerOf(spec: ServerSpec): NonNullable<ServerSpec['container']> {
  if (spec.container) return spec.container;
  const message = `server "${spec.name}" cannot run in a container: it has no \`container\``;
  throw new Fault('sandbox', message, { retry: false });
}

function imageOf(image: string, built: Readonly<Record<string, string>>): string {
  try {
    return imageByDigest(image, built);
  } catch (error) {
    throw asFault(
      error,
      'sandbox',
      error instanceof UsageError ? { retry: false, code: 'image_missing' } : {},
    );
  }
}

async function relayOf(docker: Docker, image: string, server: string): Promise<readonly string[]> {
  try {
    return await relayCommand(docker, image);
  } catch (error) {
    if (!(error instanceof UsageError)) throw engineFault(error, server);
    throw new Fault('sandbox', error.message, { cause: error, retry: false, code: 'image_missing' });
  }
}

function nameOf(request: SandboxRequest, spec: ServerSpec): string {
  if (request.servers.length === 1) return request.name;
  return `${request.name}.${spec.name.replaceAll(/[^\w.-]/g, '_')}`;
}

/** Typed by what the engine said. */
function engineFault(error: unknown, server: string): Fault {
  if (error instanceof Fault) return error;
  const {
    statusCode,
    code,
    message = String(error),
  } = error as {
    statusCode?: number;
    code?: string;
    message?: string;
  };
  const what = `container of server "${server}": ${message}`;
  if (statusCode === 404) {
    return new Fault('sandbox', what, { cause: error, code: 'image_missing', retry: false });
  }
  const unreachable = statusCode === undefined && code !== undefined;
  return new Fault('sandbox', what, {
    cause: error,
    code: unreachable ? 'engine_unreachable' : 'engine_error',
  });
}

async function labelled(docker: Docker, label: string, home: string, abortSignal: AbortSignal) {
  const found = await docker.listContainers({ all: true, filters: { label: [label] }, abortSignal });
  return found.map(({ Id, Labels }) => {
    const expiresAt = Labels[LABELS.expires];
    const sandbox: LivingSandbox = {
      name: Labels[LABELS.sandbox] ?? Id,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(Labels[LABELS.home] === home ? {} : { foreign: true }),
    };
    return { container: docker.getContainer(Id), sandbox };
  });
}

/** The client's calls have no clock of their own. */
function inTime<T>(what: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const clock = { ms: LOOK_MS, what, kind: 'sandbox', code: 'engine_timeout' } as const;
  return withDeadline(new AbortController().signal, clock, work);
}

/** Kills it and takes its file system away. Throws when the engine does not say that it is gone. */
async function remove(container: Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 404) return;
    // Somebody else removes it: wait until that is done.
    if (statusCode === 409) await container.wait({ condition: 'removed' }).catch(unlessGone);
    else throw error;
  }
}

function unlessGone(error: unknown): void {
  if ((error as { statusCode?: number }).statusCode !== 404) throw error;
}
