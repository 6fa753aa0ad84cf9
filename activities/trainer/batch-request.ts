/**
 * An update as the trainer is sent it: the batch by path, and by path each token record that it refers to. What the
 * trainer then refuses is looked at from here as well, so that a record that is gone is named with its episode.
 */
import type { ArtifactStore } from '../../core/artifacts.js';
import { recordsOf } from '../../core/batch.js';
import { Fault } from '../../core/faults.js';
import type { OperationRow } from '../../core/ledger.js';
import type { Trainer, UpdatePlan, UpdateReport } from '../../core/trainer.js';
import { readTokenRecord } from '../campaign/token-record.js';

type Request = Parameters<Trainer['update']>[0];

/**
 * Throws what `send` throws; `Fault('artifacts', code: 'missing' | 'corrupt')` in place of a `bad_batch` that is
 * the fault of a token record.
 */
export async function sendBatch(
  artifacts: ArtifactStore,
  { run, op, baseDigest, batchDigest, plan }: Omit<OperationRow, 'step' | 'state' | 'report'>,
  send: (request: Request) => Promise<UpdateReport>,
): Promise<UpdateReport> {
  const records = recordsOf(await artifacts.get(batchDigest));
  const request = {
    ...{ run, op, baseDigest, batchDigest, plan: plan as UpdatePlan },
    batchPath: artifacts.path(batchDigest),
  };
  if (records === undefined) return send(request);
  const recordPaths = Object.fromEntries(records.map(({ record }) => [record, artifacts.path(record)]));
  try {
    return await send({ ...request, recordPaths });
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'bad_batch')) throw error;
    for (const { key, record } of records) await readTokenRecord(artifacts, key, record);
    throw error;
  }
}
