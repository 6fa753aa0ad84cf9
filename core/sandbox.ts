/**
 * A sandbox: the fresh, isolated backend of one try, reached over MCP.
 * Identity comes first: its name is in the ledger as `intended` before anything is created.
 */
import type { JsonObject, ToolSpec } from './message.js';

/** From weakest to strongest. A suite names the least it needs; the operator may demand more, never less. */
export const ISOLATIONS = ['inline', 'process', 'docker'] as const;
export type Isolation = (typeof ISOLATIONS)[number];

export function stronger(a: Isolation, b: Isolation): Isolation {
  return ISOLATIONS.indexOf(a) < ISOLATIONS.indexOf(b) ? b : a;
}

/** One service that a container may reach: under a name of its own, wherever it really is. */
export interface Endpoint {
  /** Host name that leads there inside the container. */
  readonly name: string;
  /** The same inside as outside. */
  readonly port: number;
  /** Where the worker connects to, `host:port`; this is what an operator approves. */
  readonly address: string;
}

/** How to start one MCP server. A driver takes the form that it understands. */
export interface ServerSpec {
  readonly name: string;
  /** `inline`: an MCP server object over the linked in-memory transport; returns the client-side transport. */
  readonly inline?: () => Promise<unknown>;
  /** `process`: a program that speaks MCP on stdio. */
  readonly command?: {
    readonly file: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly cwd?: string;
  };
  /**
   * `process`, instead of `command` where the driver can: a program that has imported everything and forks a session
   * of itself on request. It must behave as `command` does.
   */
  readonly warm?: {
    readonly file: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  /** `docker`: what the main process of a container is. */
  readonly container?: {
    /** An image id (`sha256:…`), a reference with a digest, or a name that was built on this machine. */
    readonly image: string;
    /** Arguments to the image's entry point. */
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    /** What it may reach beside its own loopback, if the operator approves; nothing when absent. */
    readonly endpoints?: readonly Endpoint[];
  };
  /** How long the server may take until it answers `initialize`. */
  readonly startTimeoutMs: number;
}

export interface ToolResult {
  /** Text content, joined; what the policy reads. */
  readonly text: string;
  readonly isError: boolean;
  readonly structured?: JsonObject;
}

/** Live MCP sessions to all servers of one sandbox. */
export interface ToolSession {
  /** All tools of all servers, reserved ones too, with the server that owns each. */
  list(signal: AbortSignal): Promise<readonly (ToolSpec & { readonly server: string })[]>;
  /**
   * One call, never retried in the same session (its outcome may be unknown). A tool's own error is a normal
   * result with `isError`; a lost session, a crash or a deadline throws `Fault('sandbox' | 'deadline')`.
   */
  call(
    server: string,
    tool: string,
    args: JsonObject,
    options: {
      readonly signal: AbortSignal;
      readonly timeoutMs: number;
      /** The arguments as JSON text, where numbers must arrive as written (`core/exact-json.ts`). */
      readonly exact?: string;
    },
  ): Promise<ToolResult>;
}

export interface SandboxRequest {
  /** Unique name: key hash, try, random; given by the caller, who wrote it down first. */
  readonly name: string;
  readonly servers: readonly ServerSpec[];
  readonly signal: AbortSignal;
  /** ISO time after which anybody may end it; written on what is made, for sweeps that have no ledger. */
  readonly expiresAt?: string;
  /** For people who look at what is made: the attempt's key; and `worker`, for sweeps that have no ledger: who made it. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What `take` gave for these servers; then `name` is its name. */
  readonly warm?: WarmSandbox;
}

/** A sandbox that was started ahead, in the ledger under its name, and is held for one try. */
export interface WarmSandbox {
  readonly name: string;
  /** Ends it, where `create` has not taken it over. Throws when something may be left alive. */
  discard(): Promise<void>;
}

export interface Sandbox {
  readonly name: string;
  readonly tools: ToolSession;
  /** Idempotent. Never throws after the resource is gone; throws when something may be left alive. */
  release(): Promise<void>;
}

export interface SandboxDriver {
  readonly isolation: Isolation;
  create(request: SandboxRequest): Promise<Sandbox>;
  /** One that was started ahead, if there is one: pass it to `create`, or discard it. */
  take?(
    request: Pick<SandboxRequest, 'servers'> & { readonly expiresAt: string },
  ): Promise<WarmSandbox | undefined>;
  /** Ends what was started ahead; nothing is started ahead any more. Never throws. */
  close?(): Promise<void>;
  /** Ends what is left of a sandbox by name, e.g. after its worker was killed. True when something was found. */
  reap(name: string): Promise<boolean>;
  /** What is there on this host by the system's own word, whoever made it; nothing where a driver leaves no traces. */
  living(): Promise<readonly LivingSandbox[]>;
}

export interface LivingSandbox {
  readonly name: string;
  /** ISO time, where what was made carries one. */
  readonly expiresAt?: string;
  /** `host:pid` of the process that made it, where what was made says so. */
  readonly worker?: string;
  /** Of another stack on this host: its ledger knows it, not ours. */
  readonly foreign?: true;
}
