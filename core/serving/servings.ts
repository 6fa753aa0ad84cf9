/**
 * Servings: weights that are to be samplable on a GPU host, and the server processes that were started for them. What is
 * wanted, where it is, and who still needs it are in the ledger, so that a worker that takes over from a killed one
 * finds the running server instead of starting a second on the same GPUs.
 *
 *   wanted → preparing → starting → ready ⇄ unwell → … → stopped | failed
 */
import type { Digest } from '../artifacts.js';
import type { CheckpointManifest } from '../trainer.js';
import type { VllmSettings } from './settings.js';

/** Weights in a folder that the GPU hosts can read. */
export interface ServedWeights {
  /** A model as Hugging Face lays it out, or a checkpoint that is merged first (docs/serving.md). */
  readonly folder: string;
  /** The name that it is served under and that every sampled turn carries. */
  readonly weightVersion: Digest | string;
  /** As the checkpoint's manifest has them; absent: a folder that no manifest vouches for. */
  readonly files?: CheckpointManifest['files'];
  /** Model folder that a checkpoint of bare weights was trained from: its configuration and tokenizer are the checkpoint's. */
  readonly base?: string;
  /** A trainer loads other weights into the server: what it answers is nobody's to compare. */
  readonly changing?: true;
}

export interface ServingSpec {
  readonly weights: ServedWeights;
  readonly settings: VllmSettings;
  /** Names of the hosts that may serve it; empty: any. */
  readonly hosts: readonly string[];
}

export type ServingState = 'wanted' | 'preparing' | 'starting' | 'ready' | 'unwell' | 'stopped' | 'failed';
/** States in which somebody is, or should be, at work on it. */
export const ACTIVE: readonly ServingState[] = ['wanted', 'preparing', 'starting', 'ready', 'unwell'];

export interface ServingRow {
  readonly name: string;
  readonly spec: ServingSpec;
  readonly state: ServingState;
  /** Where it is, or was last. */
  readonly host: string | null;
  /** OpenAI base URL, ending in `/v1`; only where the server has answered. */
  readonly endpoint: string | null;
  /** What the server samples from now; null until it is ready. */
  readonly weightVersion: string | null;
  /** Artifact with its tokenizer files: `{"tokenizer", "config"}`. */
  readonly modelFiles: Digest | null;
  /** Log-probability of the first token that the weights prefer after a fixed prompt: the same after every start. */
  readonly reference: number | null;
  /** The server's log, on its host. */
  readonly log: string | null;
  /** Times that a server of it was started again. */
  readonly restarts: number;
  /** What last went wrong, in words. */
  readonly problem: string | null;
  /** Who needs it. */
  readonly holders: readonly string[];
  /** When anything of it was noted last; its keeper does so every few seconds, and nobody else while it is ready. */
  readonly changedAt: string;
}

export type ServingNote = Partial<
  Pick<
    ServingRow,
    | 'state'
    | 'host'
    | 'endpoint'
    | 'weightVersion'
    | 'modelFiles'
    | 'reference'
    | 'log'
    | 'restarts'
    | 'problem'
  >
>;

/** One server process: intended before it is started, so that nobody who starts one can be forgotten. */
export interface ServerRow {
  /** Unique, and in the environment of every process of the server. */
  readonly id: string;
  readonly serving: string;
  readonly host: string;
  readonly port: number;
  readonly state: 'intended' | 'started' | 'ended' | 'reaped';
  readonly pid: number | null;
  /** Opaque start time: with `pid` it names this process and no later one. */
  readonly started: string | null;
  /** Digest of what it was started with. */
  readonly launch: string;
  readonly log: string;
  /** When whoever keeps it is taken for gone. */
  readonly expiresAt: string;
}

export interface GpuHost {
  readonly name: string;
  /** Machine and process that polls its queue. */
  readonly worker: string;
  readonly seenAt: string;
}

/** All throw `Fault('ledger')` when the database does not answer. */
export interface Servings {
  /** A worker of this host polls. */
  hostSeen(name: string, worker: string): Promise<void>;
  /** Seen last first. */
  hosts(): Promise<readonly GpuHost[]>;

  /**
   * Says what is to be served under a name, and who needs it. Other weights or settings than before: whoever keeps the
   * server changes it. A serving that had stopped or failed is wanted again.
   */
  want(name: string, spec: ServingSpec, holder: string, expiresAt: Date): Promise<ServingRow>;
  /** The holder needs it no more, or nothing of all that it held. Idempotent. */
  giveBack(holder: string, name?: string): Promise<void>;
  /**
   * In one statement: stopped, where nobody needs it; false where somebody does. A holder counts until its time, and a
   * campaign as long as it runs or is paused.
   */
  closeUnneeded(name: string): Promise<boolean>;
  serving(name: string): Promise<ServingRow | undefined>;
  /** The newest that samples from these weights now. */
  servingOf(weightVersion: string): Promise<ServingRow | undefined>;
  /** Newest first. */
  servings(): Promise<readonly ServingRow[]>;
  /** An empty note says that all is as it was. With `host`, only while the serving is this host's: false where it has moved away, or is no more. */
  note(name: string, note: ServingNote, host?: string): Promise<boolean>;
  /** This host is at work on it. Says nothing of one that is ready: whether it lives, only who looks at it can say. */
  atWork(name: string, host: string): Promise<void>;
  /** The serving is this host's from here on. False when it has stopped or failed. */
  takeServing(name: string, host: string): Promise<boolean>;

  /** Throws `Fault('trainer', code: 'host_busy')` where a job has the GPUs of the host. */
  intendServer(row: Omit<ServerRow, 'state' | 'pid' | 'started'>): Promise<void>;
  serverStarted(id: string, pid: number, started: string): Promise<void>;
  /** Its keeper lives. */
  serverKept(id: string, expiresAt: Date): Promise<void>;
  serverEnded(id: string, how: 'ended' | 'reaped'): Promise<void>;
  /** Intended or started on this host, and never ended. Oldest first. */
  openServers(host: string): Promise<readonly ServerRow[]>;
}
