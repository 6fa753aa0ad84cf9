/** The engine that this worker uses: where it is, and whether it can be used at all. */
import { existsSync } from 'node:fs';
import type Docker from 'dockerode';
import { UsageError } from '../../../core/faults.js';
import { approvedEndpoints } from './endpoints.js';

/** Docker 20.10, of 2020: `CgroupnsMode` and what follows from it. */
const LEAST_API = [1, 41] as const;
const CHECK_MS = 10_000;
const USUAL_SOCKET = '/var/run/docker.sock';

export interface EngineSettings {
  /** As in `DOCKER_HOST`: `unix:///var/run/docker.sock`, `tcp://host:2376`; undefined: the usual socket. */
  readonly host?: string | undefined;
  /** Another OCI runtime, e.g. `runsc`; the engine's own when undefined. */
  readonly runtime?: string | undefined;
  /** What containers may reach, `host:port`, by the operator's word; nothing when absent. */
  readonly endpoints?: readonly string[];
}

/** `DOCKER_HOST`, `STEADFAST_DOCKER_RUNTIME` and `STEADFAST_ENDPOINTS`. Throws `UsageError` for what is no endpoint. */
export function engineSettings(env: NodeJS.ProcessEnv): EngineSettings {
  return {
    host: env.DOCKER_HOST || undefined,
    runtime: env.STEADFAST_DOCKER_RUNTIME || undefined,
    endpoints: approvedEndpoints(env.STEADFAST_ENDPOINTS),
  };
}

/** True where there is not even a socket: then there are no containers of ours either. */
export function noEngine({ host }: EngineSettings): boolean {
  if (host !== undefined && !host.startsWith('unix://')) return false;
  return !existsSync(host?.slice('unix://'.length) ?? USUAL_SOCKET);
}

/** Loads the client, which is not small, only where it is needed. Throws `UsageError` for an address of another form. */
export async function openEngine({ host }: EngineSettings): Promise<Docker> {
  const { default: Client } = await import('dockerode');
  if (host === undefined) return new Client({ socketPath: USUAL_SOCKET });
  if (host.startsWith('unix://')) return new Client({ socketPath: host.slice('unix://'.length) });
  if (/^(tcp|https?|ssh):\/\//.test(host) && URL.canParse(host)) return atVariable(host, () => new Client());
  throw new UsageError('DOCKER_HOST', 'unix://PATH, tcp://HOST:PORT or ssh://HOST', `"${host}"`);
}

/**
 * The client takes an address with certificates and all from the variable alone; and the stack's may be another than
 * this shell's.
 */
function atVariable<T>(host: string, make: () => T): T {
  const { DOCKER_HOST } = process.env;
  process.env.DOCKER_HOST = host;
  try {
    return make();
  } finally {
    if (DOCKER_HOST === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = DOCKER_HOST;
  }
}

/** Throws `UsageError`: no engine, one that is too old or of another system, or one without the runtime. */
export async function checkEngine(docker: Docker, { host, runtime }: EngineSettings): Promise<void> {
  const place = `Docker engine at ${host ?? `unix://${USUAL_SOCKET}`}`;
  let found: { readonly version: Docker.DockerVersion; readonly runtimes: readonly string[] };
  try {
    found = await look(docker, AbortSignal.timeout(CHECK_MS));
  } catch (error) {
    throw new UsageError(
      place,
      'one that answers',
      error instanceof Error ? error.message : String(error),
      'Start it (Debian: apt install docker.io), set DOCKER_HOST, or use a suite that needs no containers.',
    );
  }
  const { version, runtimes } = found;
  if (!atLeast(version.ApiVersion)) {
    const least = `API ${LEAST_API.join('.')} or newer (Docker 20.10)`;
    throw new UsageError(place, least, `API ${version.ApiVersion} (Docker ${version.Version})`);
  }
  if (version.Os !== 'linux') throw new UsageError(place, 'Linux containers', version.Os);
  if (runtime !== undefined && !runtimes.includes(runtime)) {
    const known = runtimes.join(', ');
    throw new UsageError('STEADFAST_DOCKER_RUNTIME', `a runtime of the engine: ${known}`, `"${runtime}"`);
  }
}

/** What its containers share. */
export async function engineMachine(
  docker: Docker,
): Promise<{ readonly memoryBytes: number; readonly cpus: number }> {
  const { MemTotal, NCPU } = (await docker.info()) as { readonly MemTotal: number; readonly NCPU: number };
  return { memoryBytes: MemTotal, cpus: NCPU };
}

/** The client takes a signal for every call; its types know of some. */
type WithSignal = Readonly<
  Record<'version' | 'info', (options: { readonly abortSignal: AbortSignal }) => Promise<unknown>>
>;

async function look(docker: Docker, abortSignal: AbortSignal) {
  const asked = docker as unknown as WithSignal;
  const version = (await asked.version({ abortSignal })) as Docker.DockerVersion;
  const info = (await asked.info({ abortSignal })) as {
    readonly Runtimes?: Readonly<Record<string, unknown>>;
  };
  return { version, runtimes: Object.keys(info.Runtimes ?? {}) };
}

function atLeast(api: string): boolean {
  const [major = 0, minor = 0] = api.split('.').map(Number);
  return major > LEAST_API[0] || (major === LEAST_API[0] && minor >= LEAST_API[1]);
}
