/** What the hosts of a run were when it was started: for its reproducibility record. Null: it was not found out. */
import type { ComposedVerl, FileDigests, GpuFacts, HostFacts } from './cluster.js';

export interface HostRecord {
  readonly machine: string;
  readonly gpus: readonly GpuFacts[];
  readonly packages: HostFacts['packages'];
  /** Patched files of the packages. */
  readonly files: FileDigests;
  readonly model: string | null;
  /** Data sets, agent loop, reward. */
  readonly inputs: FileDigests;
  readonly rows: HostFacts['rows'];
}

export interface ClusterRecord {
  readonly at: string;
  readonly hosts: Readonly<Record<string, HostRecord>>;
  /** Of Verl's whole configuration, its own defaults included. */
  readonly configuration: string | null;
}

/** Pure. */
export function clusterRecord(
  at: string,
  facts: ReadonlyMap<string, HostFacts>,
  composed: ComposedVerl | string | undefined,
): ClusterRecord {
  const hosts = [...facts].map(
    ([host, { machine, gpus, packages, files, model, inputs, rows }]): [string, HostRecord] => [
      host,
      { machine, gpus, packages, files, model: model?.digest ?? null, inputs, rows },
    ],
  );
  return {
    at,
    hosts: Object.fromEntries(hosts),
    configuration: typeof composed === 'object' ? composed.digest : null,
  };
}
