/**
 * The worker's side of a relay: makes the connections that a container asks for, to its endpoints and nowhere else.
 * What comes from the container is a guest's word: every frame is checked, and everything has a bound.
 */
import { lookup } from 'node:dns';
import { type LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Container } from 'dockerode';
import { withDeadline } from '../../../../core/deadline.js';
import { Fault } from '../../../../core/faults.js';
import type { Endpoint } from '../../../../core/sandbox.js';
import { addressOf, insideAddress, isMetadata } from '../endpoints.js';
import { Frames } from '../frames.js';
import { Connections } from './connections.js';
import { KINDS, type Kind, RelayFrames } from './frames.js';

const START_MS = 30_000;
const CONNECT_MS = 10_000;
/** At one time, and in the life of a container: a guest must not use up the worker's ports. */
const MAX_OPEN = 32;
const MAX_OPENED = 2_000;
/** From the container to all its endpoints. */
const MAX_SAID_BYTES = 256 * 1024 * 1024;
const LAST_WORDS_BYTES = 500;

export interface RelayParts {
  readonly container: Container;
  /** The relay's program in the image. */
  readonly command: readonly string[];
  readonly endpoints: readonly Endpoint[];
  readonly signal: AbortSignal;
}

export class Relay {
  /** Why the container cannot reach its endpoints as it should; the sandbox is unhealthy then. */
  wrong: string | undefined;
  private readonly connections: Connections;
  private readonly frames = new RelayFrames((kind, connection, content) =>
    this.frame(kind, connection, content),
  );
  private opened = 0;
  private said = 0;
  private words = '';
  private closed = false;
  private ready = (): void => undefined;
  private lost = (_error: Error): void => undefined;

  private constructor(
    private readonly stream: Duplex,
    private readonly endpoints: readonly Endpoint[],
  ) {
    this.connections = new Connections(stream);
  }

  /** Starts the relay's program beside the server and waits until it listens. Throws `Fault('sandbox')`. */
  static async start({ container, command, endpoints, signal }: RelayParts): Promise<Relay> {
    const clock = {
      ms: START_MS,
      what: 'start of the relay',
      kind: 'sandbox',
      code: 'start_timeout',
    } as const;
    return withDeadline(signal, clock, async () => {
      const listen = endpoints.map((endpoint) => `${insideAddress(endpoint, endpoints)}:${endpoint.port}`);
      const exec = await container.exec({
        Cmd: [...command, ...listen],
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
      });
      const stream = await exec.start({ hijack: true, stdin: true });
      const relay = new Relay(stream, endpoints);
      await relay.listens();
      return relay;
    });
  }

  close(): void {
    this.closed = true;
    this.connections.destroy();
    this.stream.destroy();
  }

  private listens(): Promise<void> {
    const said = new Frames({
      stdout: (part) => {
        // Heads too: frames without content are not free.
        this.count(part.length);
        if (!this.closed) this.frames.read(part);
      },
      stderr: (part) => {
        this.words = (this.words + part.toString('utf8')).slice(-LAST_WORDS_BYTES);
        this.count(part.length);
      },
    });
    return new Promise<void>((resolve, reject) => {
      this.ready = resolve;
      this.lost = (error) =>
        reject(new Fault('sandbox', `the relay: ${error.message}`, { code: 'start_failed' }));
      this.stream.on('data', (chunk: Buffer) => {
        if (this.closed) return;
        try {
          said.read(chunk);
        } catch (error) {
          this.cut((error as Error).message);
        }
      });
      this.stream.on('error', (error) => this.cut(error.message));
      for (const event of ['end', 'close']) this.stream.on(event, () => this.cut('it ended'));
    });
  }

  private frame(kind: Kind, connection: number, content: Buffer): void {
    if (this.closed) return;
    if (kind === KINDS.ready) this.ready();
    else if (kind !== KINDS.open) this.connections.take(kind, connection, content);
    else if (!this.connections.has(connection)) this.open(connection, content[0]);
  }

  private open(connection: number, index: number | undefined): void {
    const endpoint = this.endpoints[index ?? -1];
    this.opened += 1;
    if (this.opened > MAX_OPENED) this.cut(`more than ${MAX_OPENED} connections`);
    else if (!endpoint || this.connections.size >= MAX_OPEN) this.connections.refuse(connection);
    else {
      const socket = new Socket({ allowHalfOpen: true });
      this.connections.add(connection, socket);
      void this.reach(socket, endpoint);
    }
  }

  /** Whatever keeps the worker from an endpoint is no doing of the agent's. */
  private async reach(socket: Socket, { address }: Endpoint): Promise<void> {
    try {
      await connected(socket, address);
    } catch (error) {
      if (!this.closed) this.wrong ??= `${address} cannot be reached: ${(error as Error).message}`;
      socket.destroy();
    }
  }

  private count(bytes: number): void {
    this.said += bytes;
    if (this.said > MAX_SAID_BYTES) this.cut(`more than ${MAX_SAID_BYTES} bytes to its endpoints`);
  }

  private cut(why: string): void {
    if (this.closed) return;
    const words = this.words.trim();
    this.wrong = `its relay: ${why}${words === '' ? '' : `; its last words: ${words}`}`;
    this.lost(new Error(this.wrong));
    this.close();
  }
}

/**
 * Begins at once, so that what is written meanwhile waits. Rejects with why not; never connects to a metadata service,
 * whatever a name leads to.
 */
export function connected(socket: Socket, text: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const address = addressOf(text);
    if (!address) throw new Error(`"${text}" is no address`);
    if (isMetadata(address.host)) throw new Error('it is a metadata service');
    socket.setTimeout(CONNECT_MS, () => reject(new Error(`no answer within ${CONNECT_MS / 1_000} s`)));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.connect({ ...address, lookup: lookupElsewhere }, () => {
      socket.setTimeout(0);
      resolve();
    });
  });
}

const lookupElsewhere: LookupFunction = (name, options, callback) => {
  lookup(name, options, (error, address, family) => {
    const all = typeof address === 'string' ? [address] : (address ?? []).map((one) => one.address);
    const wrong = all.find(isMetadata);
    const refused = wrong === undefined ? error : new Error(`it leads to ${wrong}, a metadata service`);
    callback(refused, address, family);
  });
};
