/**
 * Driver `docker`: every server the main process of a container that is made for one try and removed after it
 * (container-options.ts says what it cannot do). Containers are found again by their labels.
 */
import type Docker from 'dockerode';
import { withDeadline } from '../../../core/deadline.js';
import { Fault } from '../../../core/faults.js';
import type { LivingSandbox, Sandbox, SandboxDriver, SandboxRequest } from '../../../core/sandbox.js';
import { McpSession } from '../session.js';
import { WarmPool, type WarmSettings } from '../warm/pool.js';
import { Warm } from '../warm/warm.js';
import { LABELS } from './container-options.js';
import { noEngine, openEngine } from './engine.js';
import { type GuestParts, type GuestSettings, Guests, kindOf } from './guests.js';
import { builtImages } from './images.js';
import { throughOutages } from './outage.js';
import { remove } from './removal.js';

/**
 * How long an episode waits for its container: for an engine that is being started again, hangs, or is very busy. Too
 * low: an outage of minutes uses up the tries of attempts; too high: episodes hold their slots for nothing.
 */
const ENGINE_WAIT_MS = 5 * 60_000;
/** Sweeps and `verify` ask for what is there; they come back. */
const LOOK_MS = 30_000;
const REMOVE_MS = 12_000;

export interface DockerDriverOptions extends GuestSettings {
  /** How long an episode waits for an engine that is not there, ms. */
  readonly waitMs?: number;
  /** Absent: every container is started when it is needed. */
  readonly warm?: WarmSettings;
}

export function createDockerDriver(options: DockerDriverOptions): SandboxDriver {
  let opened: Promise<Docker> | undefined;
  const engine = () => {
    opened ??= openEngine(options.engine);
    return opened;
  };
  const { waitMs = ENGINE_WAIT_MS } = options;
  const partsOf = async (request: GuestParts['request']): Promise<GuestParts> => {
    const built = await builtImages(options.home);
    return { docker: await engine(), request, settings: options, built, waitMs };
  };
  const pool =
    options.warm &&
    new WarmPool('docker', options.warm, async (ahead) => {
      const { signal } = new AbortController();
      const guests = new Guests(await partsOf({ ...ahead, signal }));
      try {
        await guests.start();
      } catch (error) {
        await cleared(() => guests.release(), ahead.name);
        throw error;
      }
      return guests;
    });
  const anew = async (request: SandboxRequest): Promise<Sandbox> => {
    const parts = await partsOf(request);
    const { docker } = parts;
    const takeBack = () => reap(docker, request.name, options);
    const starting = () => connected(new Guests(parts), request);
    const start = () => throughOutages(docker, { signal: request.signal, waitMs, takeBack }, starting);
    return pool ? pool.waited(kindOf(request.servers, options, parts.built), start) : start();
  };
  return {
    isolation: 'docker',
    create: async (request) => {
      const { warm } = request;
      if (!(warm instanceof Warm)) return anew(request);
      try {
        return await connected(warm.use() as Guests, request);
      } catch (error) {
        if (request.signal.aborted || !diedWaiting(error)) throw error;
        pool?.wasDead();
        return anew(request);
      }
    },
    ...(pool && {
      take: async ({ servers, expiresAt }) => {
        const built = await builtImages(options.home);
        return pool.take(kindOf(servers, options, built), servers, expiresAt);
      },
      close: () => pool.close(),
    }),
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

/** It was never spoken to: nothing that it might have done is lost with it. */
function diedWaiting(error: unknown): boolean {
  return error instanceof Fault && ['start_failed', 'killed', 'engine_lost'].includes(error.code ?? '');
}

/** The session over the containers of a sandbox; takes them away when it cannot be had. */
async function connected(guests: Guests, request: SandboxRequest): Promise<Sandbox> {
  const session = new McpSession();
  const release = async (): Promise<void> => {
    await session.close();
    await guests.release();
  };
  try {
    await Promise.all(
      request.servers.map(async (spec) => {
        const transport = await guests.guest(spec);
        const link = {
          transport,
          lastWords: () => transport.lastWords(),
          lostBy: () => transport.lostBy(),
          health: () => transport.health(),
          lines: true,
        };
        await session.connect(spec.name, link, spec.startTimeoutMs, request.signal);
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

async function labelled(docker: Docker, label: string, home: string, abortSignal: AbortSignal) {
  const found = await docker.listContainers({ all: true, filters: { label: [label] }, abortSignal });
  return found.map(({ Id, Labels }) => {
    const [expiresAt, worker] = [Labels[LABELS.expires], Labels[LABELS.worker]];
    const sandbox: LivingSandbox = {
      name: Labels[LABELS.sandbox] ?? Id,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(worker === undefined ? {} : { worker }),
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
