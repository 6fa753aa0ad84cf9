/** The containers of one sandbox: made and attached, not yet spoken to; and taken away together. */
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import { withDeadline } from '../../../core/deadline.js';
import { asFault, Fault, UsageError } from '../../../core/faults.js';
import type { SandboxRequest, ServerSpec } from '../../../core/sandbox.js';
import type { Startable } from '../warm/warm.js';
import { containerOptions } from './container-options.js';
import { requireApprovedEndpoints } from './endpoints.js';
import type { EngineSettings } from './engine.js';
import { type BuiltImages, imageByDigest, relayCommand } from './images.js';
import { CONTAINER_LIMITS, type ContainerLimits } from './limits.js';
import { Relay } from './relay/host.js';
import { remove } from './removal.js';
import { ContainerTransport } from './transport.js';

export interface GuestSettings {
  /** State folder of this machine (`STEADFAST_HOME`), where the images that were built here are written down. */
  readonly home: string;
  readonly host: string;
  readonly engine: EngineSettings;
  readonly limits?: ContainerLimits;
}

export interface GuestParts {
  readonly docker: Docker;
  readonly request: Pick<SandboxRequest, 'name' | 'servers' | 'signal' | 'expiresAt' | 'labels'>;
  readonly settings: GuestSettings;
  readonly built: BuiltImages;
  /** How long the engine may take to make one container, ms. */
  readonly waitMs: number;
}

export class Guests implements Startable {
  onEnd: (() => void) | undefined;
  private readonly transports = new Map<string, ContainerTransport>();
  private readonly creating: Promise<Container>[] = [];
  private gone = false;

  constructor(private readonly parts: GuestParts) {}

  get living(): boolean {
    return [...this.transports.values()].every((transport) => transport.living);
  }

  /** The attached, perhaps not yet started container of one server. Throws `Fault('sandbox')`. */
  async guest(spec: ServerSpec): Promise<ContainerTransport> {
    const known = this.transports.get(spec.name);
    if (known) return known;
    const { docker, request, settings, waitMs } = this.parts;
    const locked = optionsOf(spec, this.parts);
    const { endpoints = [] } = containerOf(spec);
    requireApprovedEndpoints(spec.name, endpoints, settings.engine.endpoints ?? []);
    const command = endpoints.length === 0 ? undefined : await relayOf(docker, locked.Image ?? '', spec.name);
    const making = docker.createContainer(locked);
    this.creating.push(making);
    const clock = {
      ms: waitMs,
      what: `container of server "${spec.name}"`,
      kind: 'sandbox',
      code: 'engine_timeout',
    } as const;
    const { signal } = request;
    const made = await withDeadline(signal, clock, () => making).catch((error: unknown) => {
      throw signal.aborted ? error : engineFault(error, spec.name);
    });
    const startRelay = command && (() => Relay.start({ container: made, command, endpoints, signal }));
    const transport = new ContainerTransport(docker, made, startRelay);
    transport.onEnd = () => this.onEnd?.();
    this.transports.set(spec.name, transport);
    return transport;
  }

  /** All of them, running. What it throws leaves containers behind: release them. */
  async start(): Promise<void> {
    await Promise.all(this.parts.request.servers.map(async (spec) => (await this.guest(spec)).start()));
  }

  /** Throws when one may still be there. */
  async release(): Promise<void> {
    if (this.gone) return;
    this.onEnd = undefined;
    await Promise.all([...this.transports.values()].map((transport) => transport.close()));
    // One that is still being made must be there before it can be removed.
    const made = await Promise.allSettled(this.creating);
    await Promise.all(made.map((one) => (one.status === 'fulfilled' ? remove(one.value) : undefined)));
    this.gone = true;
  }
}

/** What the sandbox is made of, without what is one try's own: what is the same here can stand in for each other. */
export function kindOf(servers: readonly ServerSpec[], settings: GuestSettings, built: BuiltImages): string {
  const request = { name: '', servers };
  const parts = servers.map((spec) => {
    // Where an endpoint leads is nothing that the container itself knows.
    const { endpoints = [] } = containerOf(spec);
    return [spec.name, optionsOf(spec, { request, settings, built }), endpoints];
  });
  return JSON.stringify(parts);
}

function optionsOf(
  spec: ServerSpec,
  {
    request,
    settings,
    built,
  }: Pick<GuestParts, 'settings' | 'built'> & {
    readonly request: Pick<SandboxRequest, 'name' | 'servers' | 'expiresAt' | 'labels'>;
  },
): Docker.ContainerCreateOptions {
  const container = containerOf(spec);
  const image = imageOf(container.image, built);
  const { limits = CONTAINER_LIMITS, engine, host, home } = settings;
  const name = nameOf(request, spec);
  return containerOptions({ request, container, image, name, host, home, limits, runtime: engine.runtime });
}

function containerOf(spec: ServerSpec): NonNullable<ServerSpec['container']> {
  if (spec.container) return spec.container;
  const message = `server "${spec.name}" cannot run in a container: it has no \`container\``;
  throw new Fault('sandbox', message, { retry: false });
}

function imageOf(image: string, built: BuiltImages): string {
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

function nameOf(request: Pick<SandboxRequest, 'name' | 'servers'>, spec: ServerSpec): string {
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
