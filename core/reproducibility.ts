/**
 * What it would take to make a campaign again, and what came out of it: written by the program when a campaign begins
 * and when it ends, as an artifact that its row names. Facts only; where something is not known it says null.
 */
import type { Digest } from './artifacts.js';
import type { CampaignConfig, TrainConfig } from './campaign.js';
import type { FileDigests } from './cluster.js';
import type { ClusterRecord } from './cluster-record.js';
import { fingerprint } from './fingerprint.js';
import type { CampaignRow, CheckpointRow, Counts, StepRow } from './ledger.js';

/** The program that carried it out, as its pipeline worker knows it. */
export interface ProgramFacts {
  readonly version: string;
  /** Of the checkout; null where it is none, or git is not installed. */
  readonly revision: { readonly commit: string; readonly changed: boolean } | null;
  /** Digest of the code that runs. */
  readonly code: string | null;
  readonly runtime: { readonly node: string; readonly platform: string; readonly cpu: string };
  /** Installed versions by package. */
  readonly packages: Readonly<Record<string, string>>;
}

export interface Reproducibility {
  readonly format: 1;
  readonly campaign: string;
  readonly program: ProgramFacts | null;
  /** The whole configuration: sampling, limits, seeds, shape, plan, topology, pinned patches, people. */
  readonly configuration: CampaignConfig;
  readonly hashes: {
    readonly configuration: Digest;
    readonly suite: Digest;
    /** Over the list of task ids, in order. */
    readonly tasks: Digest | null;
    readonly prompts: Digest | null;
    /** The model folder: as it was found when the run was started, else as it was pinned. */
    readonly model: string | null;
    /** Data sets, agent loop and reward of a run of Verl, by file. */
    readonly data: FileDigests;
    /** Verl's whole configuration, as the installed Verl composed it. */
    readonly verl: string | null;
    /** Patched files by name. */
    readonly patches: Readonly<Record<string, string>>;
  };
  readonly topology: TrainConfig['trainer'] | null;
  /** What each host was and had when a run of Verl was started. */
  readonly cluster: ClusterRecord | null;
  /** One entry a step: what it was trained on, and the weights before and after. */
  readonly lineage: readonly Lineage[];
  readonly checkpoints: readonly {
    readonly step: number;
    readonly weights: Digest;
    readonly files: Digest;
  }[];
  readonly coverage: Counts & { readonly steps: { readonly asked: number | null; readonly ended: number } };
}

type Lineage = Pick<
  StepRow,
  'step' | 'state' | 'baseDigest' | 'batchDigest' | 'weightDigest' | 'cursor' | 'started'
>;

export interface RecordedFacts {
  readonly row: Pick<CampaignRow, 'id' | 'config' | 'fingerprint' | 'suiteDigest' | 'result'>;
  readonly program: ProgramFacts | null;
  readonly counts: Counts;
  readonly steps: readonly StepRow[];
  readonly checkpoints: readonly CheckpointRow[];
}

/** Pure: the same rows give the same record. */
export function reproducibility(facts: RecordedFacts): Reproducibility {
  const { row, program, counts, steps, checkpoints } = facts;
  const config = row.config as CampaignConfig;
  const trainer = config.kind === 'train' ? config.trainer : undefined;
  const verl = trainer?.kind === 'verl' ? trainer : undefined;
  const { cluster = null } = (row.result ?? {}) as { readonly cluster?: ClusterRecord };
  // They are the same on all hosts: a run is not started where they differ.
  const [found] = Object.values(cluster?.hosts ?? {});
  return {
    format: 1,
    campaign: row.id,
    program,
    configuration: config,
    hashes: {
      configuration: row.fingerprint,
      suite: row.suiteDigest,
      tasks: config.kind === 'pipeline' ? null : fingerprint(config.tasks),
      prompts: config.people?.prompts ?? null,
      model: found?.model ?? verl?.modelDigest ?? null,
      data: found?.inputs ?? {},
      verl: cluster?.configuration ?? null,
      patches: Object.fromEntries((verl?.pins.files ?? []).map(({ file, sha256 }) => [file, sha256])),
    },
    topology: trainer ?? null,
    cluster,
    lineage: steps.map(({ step, state, baseDigest, batchDigest, weightDigest, cursor, started }) => ({
      step,
      state,
      baseDigest,
      batchDigest,
      weightDigest,
      cursor,
      started,
    })),
    checkpoints: checkpoints
      .map(({ step, manifest }) => ({
        step,
        weights: manifest.weightDigest,
        files: fingerprint(manifest.files),
      }))
      .toSorted((a, b) => a.step - b.step),
    coverage: {
      ...counts,
      steps: {
        asked: config.kind === 'train' ? config.steps : null,
        ended: steps.filter(({ state }) => state === 'done' || state === 'skipped').length,
      },
    },
  };
}
