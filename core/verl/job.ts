/** A trainer that runs as one job on a GPU host: its processes in the ledger, and what a run's row says of it. */
import type { Servings } from '../serving/servings.js';

/**
 * Processes of jobs, known as those of servers are (`serving` is the run): intended before they are started, so that a
 * worker that takes over from a killed one finds the running job instead of starting a second on the same cluster. None
 * is intended while somebody else has one of its run's hosts: `host_busy`.
 */
export type Jobs = Pick<Servings, 'intendServer' | 'serverStarted' | 'serverEnded' | 'openServers'>;

export interface JobTimes {
  /** No new line of metrics for so long, where its run does not say otherwise: it hangs. From its start on, also before the first. */
  readonly silentMs: number;
  readonly backoffMs: { readonly first: number; readonly longest: number };
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  readonly lookMs: number;
  /** How often its log is bounded. */
  readonly tidyMs: number;
  /** Steps in a row without finite loss or gradient before it is started again from before them. */
  readonly notFiniteSteps: number;
}

/** What a campaign's result says under `job`. */
export interface JobNote {
  readonly host: string;
  /** `waiting`: somebody else has one of its hosts; `problem` says who. */
  readonly state: 'waiting' | 'starting' | 'running' | 'restarting' | 'ended' | 'failed';
  /** Last step whose metrics were seen; null: none yet. */
  readonly step: number | null;
  /** Newest checkpoint that verified; null: none. */
  readonly checkpoint: number | null;
  /** Starts after the first. */
  readonly restarts: number;
  readonly log: string | null;
  /** File of Verl's metrics of the start that runs. */
  readonly metrics: string | null;
  /** What last went wrong, in words; null: nothing since the last start by a person. */
  readonly problem: string | null;
}
