/**
 * How a guest is locked in. Everything that a container does not need is taken away: network, capabilities, the
 * writable root, privileges to be gained, shared memory, a log on the host's disk.
 */
import type { ContainerCreateOptions } from 'dockerode';
import type { SandboxRequest, ServerSpec } from '../../../core/sandbox.js';
import { hostsOf } from './endpoints.js';
import type { ContainerLimits } from './limits.js';

/** Labels by which containers are found again, without a ledger too. */
export const LABELS = {
  sandbox: 'steadfast.sandbox',
  host: 'steadfast.host',
  home: 'steadfast.home',
  expires: 'steadfast.expires',
  worker: 'steadfast.worker',
} as const;

/** Nobody on any host: an id that no user has. */
const USER = '65532:65532';
const MEBIBYTE = 2 ** 20;

export interface Guest {
  readonly request: Pick<SandboxRequest, 'name' | 'expiresAt' | 'labels'>;
  readonly container: NonNullable<ServerSpec['container']>;
  /** Name of the container. */
  readonly name: string;
  /** By digest. */
  readonly image: string;
  /** The worker's host, which is not the engine's where that is remote. */
  readonly host: string;
  /** State folder of the stack. */
  readonly home: string;
  readonly limits: ContainerLimits;
  /** Another OCI runtime that the engine knows, e.g. `runsc`. */
  readonly runtime?: string | undefined;
}

export function containerOptions(guest: Guest): ContainerCreateOptions {
  const { container, limits, runtime } = guest;
  const memory = limits.memoryMebibytes * MEBIBYTE;
  const extraHosts = [...hostsOf(container.endpoints ?? [])];
  return {
    name: guest.name,
    Image: guest.image,
    Cmd: [...container.args],
    Env: Object.entries(container.env).map(([name, value]) => `${name}=${value}`),
    User: USER,
    WorkingDir: '/tmp',
    Hostname: 'sandbox',
    Labels: labels(guest),
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    StopSignal: 'SIGKILL',
    // The same loopback and nothing else as with NetworkMode none, but the engine does not start a program of its own in
    // every container to set up that nothing, which is half of what a start costs. Names of endpoints need it, though.
    NetworkDisabled: extraHosts.length === 0,
    HostConfig: {
      // Endpoints need no network either: endpoints.ts says how they are reached.
      NetworkMode: 'none',
      ExtraHosts: extraHosts,
      ReadonlyRootfs: true,
      Tmpfs: {
        '/tmp': `rw,noexec,nosuid,nodev,size=${limits.temporaryMebibytes}m,mode=1777`,
      },
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      IpcMode: 'none',
      Memory: memory,
      // The same: no swap at all.
      MemorySwap: memory,
      // The first to go when the host itself runs out.
      OomScoreAdj: 500,
      NanoCpus: Math.round(limits.cpus * 1e9),
      PidsLimit: limits.processes,
      Ulimits: [
        { Name: 'nofile', Soft: limits.openFiles, Hard: limits.openFiles },
        { Name: 'core', Soft: 0, Hard: 0 },
      ],
      // What it says is read from the attached stream; a copy on the host's disk could fill that.
      LogConfig: { Type: 'none', Config: {} },
      RestartPolicy: { Name: 'no' },
      // The engine would race our own removal.
      AutoRemove: false,
      ...(runtime === undefined ? {} : { Runtime: runtime }),
    },
  };
}

function labels({ request, host, home }: Guest): Record<string, string> {
  const given = Object.entries(request.labels ?? {}).map(([name, value]) => [`steadfast.${name}`, value]);
  return {
    ...Object.fromEntries(given),
    [LABELS.sandbox]: request.name,
    [LABELS.host]: host,
    [LABELS.home]: home,
    ...(request.expiresAt === undefined ? {} : { [LABELS.expires]: request.expiresAt }),
  };
}
