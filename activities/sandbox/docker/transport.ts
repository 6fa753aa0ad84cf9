/** MCP over the standard streams of a container's main process, as the engine hands them over. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type Docker from 'dockerode';
import type { Container } from 'dockerode';
import { JsonLines, writeLine } from '../json-lines.js';
import type { LostBy } from '../session.js';
import { Frames } from './frames.js';
import type { Relay } from './relay/host.js';

const LAST_WORDS_BYTES = 2_000;
/** Exit code of what SIGKILL has ended. */
const KILLED = 137;
/** How long the engine may take to say how a container ended; then only that it ended is known. */
const POST_MORTEM_MS = 5_000;
/** Longer than any episode; the engine itself keeps only its last few hundred events. */
const EVENTS_MS = 24 * 60 * 60_000;
/**
 * What the kernel has done is an event a moment later. Too low, on a busy machine: a process killed for memory is taken
 * for a failure of the tool; too high: every failed call takes so long.
 */
const EVENT_DELAY_MS = 500;

export class ContainerTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** When it ends by itself: at once, where `onclose` waits for the reason. */
  onEnd?: () => void;
  private starting: Promise<void> | undefined;
  private stream: NodeJS.ReadWriteStream | undefined;
  private words = '';
  private how = '';
  private by: LostBy | undefined;
  private ending: Promise<void> | undefined;
  private relay: Relay | undefined;
  private readonly lines = new JsonLines({
    message: (message) => this.onmessage?.(message),
    noise: (error) => this.onerror?.(error),
    tooMuch: (what) => {
      this.by = 'output_limit';
      this.words = what;
      this.cut();
    },
  });
  private readonly frames = new Frames({
    stdout: (part) => this.lines.read(part),
    stderr: (part) => {
      this.words = (this.words + part.toString('utf8')).slice(-LAST_WORDS_BYTES);
      this.lines.count(part);
    },
  });

  constructor(
    private readonly engine: Docker,
    private readonly container: Container,
    /** For a container that has endpoints. */
    private readonly startRelay?: () => Promise<Relay>,
  ) {}

  lastWords(): string {
    return `${this.how}${this.words.trim()}`;
  }

  lostBy(): LostBy | undefined {
    return this.by;
  }

  /** True until it is known that it has ended. */
  get living(): boolean {
    return this.ending === undefined;
  }

  /**
   * Attaches, then starts: nothing that the process says is missed. Rejects with what the engine says. May be called
   * ahead of the session, which calls it again.
   */
  start(): Promise<void> {
    this.starting ??= this.open();
    return this.starting;
  }

  private async open(): Promise<void> {
    const all = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
    const stream = await this.container.attach(all);
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => this.read(chunk));
    stream.on('error', (error: Error) => this.onerror?.(error));
    stream.on('end', () => void this.end());
    stream.on('close', () => void this.end());
    await this.container.start();
    if (!this.startRelay) return;
    this.relay = await this.startRelay();
    if (this.ending) this.relay.close();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stream } = this;
    if (this.ending || !stream?.writable) throw new Error('the container has ended');
    await writeLine(stream, message);
  }

  /** Lets go of the streams; the driver removes the container, whatever it is doing. */
  async close(): Promise<void> {
    const ended = this.ending !== undefined;
    this.ending ??= Promise.resolve();
    this.relay?.close();
    destroy(this.stream);
    if (!ended) this.onclose?.();
  }

  /** What the engine thinks of it, in words, when it does not run as it should. */
  async health(): Promise<string | undefined> {
    const { State } = await this.container.inspect();
    if (State.OOMKilled || (await this.killedInside())) {
      this.by = 'out_of_memory';
      return 'it ran out of memory';
    }
    return State.Running ? this.relay?.wrong : `it does not run (exit ${State.ExitCode})`;
  }

  /** Whether one of its processes was killed for memory while the first one goes on: only an event tells that. */
  private async killedInside(): Promise<boolean> {
    const filters = { container: [this.container.id], event: ['oom'] };
    // By the engine's clock: with the worker's it would hear too little where that is behind, and wait where it is ahead.
    const { SystemTime } = (await this.engine.info()) as { readonly SystemTime: string };
    const until = Date.parse(SystemTime) + EVENT_DELAY_MS;
    const range = { since: (until - EVENTS_MS) / 1_000, until: until / 1_000 };
    const events = await this.engine.getEvents({ ...range, filters });
    for await (const event of events) if (event.length > 0) return true;
    return false;
  }

  private read(chunk: Buffer): void {
    if (this.ending) return;
    try {
      this.frames.read(chunk);
    } catch (error) {
      this.onerror?.(error as Error);
      this.cut();
    }
  }

  private cut(): void {
    destroy(this.stream);
    void this.end();
  }

  private end(): Promise<void> {
    if (!this.ending) {
      this.ending = this.postMortem().then(() => this.onclose?.());
      this.onEnd?.();
    }
    return this.ending;
  }

  private async postMortem(): Promise<void> {
    if (this.by !== undefined) return;
    try {
      const signal = AbortSignal.timeout(POST_MORTEM_MS);
      // The stream ends a moment before the engine has written down why.
      await this.container.wait({ abortSignal: signal });
      const { State } = await this.container.inspect({ abortSignal: signal });
      if (State.OOMKilled) this.by = 'out_of_memory';
      // Nothing inside can kill the first process of a container in that way.
      else if (State.ExitCode === KILLED) this.by = 'killed';
      this.how = State.OOMKilled ? '(killed: out of memory) ' : `(exit ${State.ExitCode}) `;
    } catch (error) {
      const { statusCode } = error as { statusCode?: number };
      // No answer at all, which a guest cannot bring about: the engine has ended, or hangs, and what it held with it.
      if (statusCode === undefined) this.by = 'engine_lost';
      this.how = `(how it ended is not known: ${error instanceof Error ? error.message : String(error)}) `;
    }
  }
}

function destroy(stream: NodeJS.ReadWriteStream | undefined): void {
  (stream as { destroy?: () => void } | undefined)?.destroy?.();
}
