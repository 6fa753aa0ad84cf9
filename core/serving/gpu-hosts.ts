/**
 * Who has which GPU host. A job of a trainer has all hosts of its run from before its first process until its run has
 * paused or ended; a server of weights has one. The ledger decides, in one place and one after the other, so that no two
 * get the same GPUs, whichever of their workers live.
 */

/** Why somebody cannot have a host. */
export interface HostTaken {
  readonly host: string;
  /** Who has it, in words. */
  readonly words: string;
}

/** All throw `Fault('ledger')` when the database does not answer. */
export interface GpuHosts {
  /**
   * The run takes its hosts one after the other, in the order of their names, and keeps those that it has got: runs that
   * want the same ones never wait for each other in a ring. Returns what the first is that it cannot have.
   */
  takeHosts(run: string): Promise<HostTaken | undefined>;
  /** Idempotent. What a process of its job still has stays taken until the process has ended. */
  releaseHosts(run: string): Promise<void>;
  /** The jobs that have hosts, in words, by host. */
  jobs(): Promise<ReadonlyMap<string, string>>;
}
