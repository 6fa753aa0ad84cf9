/**
 * Client of the ThinkingBox bridge: one Python process for a whole suite, started on first use and again after it
 * died. Many requests may be under way; a check asks its judge through us while it runs.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { z } from 'zod';
import { Fault } from '../../core/faults.js';
import { nativeFile } from './native.js';
import { type BridgeFailure, type BridgeQuestion, bridgeLine } from './protocol.js';

/** Kept of standard error, for messages. */
const LAST_WORDS = 2_000;

export interface BridgeSettings {
  readonly python: string;
  readonly dataDir: string;
  /** True: the servers may ask a Typesense, so that their search sources stay in the start state. */
  readonly search?: boolean;
  /** What is kept of a final state: the changes since the start, or all of it. */
  readonly states?: KeptStates;
  /** Environment of Python programs of this checkout. */
  readonly env: Readonly<Record<string, string>>;
}

export const KEPT_STATES = ['changes', 'whole'] as const;
export type KeptStates = (typeof KEPT_STATES)[number];

/** The bridge answered, and the answer is an error. */
export class BridgeError extends Error {
  override readonly name = 'BridgeError';
  constructor(readonly failure: BridgeFailure) {
    super(failure.message);
  }
}

/** The bridge itself broke: it could not start, died, or said something unreadable. */
export class BridgeLost extends Error {
  override readonly name = 'BridgeLost';
}

export interface BridgeRequest<T> {
  readonly op:
    | 'open'
    | 'list'
    | 'load'
    | 'opening'
    | 'effects'
    | 'grade'
    | 'find'
    | 'golden'
    | 'programs'
    | 'words'
    | 'user'
    | 'direct';
  readonly body: object;
  readonly reply: z.ZodType<T>;
  readonly signal: AbortSignal;
  /** Time that the bridge itself may take, waits for `answer` not counted. Then `Fault('deadline')`, and the bridge is replaced. */
  readonly timeoutMs: number;
  /** Answers one question of a check. Its rejection ends the check. */
  readonly answer?: (question: BridgeQuestion) => Promise<boolean | string>;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly ask: (question: BridgeQuestion) => void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class Bridge {
  private child: Child | undefined;
  private words = '';
  private last = 0;
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly settings: BridgeSettings) {}

  /** Throws `BridgeError`, `BridgeLost`, `Fault('deadline')`, or the signal's reason. */
  async request<T>({ op, body, reply, signal, timeoutMs, answer }: BridgeRequest<T>): Promise<T> {
    signal.throwIfAborted();
    const child = this.running();
    this.last += 1;
    const id = this.last;
    let timer: NodeJS.Timeout | undefined;
    const stopClock = (): void => clearTimeout(timer);
    let onAbort: (() => void) | undefined;
    try {
      const value = await new Promise<unknown>((resolve, reject) => {
        const startClock = (): void => {
          stopClock();
          timer = setTimeout(() => {
            const message = `the ThinkingBox bridge took longer than ${timeoutMs / 1000} s to ${op}`;
            reject(new Fault('deadline', message));
            // A Python thread cannot be ended: the whole process is, and what else it did is lost with it.
            this.lost(child, 'the ThinkingBox bridge was replaced: another request of it did not end');
            child.kill('SIGKILL');
          }, timeoutMs);
        };
        // Several threads of one check may ask at once: the clock stands while any of them waits for us.
        let asking = 0;
        const ask = (question: BridgeQuestion): void => {
          stopClock();
          asking += 1;
          (answer?.(question) ?? Promise.reject(new Error(`nobody answers questions of "${op}"`)))
            .then(
              (value) => this.send(child, { answer: question.ask, value }),
              (error: unknown) =>
                this.send(child, {
                  answer: question.ask,
                  refused: error instanceof Error ? error.message : String(error),
                }),
            )
            .finally(() => {
              asking -= 1;
              if (asking === 0 && this.pending.has(id)) startClock();
            });
        };
        onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        this.pending.set(id, { resolve, reject, ask });
        startClock();
        this.send(child, { ...body, id, op });
      });
      return this.read(op, reply, value);
    } finally {
      this.pending.delete(id);
      stopClock();
      if (onAbort) signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the process; pending requests fail as lost. */
  async close(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    child.kill('SIGKILL');
    await ended;
  }

  private read<T>(op: string, reply: z.ZodType<T>, value: unknown): T {
    const read = reply.safeParse(value);
    if (!read.success)
      throw new BridgeLost(`unreadable reply of the ThinkingBox bridge to "${op}": ${read.error.message}`);
    return read.data;
  }

  private running(): Child {
    if (this.child) return this.child;
    const { python, dataDir, env, search = false, states = 'changes' } = this.settings;
    const settings = {
      dataset: join(dataDir, 'dataset'),
      servers: join(dataDir, 'servers', 'servers.yaml'),
      search,
      states,
    };
    const args = ['-u', nativeFile('bridge.py'), JSON.stringify(settings)];
    // A group of its own: Ctrl-C at a terminal is ours to handle, and the end of its stdin ends it.
    const child = spawn(python, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child = child;
    this.words = '';
    child.stderr.on('data', (chunk: Buffer) => {
      this.words = (this.words + chunk.toString('utf8')).slice(-LAST_WORDS);
    });
    // A write to a process that has just died: its end is reported by 'close'.
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) =>
      this.line(child, line),
    );
    child.on('error', (error) => this.lost(child, `cannot start ${python}: ${error.message}`));
    child.on('close', (code, signal) => this.lost(child, `the ThinkingBox bridge ended (${signal ?? code})`));
    return child;
  }

  private lost(child: Child, message: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    const words = this.words.trim();
    const error = new BridgeLost(words ? `${message}; its last words: ${words}` : message);
    for (const waiting of [...this.pending.values()]) waiting.reject(error);
  }

  private send(child: Child, message: object): void {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private line(child: Child, text: string): void {
    const read = bridgeLine.safeParse(parse(text));
    if (!read.success) {
      this.words += `\nunreadable line: ${text.slice(0, 200)}`;
      child.kill('SIGKILL');
      return;
    }
    const line = read.data;
    if ('ask' in line) this.pending.get(line.for)?.ask(line);
    else if ('error' in line) this.pending.get(line.id)?.reject(new BridgeError(line.error));
    else this.pending.get(line.id)?.resolve(line.ok);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller refuses it with the text
  }
}
