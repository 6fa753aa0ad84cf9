/** What the keeper of a host's server is made from. */
import type { ArtifactStore } from '../../core/artifacts.js';
import type { Servings } from '../../core/serving/servings.js';
import type { ServingTimes } from '../../core/serving/times.js';
import type { HashCache } from '../host/hash-cache.js';
import type { PrepareDeps } from './prepare.js';
import type { HostTools } from './process.js';

export interface KeeperDeps {
  readonly servings: Servings;
  readonly artifacts: ArtifactStore;
  /** The name of this set of GPUs. */
  readonly host: string;
  /** The address that servers listen on, and by which episodes reach them. */
  readonly address: string;
  /** Folder of this host for logs and for models that were made. */
  readonly folder: string;
  /** The program that `vllmArguments` are given to. */
  readonly command: readonly string[];
  /** For the server beside the worker's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly programs: PrepareDeps['programs'];
  readonly hashes: HashCache;
  readonly tools: HostTools;
  readonly times: ServingTimes;
  /** The job that has the GPUs of this host, in words; absent: none ever does. */
  readonly busy?: () => Promise<string | undefined>;
  /** For the worker's log. */
  readonly say: (line: string) => void;
}
