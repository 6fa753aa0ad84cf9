/** Campaigns: claimed once under an id, with a configuration that does not change afterwards. */
import { Fault, UsageError } from '../../core/faults.js';
import { type ConfigChange, configDiff, describeChanges } from '../../core/fingerprint.js';
import type { CampaignRow, CampaignState, Ledger } from '../../core/ledger.js';
import type { Database } from './database.js';
import { iso, storableJson } from './values.js';

interface Row {
  readonly id: string;
  readonly kind: CampaignRow['kind'];
  readonly state: CampaignState;
  readonly config: unknown;
  readonly fingerprint: string;
  readonly suite: string;
  readonly suite_digest: string;
  readonly parent: string | null;
  readonly result: unknown;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

const CLAIM = {
  name: 'claim campaign',
  text: `INSERT INTO campaigns (id, kind, config, fingerprint, suite, suite_digest, parent)
    VALUES ($1, $2, $3::jsonb, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING RETURNING *`,
};
const READ = { name: 'read campaign', text: 'SELECT * FROM campaigns WHERE id = $1' };
const SET_STATE = {
  name: 'set campaign state',
  text: `UPDATE campaigns SET state = $2, result = CASE WHEN $3::boolean THEN $4::jsonb ELSE result END,
      ended_at = CASE WHEN $2 IN ('done', 'failed', 'stopped') THEN coalesce(ended_at, now()) END
    WHERE id = $1 RETURNING id`,
};
const NOTE = {
  name: 'note on campaign',
  text: `UPDATE campaigns SET state = coalesce($2, state),
      result = CASE WHEN jsonb_typeof(result) = 'object' THEN result ELSE '{}'::jsonb END || $3::jsonb,
      ended_at = CASE WHEN coalesce($2, state) IN ('done', 'failed', 'stopped') THEN coalesce(ended_at, now()) END
    WHERE id = $1 RETURNING id`,
};

export function campaignWrites(
  database: Database,
): Pick<Ledger, 'claimCampaign' | 'campaign' | 'setCampaignState' | 'noteOnCampaign'> {
  async function read(id: string): Promise<CampaignRow | undefined> {
    const [row] = await database.run<Row>(READ, [id]);
    return row && campaignOf(row);
  }

  return {
    async claimCampaign(claim) {
      const values = [
        claim.id,
        claim.kind,
        storableJson(claim.config),
        claim.fingerprint,
        claim.suite,
        claim.suiteDigest,
        claim.parent,
      ];
      const [created] = await database.run<Row>(CLAIM, values);
      if (created) return { status: 'created', row: campaignOf(created) };
      const row = await read(claim.id);
      if (!row)
        throw new Fault('ledger', `claim campaign: ${claim.id} vanished while it was claimed`, {
          code: 'conflict',
        });
      refuseOther(row, claim);
      return { status: 'known', row };
    },
    campaign: read,
    async setCampaignState(id, state, result) {
      const given = result !== undefined;
      const changed = await database.run(SET_STATE, [id, state, given, given ? storableJson(result) : null]);
      if (changed.length === 0) throw unknownCampaign(id);
    },

    async noteOnCampaign(id, note, state) {
      const changed = await database.run(NOTE, [id, state ?? null, storableJson(note)]);
      if (changed.length === 0) throw unknownCampaign(id);
    },
  };
}

function unknownCampaign(id: string): Fault {
  return new Fault('ledger', `campaign ${id} is not in the ledger`, {
    code: 'unknown_campaign',
    retry: false,
  });
}

function refuseOther(
  known: CampaignRow,
  claim: Pick<CampaignRow, 'fingerprint' | 'config' | 'suite' | 'suiteDigest'>,
): void {
  const changes: ConfigChange[] =
    known.fingerprint === claim.fingerprint ? [] : [...configDiff(known.config, claim.config)];
  if (known.suite !== claim.suite) changes.push({ path: '(suite)', old: known.suite, new: claim.suite });
  // Most configurations hold the digest themselves; one change is said once.
  if (known.suiteDigest !== claim.suiteDigest && !changes.some(({ path }) => path === 'suiteDigest')) {
    changes.push({ path: '(suite digest)', old: known.suiteDigest, new: claim.suiteDigest });
  }
  if (changes.length === 0) return;
  throw new UsageError(
    known.id,
    'the configuration that it was started with (take the changes back to continue it, or use another name)',
    `${changes.length} changed:\n${describeChanges(changes)}`,
  );
}

function campaignOf(row: Row): CampaignRow {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    config: row.config,
    fingerprint: row.fingerprint,
    suite: row.suite,
    suiteDigest: row.suite_digest,
    parent: row.parent,
    result: row.result,
    createdAt: iso(row.created_at),
    endedAt: iso(row.ended_at),
  };
}
