/** GPU hosts and what they say of themselves, as run files, workers and preflight speak of them. */
import { UsageError } from './faults.js';

/** Part of a queue's name, and of messages. */
export const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/;

/** Throws `UsageError` for a name that cannot be a host's. */
export function requireHostName(place: string, name: string): string {
  if (HOST_NAME.test(name)) return name;
  throw new UsageError(place, 'a host name of letters, digits, dots and dashes', JSON.stringify(name));
}

/** One GPU as its driver lists it. */
export interface GpuFacts {
  readonly index: number;
  readonly name: string;
  readonly memoryMiB: number;
}

/** A file by its digest; null where there is none, or it cannot be read. */
export type FileDigests = Readonly<Record<string, string | null>>;

/** What a host is asked to look at. */
export interface HostQuestions {
  /** Python whose packages are asked for; null: no package is. */
  readonly python: string | null;
  readonly packages: readonly string[];
  /** Files within the packages of that Python, relative to their folder (`verl/trainer/ppo/ray_trainer.py`). */
  readonly files: readonly string[];
  /** Folders of which the free space is asked. */
  readonly folders: readonly string[];
  /** Files that must be there, by absolute path. */
  readonly inputs: readonly string[];
  /** Those of them that are data sets, of which the rows are counted. */
  readonly dataSets: readonly string[];
  /** Folder of a model, and the control tokens that its tokenizer must have; null: none is asked for. */
  readonly model: { readonly folder: string; readonly tokens: readonly string[] } | null;
}

/** What a host answers: small, since it crosses Temporal. Times are ms since 1970 by the host's own clock. */
export interface HostFacts {
  readonly host: string;
  /** As the machine calls itself. */
  readonly machine: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly gpus: readonly GpuFacts[];
  /** Why its GPUs could not be listed; null: they could. */
  readonly gpuProblem: string | null;
  /** Installed version by package; null: not installed. */
  readonly packages: Readonly<Record<string, string | null>>;
  /** Why the Python could not be asked; null: it could. */
  readonly pythonProblem: string | null;
  readonly files: FileDigests;
  readonly folders: Readonly<Record<string, FolderFacts>>;
  /** SHA-256 of each input; null: no such file, or it cannot be read. */
  readonly inputs: FileDigests;
  /** Rows of each data set; words where it is none. */
  readonly rows: Readonly<Record<string, number | string>>;
  readonly model: ModelFacts | null;
  /** Proxy variables of the worker, passwords hidden. */
  readonly proxies: Readonly<Record<string, string>>;
}

/** `problem`: why it cannot be used as a folder to write to, or null. */
export interface FolderFacts {
  readonly freeBytes: number;
  readonly fileSystem: string;
  readonly problem: string | null;
}

/** What is wrong somewhere, in the four parts of every message of ours. */
export interface Finding {
  readonly place: string;
  readonly expected: string;
  readonly found: string;
  readonly fix: string;
}

/** A model folder: what it is, one digest over names, sizes and contents, and everything that is wrong with it. */
export interface ModelFacts {
  /** Null when something is wrong: it was not hashed. */
  readonly digest: string | null;
  readonly files: number;
  readonly bytes: number;
  /** Elements of all tensors. */
  readonly parameters: number;
  /** `model_type` of its configuration, and the heads that parallelism divides; null: not said there. */
  readonly type: string | null;
  readonly attentionHeads: number | null;
  readonly keyValueHeads: number | null;
  /** Longest sequence it was made for, tokens. */
  readonly positions: number | null;
  readonly problems: readonly Finding[];
}

/** A small file in a folder that hosts share, written by one and read by all. */
export interface ProbeFile {
  readonly name: string;
  readonly content: string;
}

/** What a host found of the files that others wrote: `seen`, `missing`, or what it read instead. */
export type ProbeSight = Readonly<Record<string, string>>;

/** What lies in a folder of Verl's checkpoints. */
export interface CheckpointsFound {
  /** The run that has claimed the folder (`OWNER_FILE`); null: none. */
  readonly owner: string | null;
  /** The step that Verl would go on from (`latest_checkpointed_iteration.txt`); null: none. */
  readonly latest: number | null;
  /** Ascending. */
  readonly steps: readonly CheckpointFound[];
}

export interface CheckpointFound {
  readonly step: number;
  /** Processes that saved it, as its files say; null: no shard of the model is there. */
  readonly worldSize: number | null;
  /** Files that a whole one has and this one has not, the first few; empty ones count as missing. */
  readonly missing: readonly string[];
}

/** What the installed Verl makes of a run's settings. */
export interface ComposedVerl {
  /** SHA-256 of the whole configuration, Verl's own defaults included; null: it could not be composed. */
  readonly digest: string | null;
  /** Why, by setting. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Who trains into a folder of checkpoints: a JSON file `{"run": "train/x"}` in it, so that no second run does. */
export const OWNER_FILE = '.steadfast-run.json';

/** One question to one host, as the workflow that asks it gets it. */
export interface HostQuestion {
  readonly host: string;
  readonly activity:
    | 'hostFacts'
    | 'composeVerl'
    | 'writeProbe'
    | 'readProbe'
    | 'removeProbe'
    | 'listCheckpoints';
  readonly args: readonly unknown[];
}
