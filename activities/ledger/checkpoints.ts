/** Checkpoints: where each is, and the manifest that verifies it. */
import type { CheckpointRow, Ledger } from '../../core/ledger.js';
import type { Database } from './database.js';
import { storableJson } from './values.js';

const PUT = {
  name: 'put checkpoint',
  text: `INSERT INTO checkpoints (run, step, path, manifest) VALUES ($1, $2, $3, $4::jsonb)
    ON CONFLICT (run, step) DO UPDATE SET path = excluded.path, manifest = excluded.manifest, created_at = now()`,
};
const READ = {
  name: 'read checkpoints',
  text: 'SELECT run, step, path, manifest FROM checkpoints WHERE run = $1 ORDER BY step DESC',
};

export function checkpointWrites(database: Database): Pick<Ledger, 'putCheckpoint' | 'checkpoints'> {
  return {
    async putCheckpoint({ run, step, path, manifest }) {
      await database.run(PUT, [run, step, path, storableJson(manifest)]);
    },
    async checkpoints(run) {
      return database.run<CheckpointRow & Record<string, unknown>>(READ, [run]);
    },
  };
}
