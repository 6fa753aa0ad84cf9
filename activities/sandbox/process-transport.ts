/**
 * MCP over the standard streams of a program that runs in a process group of its own.
 *
 * The SDK's stdio transport ends one process and inherits our environment; a sandbox must end a whole group, pass
 * nothing on, and bound what it reads.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { JsonLines, writeLine } from './json-lines.js';
import { killNow } from './process-identity.js';

/** What is kept of standard error, for messages. */
const LAST_WORDS_BYTES = 2_000;

export interface ProgramSpec {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export class ProcessTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  private child: ChildProcess | undefined;
  private readonly lines = new JsonLines({
    message: (message) => this.onmessage?.(message),
    // It is no reason to lose a session.
    noise: (error) => this.onerror?.(error),
    tooMuch: (what) => {
      if (!this.child?.pid) return;
      this.words = what;
      killNow(-this.child.pid);
    },
  });
  private words = '';
  private closed = false;

  constructor(private readonly program: ProgramSpec) {}

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** How the program ended and the end of its standard error. */
  lastWords(): string {
    const code = this.child?.exitCode ?? this.child?.signalCode;
    return `${code === null || code === undefined ? '' : `(exit ${code}) `}${this.words.trim()}`;
  }

  /** Rejects when the program cannot be started, e.g. because there is no such file. */
  async start(): Promise<void> {
    const { file, args, env, cwd } = this.program;
    const child = spawn(file, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', (error) => this.onerror?.(error));
    child.on('close', () => this.end());
    // A write to a program that has just died: its end is reported by 'close'.
    child.stdin?.on('error', (error) => this.onerror?.(error));
    child.stdout?.on('data', (chunk: Buffer) => this.lines.read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => {
      this.words = (this.words + chunk.toString('utf8')).slice(-LAST_WORDS_BYTES);
      this.lines.count(chunk);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.child?.stdin;
    if (this.closed || !stdin?.writable) throw new Error('the program has ended');
    await writeLine(stdin, message);
  }

  /** Ends the whole group at once: a sandbox is thrown away, nothing of it is worth a farewell. */
  async close(): Promise<void> {
    const child = this.child;
    if (!child?.pid || this.closed) return this.end();
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    killNow(-child.pid);
    // A grandchild outside the group may hold the pipes open; the reaper ends it.
    child.stdout?.destroy();
    child.stderr?.destroy();
    await ended;
    this.end();
  }

  private end(): void {
    if (this.closed) return;
    this.closed = true;
    this.onclose?.();
  }
}
