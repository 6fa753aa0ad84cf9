/** The batch of a step, made from its recorded episodes: the same rows give the same bytes, today and at a replay. */
import { groupAdvantages } from '../../core/advantages.js';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { type BatchEpisode, encodeBatch } from '../../core/batch.js';
import type { TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { AttemptRow } from '../../core/ledger.js';
import { decodeTokens } from '../../core/tokens.js';
import { endedGroups } from './step-groups.js';

export interface AssembledBatch {
  /** As `encodeBatch` writes it. */
  readonly bytes: Uint8Array;
  readonly episodes: number;
}

/**
 * The informative groups of the step, at most as many as are wanted, in group order. `rows`: all attempts of the step.
 * Throws `Fault('artifacts')` for an episode whose tokens cannot be read, `Fault('ledger', code: 'mixed_weights')` for
 * episodes that were sampled from different weights.
 */
export async function assembleBatch(
  artifacts: ArtifactStore,
  config: TrainConfig,
  { run, step }: { readonly run: string; readonly step: number },
  rows: readonly AttemptRow[],
): Promise<AssembledBatch> {
  const episodes: BatchEpisode[] = [];
  for (const group of endedGroups(config, rows)
    .filter(({ state }) => state === 'informative')
    .slice(0, config.shape.groups)) {
    const members = rows
      .filter((row) => row.group === group.group && row.round === group.round)
      .sort((a, b) => a.member! - b.member!);
    const rewards = members.map((row) => row.reward!);
    const advantages = groupAdvantages(rewards, config.shape.advantage);
    for (const [index, member] of members.entries()) {
      const tokens = await tokensOf(artifacts, member);
      episodes.push({ key: member.key, advantage: advantages[index]!, ...tokens });
    }
  }
  const weightVersion = weightVersionOf(rows, run, step);
  return { bytes: encodeBatch({ run, step, weightVersion, episodes }), episodes: episodes.length };
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

async function tokensOf(artifacts: ArtifactStore, row: AttemptRow) {
  const document = JSON.parse(new TextDecoder().decode(await artifacts.get(row.trajectory!))) as {
    tokens: Digest | null;
  };
  if (document.tokens === null) {
    throw new Fault('artifacts', `${row.key}: the trajectory has no token record`, { retry: false });
  }
  return decodeTokens(await artifacts.get(document.tokens));
}
