/** What a GPU host can be asked before a run: what it is and has, and whether it shares a folder with others. */
import type {
  CheckpointsFound,
  ComposedVerl,
  HostFacts,
  HostQuestions,
  ProbeFile,
  ProbeSight,
} from '../../core/cluster.js';
import { composeVerl } from './compose.js';
import { inHeartbeats } from './in-heartbeats.js';
import { readProbeFiles, removeProbeFile, writeProbeFile } from './shared-folder.js';
import { verlCheckpoints } from './verl-checkpoints.js';

/** How this host looks at itself; a stand-in for a host looks elsewhere. */
export interface HostDeps {
  /** The name that run files and its queue have. */
  readonly host: string;
  facts(questions: HostQuestions, signal: AbortSignal): Promise<HostFacts>;
  /** The installed Verl's own; a stand-in has none. */
  readonly compose?: typeof composeVerl;
  /** Where a folder of the run file lies on this machine: itself. */
  place?(folder: string): string;
}

export type HostActivities = ReturnType<typeof createHostActivities>;

export function createHostActivities(deps: HostDeps) {
  const place = deps.place ?? ((folder: string) => folder);
  return {
    hostFacts: (questions: HostQuestions): Promise<HostFacts> =>
      inHeartbeats((signal) => deps.facts(questions, signal)),

    composeVerl: (python: string, packed: string): Promise<ComposedVerl> =>
      inHeartbeats((signal) => (deps.compose ?? composeVerl)(python, packed, signal)),

    /** Writes the host's own file into the folder, which is the first half of the proof that hosts share it. */
    writeProbe: (folder: string, name: string): Promise<ProbeFile> =>
      inHeartbeats(() => writeProbeFile(place(folder), name)),

    readProbe: (folder: string, wanted: readonly ProbeFile[]): Promise<ProbeSight> =>
      inHeartbeats((signal) => readProbeFiles(place(folder), wanted, signal)),

    listCheckpoints: (folder: string): Promise<CheckpointsFound> =>
      inHeartbeats(() => verlCheckpoints(place(folder))),

    removeProbe: (folder: string, name: string): Promise<void> =>
      inHeartbeats(() => removeProbeFile(place(folder), name)),
  };
}
