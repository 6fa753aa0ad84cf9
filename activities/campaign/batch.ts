/** The batch of a step, made from its recorded episodes: the same rows give the same bytes, today and at a replay. */
import { groupAdvantages } from '../../core/advantages.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import {
  type BatchEpisode,
  type BatchFormat,
  encodeBatch,
  encodeBatchIndex,
  type IndexedEpisode,
  indexed,
} from '../../core/batch.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { AttemptRow } from '../../core/ledger.js';
import { digestOf } from '../artifacts/local.js';
import { endedGroups } from './step-groups.js';
import { readTokenRecord } from './token-record.js';

export interface AssembledBatch {
  /** As `encodeBatch` or `encodeBatchIndex` writes it. */
  readonly bytes: Uint8Array;
  readonly episodes: number;
}

interface StepOf {
  readonly run: string;
  readonly step: number;
}

/**
 * The informative groups of the step, at most as many as are wanted, in group order. `rows`: all attempts of the step.
 * Every token record is read, one at a time. Throws `Fault('artifacts')` for an episode whose tokens cannot be read,
 * `Fault('ledger', code: 'mixed_weights')` for episodes that were sampled from different weights.
 */
export async function assembleBatch(
  artifacts: ArtifactStore,
  config: TrainConfig,
  { run, step }: StepOf,
  rows: readonly AttemptRow[],
  format: BatchFormat,
): Promise<AssembledBatch> {
  const weightVersion = weightVersionOf(rows, run, step);
  const members = advantagesOf(config, rows);
  if (format === 3) {
    const episodes: IndexedEpisode[] = [];
    for (const [row, advantage] of members) {
      const record = await recordOf(artifacts, row);
      const tokens = await readTokenRecord(artifacts, row.key, record);
      episodes.push(indexed({ key: row.key, advantage }, record, tokens));
    }
    const bytes = encodeBatchIndex({ run, step, weightVersion, episodes });
    return { bytes, episodes: episodes.length };
  }
  const episodes: BatchEpisode[] = [];
  for (const [row, advantage] of members) {
    const tokens = await readTokenRecord(artifacts, row.key, await recordOf(artifacts, row));
    episodes.push({ key: row.key, advantage, ...tokens });
  }
  return { bytes: encodeBatch({ run, step, weightVersion, episodes }), episodes: episodes.length };
}

/** A recorded batch again, in the format that gives its digest; an index where neither does. Throws as `assembleBatch`. */
export async function assembleAgain(
  artifacts: ArtifactStore,
  config: TrainConfig,
  { run, step, batchDigest }: StepOf & { readonly batchDigest: Digest },
  rows: readonly AttemptRow[],
): Promise<AssembledBatch> {
  const index = await assembleBatch(artifacts, config, { run, step }, rows, 3);
  if (digestOf(index.bytes) === batchDigest) return index;
  const whole = await assembleBatch(artifacts, config, { run, step }, rows, 2);
  return digestOf(whole.bytes) === batchDigest ? whole : index;
}

function advantagesOf(config: TrainConfig, rows: readonly AttemptRow[]): (readonly [AttemptRow, number])[] {
  return endedGroups(config, rows)
    .filter(({ state }) => state === 'informative')
    .slice(0, config.shape.groups)
    .flatMap(({ round, group }) => {
      const members = rows
        .filter((row) => row.group === group && row.round === round)
        .sort((a, b) => a.member! - b.member!);
      const rewards = members.map((row) => row.reward!);
      const advantages = groupAdvantages(rewards, config.shape.advantage);
      return members.map((row, index) => [row, advantages[index]!] as const);
    });
}

/** A batch is on-policy: every episode in it was sampled from one version of the weights. */
function weightVersionOf(rows: readonly AttemptRow[], run: string, step: number): Digest {
  const versions = new Set(rows.filter((row) => row.state === 'clean').map((row) => row.weightVersion));
  const [version] = versions;
  if (versions.size === 1 && version) return version;
  throw new Fault(
    'ledger',
    `step ${step} of ${run}: expected one weight version, found ${[...versions].join(', ') || 'none'}`,
    { code: 'mixed_weights', retry: false },
  );
}

async function recordOf(artifacts: ArtifactStore, row: AttemptRow): Promise<Digest> {
  const document = JSON.parse(new TextDecoder().decode(await artifacts.get(row.trajectory!))) as {
    tokens: Digest | null;
  };
  if (document.tokens !== null) return document.tokens;
  throw new Fault('artifacts', `${row.key}: the trajectory has no token record`, { retry: false });
}
