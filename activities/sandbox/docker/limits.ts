/** What one container may use. A guest that wants more is stopped by the kernel, and the fault says by which bound. */
export interface ContainerLimits {
  /** Memory, swap included. Too low: `out_of_memory`. */
  readonly memoryMebibytes: number;
  readonly cpus: number;
  /** Processes and threads. A Node.js server has about a dozen. */
  readonly processes: number;
  readonly openFiles: number;
  /** The only place that can be written, `/tmp`, in memory. */
  readonly temporaryMebibytes: number;
}

export const CONTAINER_LIMITS: ContainerLimits = {
  memoryMebibytes: 512,
  cpus: 1,
  processes: 128,
  openFiles: 1_024,
  temporaryMebibytes: 64,
};
