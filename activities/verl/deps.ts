/** What the keeper of a job is made from. */
import type { Ledger } from '../../core/ledger.js';
import type { Jobs, JobTimes } from '../../core/verl/job.js';
import type { HashCache } from '../host/hash-cache.js';
import type { HostTools } from '../serving/process.js';

export interface JobDeps {
  readonly ledger: Ledger;
  readonly jobs: Jobs;
  /** The host that starts the job, as run files name it. */
  readonly host: string;
  /** Folder of this host for logs. */
  readonly folder: string;
  /** Folder for `metrics.jsonl` of runs, where this host shares it. */
  readonly reports: string;
  /** For the job beside the worker's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly hashes: HashCache;
  readonly tools: Omit<HostTools, 'freePort'>;
  readonly times: JobTimes;
  /** Ends what an earlier keeper has left of servers: a job needs all GPUs of its hosts. */
  readonly endServers: () => Promise<unknown>;
  /** For the worker's log. */
  readonly say: (line: string) => void;
}
