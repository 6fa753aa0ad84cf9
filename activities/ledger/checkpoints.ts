/** Checkpoints: where each is, the manifest that verifies it, what was pruned by what rule, and what a restore passed over. */
import { randomUUID } from 'node:crypto';
import type { CheckpointRow, Ledger, RestoreRow } from '../../core/ledger.js';
import type { CheckpointManifest } from '../../core/trainer.js';
import type { Database } from './database.js';
import { iso, storable, storableJson } from './values.js';

const PUT = {
  name: 'put checkpoint',
  text: `INSERT INTO checkpoints (run, step, path, manifest) VALUES ($1, $2, $3, $4::jsonb)
    ON CONFLICT (run, step) DO UPDATE SET path = excluded.path, manifest = excluded.manifest, created_at = now(),
      pruned_at = NULL, pruned_by = NULL`,
};
const READ = {
  name: 'read checkpoints',
  text: 'SELECT * FROM checkpoints WHERE run = $1 ORDER BY step DESC',
};
/**
 * Campaigns that are not at their end and name a checkpoint of this run: an evaluation that samples from it, a run
 * that starts from it. What `latest` meant is in the result. A failed or stopped one may be started again.
 */
const PRUNE = {
  name: 'prune checkpoints',
  text: `WITH marked AS (
      UPDATE checkpoints k SET pruned_at = now(), pruned_by = $3
      WHERE k.run = $1 AND k.step = ANY ($2::int[]) AND k.pruned_at IS NULL AND NOT EXISTS (
        SELECT FROM campaigns c CROSS JOIN LATERAL (VALUES
          (c.config #> '{model,checkpoint}'), (c.config -> 'from'), (c.result -> 'checkpoint')) used (at)
        WHERE c.state <> 'done' AND c.id <> $1 AND jsonb_typeof(used.at) = 'object'
          AND used.at ->> 'run' = $1 AND used.at ->> 'step' = k.step::text)
      RETURNING k.*)
    SELECT * FROM marked
    UNION ALL SELECT * FROM checkpoints WHERE run = $1 AND pruned_at IS NOT NULL ORDER BY step DESC`,
};
const NOTE_RESTORE = {
  name: 'note restore',
  text: `INSERT INTO restores (id, run, wanted, opened, passed_over) VALUES ($1, $2, $3, $4, $5::jsonb)
    ON CONFLICT (id) DO NOTHING`,
};
const READ_RESTORES = {
  name: 'read restores',
  text: 'SELECT * FROM restores WHERE run = $1 ORDER BY at, id',
};

interface Columns {
  readonly run: string;
  readonly step: number;
  readonly path: string;
  readonly manifest: CheckpointManifest;
  readonly pruned_at: Date | null;
  readonly pruned_by: string | null;
}

interface RestoreColumns {
  readonly run: string;
  readonly wanted: number;
  readonly opened: number | null;
  readonly passed_over: RestoreRow['passedOver'];
  readonly at: Date;
}

export function checkpointWrites(
  database: Database,
): Pick<Ledger, 'putCheckpoint' | 'checkpoints' | 'pruneCheckpoints' | 'noteRestore' | 'restores'> {
  return {
    async putCheckpoint({ run, step, path, manifest }) {
      await database.run(PUT, [run, step, path, storableJson(manifest)]);
    },
    async checkpoints(run) {
      return (await database.run<Columns & Record<string, unknown>>(READ, [run])).map(checkpointOf);
    },
    async pruneCheckpoints(run, steps, rule) {
      const rows = await database.run<Columns & Record<string, unknown>>(PRUNE, [run, [...steps], rule]);
      return rows.map(checkpointOf);
    },
    async noteRestore({ run, wanted, opened, passedOver }) {
      const reasons = passedOver.map(({ step, reason }) => ({ step, reason: storable(reason) }));
      await database.run(NOTE_RESTORE, [randomUUID(), run, wanted, opened, storableJson(reasons)]);
    },
    async restores(run) {
      const rows = await database.run<RestoreColumns & Record<string, unknown>>(READ_RESTORES, [run]);
      return rows.map(({ wanted, opened, passed_over: passedOver, at }) => ({
        ...{ run, wanted, opened, passedOver },
        at: iso(at),
      }));
    },
  };
}

function checkpointOf({ run, step, path, manifest, pruned_at: at, pruned_by: rule }: Columns): CheckpointRow {
  return { run, step, path, manifest, ...(at && rule ? { pruned: { at: iso(at), rule } } : {}) };
}
