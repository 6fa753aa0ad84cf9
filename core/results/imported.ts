/**
 * An evaluation that ran elsewhere and whose rows were imported: what its campaign is claimed with. Nothing of it can
 * be run here, so it has no limits, no sampling and no seed; it has files.
 */
import type { Digest } from '../artifacts.js';
import type { AttemptsConfig } from '../campaign.js';

export interface ImportedFile {
  /** Base name. */
  readonly name: string;
  /** SHA-256 of the file as it lay on disk, hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

export interface ImportedModel {
  readonly kind: 'imported';
  /** What the importer called it; price tables know it by this name. */
  readonly name: string;
  readonly files: readonly ImportedFile[];
}

export interface ImportedConfig
  extends Pick<AttemptsConfig, 'suite' | 'tasks' | 'repeat' | 'exhaustedAsFailed'> {
  readonly kind: 'eval';
  readonly suiteDigest: Digest;
  readonly model: ImportedModel;
  /** How endings outside our own set are recorded; absent where rows had none. */
  readonly otherEndingsAs?: string;
}

/** The model of a campaign whose rows were imported; null for every other configuration. */
export function importedModel(config: unknown): ImportedModel | null {
  const model = (config as { model?: { kind?: unknown } } | null | undefined)?.model;
  return model?.kind === 'imported' ? (model as ImportedModel) : null;
}
