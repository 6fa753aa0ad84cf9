/**
 * A warm server: one program that has imported everything and forks a session of itself on request
 * (native/thinkingbox/warm.py says how the two talk). A session costs a fraction of a program of its own, and is as
 * much a process of its own: its group, limits, environment and folder.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { ServerSpec } from '../../core/sandbox.js';
import { SANDBOX_MARK } from './process-identity.js';

const LAST_WORDS = 2_000;
/** Room for the name of a sandbox in the environment that a session shows. */
const MARK_ROOM = 128;

export interface ForkRequest {
  /** Name of the sandbox: the mark of its processes. */
  readonly name: string;
  readonly cwd: string;
  /** Its home and temporary folder. */
  readonly home: string;
  /** File that its standard error goes to. */
  readonly stderr: string;
  readonly limits: Readonly<Record<string, number>>;
}

export interface Forked {
  /** Also the id of its process group. */
  readonly pid: number;
  /** Path of the Unix socket where it listens for one connection. */
  readonly socket: string;
  /** How it ended, once it has and its id may belong to another process. */
  how: string | undefined;
  readonly ended: Promise<void>;
}

interface Waiting {
  readonly resolve: (forked: Forked) => void;
  readonly reject: (error: Error) => void;
}

/** The program cannot be forked: it must be started anew for every session. */
export class UnfitToFork extends Error {
  override readonly name = 'UnfitToFork';
}

export class Nursery {
  /** Set once the program has said that it cannot be forked. */
  unfit: string | undefined;
  private child: ChildProcess | undefined;
  private words = '';
  private forks = 0;
  private readonly waiting = new Map<number, Waiting>();
  private readonly live = new Map<number, Forked & { readonly end: () => void }>();

  constructor(private readonly program: NonNullable<ServerSpec['warm']>) {}

  /** Starts the program first where it does not run. Rejects with `UnfitToFork`, or with why it ended. */
  fork(request: ForkRequest): Promise<Forked> {
    if (this.unfit !== undefined) return Promise.reject(new UnfitToFork(this.unfit));
    const child = this.running();
    this.forks += 1;
    const fork = this.forks;
    hold(child, true);
    return new Promise<Forked>((resolve, reject) => {
      this.waiting.set(fork, { resolve, reject });
      child.stdin?.write(`${JSON.stringify({ fork, ...request })}\n`);
    }).finally(() => {
      this.waiting.delete(fork);
      if (this.waiting.size === 0) hold(child, false);
    });
  }

  private running(): ChildProcess {
    if (this.child) return this.child;
    const { file, args, env } = this.program;
    const sockets = mkdtempSync(join(tmpdir(), 'sf-'));
    const child = spawn(file, args, {
      env: { ...env, STEADFAST_SOCKETS: sockets, [SANDBOX_MARK]: '_'.repeat(MARK_ROOM) },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child = child;
    this.words = '';
    child.stderr.on('data', (chunk: Buffer) => {
      this.words = (this.words + chunk.toString('utf8')).slice(-LAST_WORDS);
    });
    // A write to a program that has just died: its end is reported by 'close'.
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => this.line(line));
    child.on('error', (error) => this.lost(child, error.message));
    child.on('close', (code, signal) => {
      // One that ends with its host does this itself.
      rmSync(sockets, { recursive: true, force: true });
      this.lost(child, `it ended (${signal ?? `exit ${code}`})`);
    });
    return child;
  }

  private line(text: string): void {
    const line = JSON.parse(text) as {
      readonly unfit?: string;
      readonly fork?: number;
      readonly pid?: number;
      readonly socket?: string;
      readonly error?: string;
      readonly ended?: number;
      readonly how?: string;
    };
    if (line.unfit !== undefined) {
      this.unfit = line.unfit;
    } else if (line.ended !== undefined) {
      const forked = this.live.get(line.ended);
      this.live.delete(line.ended);
      if (forked) forked.how = line.how ?? 'ended';
      forked?.end();
    } else if (line.fork !== undefined) {
      const waiting = this.waiting.get(line.fork);
      if (line.pid === undefined || line.socket === undefined) {
        waiting?.reject(new Error(line.error ?? 'the warm server did not fork'));
        return;
      }
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const forked = { pid: line.pid, socket: line.socket, how: undefined, ended, end };
      this.live.set(forked.pid, forked);
      waiting?.resolve(forked);
    }
  }

  /** Its sessions die with it. */
  private lost(child: ChildProcess, message: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    const words = this.words.trim();
    const error =
      this.unfit === undefined
        ? new Error(words ? `${message}; its last words: ${words}` : message)
        : new UnfitToFork(this.unfit);
    for (const { reject } of this.waiting.values()) reject(error);
    for (const forked of this.live.values()) {
      forked.how = `its warm server: ${message}`;
      forked.end();
    }
    this.live.clear();
  }
}

/** One warm server for each program and environment, for as long as this process lives. */
export class Nurseries {
  private readonly byProgram = new Map<string, Nursery>();

  of(program: NonNullable<ServerSpec['warm']>): Nursery {
    const key = JSON.stringify([program.file, program.args, program.env]);
    const known = this.byProgram.get(key) ?? new Nursery(program);
    this.byProgram.set(key, known);
    return known;
  }
}

/** A warm server alone keeps no process of ours from ending; a request to it does. */
function hold(child: ChildProcess, held: boolean): void {
  const streams = [child.stdin, child.stdout, child.stderr] as (
    | ((Readable | Writable) & { ref?: () => void; unref?: () => void })
    | null
  )[];
  for (const each of [child, ...streams]) {
    if (held) each?.ref?.();
    else each?.unref?.();
  }
}
