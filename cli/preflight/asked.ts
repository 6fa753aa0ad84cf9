/** What a preflight is about, and what was found out for all checks together. */
import type { TrainConfig } from '../../core/campaign.js';
import type { CheckResult } from '../../core/preflight.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { Suite } from '../../core/suite.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import type { StackContext } from '../context.js';
import type { ClusterAnswers } from './cluster.js';

export interface Asked {
  /** `train/q38`. */
  readonly id: string;
  readonly file: RunFile;
  readonly config: TrainConfig;
  readonly suite: Suite;
  /** The pool as it was asked for, tasks held out included. */
  readonly pool: readonly string[];
  /** True: nobody outside this installation is asked. */
  readonly offline: boolean;
  readonly env: NodeJS.ProcessEnv;
  /** Undefined: no stack runs, or it does not answer. */
  readonly stack: StackContext | undefined;
  /** Undefined where the run has no cluster, or nobody can be asked. */
  readonly cluster: ClusterAnswers | undefined;
  readonly signal: AbortSignal;
}

/** The same of a run that Verl trains on a cluster. */
export interface ClusterAsked extends Asked {
  readonly trainer: VerlConfig;
}

export interface Check<A extends Asked = Asked> {
  /** A few words, for people. */
  readonly name: string;
  /** Never throws for what does not hold. */
  run(asked: A): Promise<CheckResult> | CheckResult;
}

/** The trainer, where it is Verl's. */
export function verlOf({ config }: Pick<Asked, 'config'>): VerlConfig | undefined {
  return config.trainer?.kind === 'verl' ? config.trainer : undefined;
}
