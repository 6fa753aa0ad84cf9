/** MCP over the Unix socket of a session that a warm server forked. */
import { readFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { JsonLines, writeLine } from './json-lines.js';
import type { Forked, ForkRequest, Nursery } from './nursery.js';
import { killNow } from './process-identity.js';

const LAST_WORDS = 2_000;

export class ForkedTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  private forking: Promise<Forked> | undefined;
  private forked: Forked | undefined;
  private socket: Socket | undefined;
  private words = '';
  private closed = false;
  private readonly lines = new JsonLines({
    message: (message) => this.onmessage?.(message),
    noise: (error) => this.onerror?.(error),
    tooMuch: (what) => {
      this.words = what;
      this.kill();
    },
  });

  constructor(
    private readonly nursery: Nursery,
    private readonly request: ForkRequest,
  ) {}

  get pid(): number | undefined {
    return this.forked?.pid;
  }

  /** How the session ended and the end of its standard error. */
  lastWords(): string {
    const how = this.forked?.how;
    return `${how === undefined ? '' : `(${how}) `}${this.words.trim()}`;
  }

  /** Rejects with `UnfitToFork`, with why the warm server ended, or when the session does not take the connection. */
  async start(): Promise<void> {
    this.forking = this.nursery.fork(this.request);
    const forked = await this.forking;
    this.forked = forked;
    if (this.closed) return this.kill();
    void forked.ended.then(() => this.end());
    const socket = createConnection(forked.socket);
    this.socket = socket;
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('data', (chunk: Buffer) => this.lines.read(chunk));
    socket.on('error', (error) => this.onerror?.(error));
    socket.on('close', () => void this.end());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { socket } = this;
    if (this.closed || !socket?.writable) throw new Error('the session has ended');
    await writeLine(socket, message);
  }

  /** Ends the whole group at once, and waits until its first process is gone. */
  async close(): Promise<void> {
    this.closed = true;
    // A fork that is under way comes to an end of its own, or with its warm server.
    const forked = this.forked ?? (await this.forking?.catch(() => undefined));
    if (!forked) return;
    this.forked = forked;
    this.kill();
    await forked.ended;
    this.socket?.destroy();
    this.onclose?.();
  }

  private kill(): void {
    const { forked } = this;
    // Once it has ended, its id may be another's.
    if (forked && forked.how === undefined) killNow(-forked.pid);
  }

  private async end(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    const said = await readFile(this.request.stderr, 'utf8').catch(() => '');
    this.words = `${this.words}\n${said}`.slice(-LAST_WORDS);
    this.socket?.destroy();
    this.onclose?.();
  }
}
