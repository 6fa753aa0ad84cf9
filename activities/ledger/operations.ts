/** Updates asked of the trainer: written down before they are sent, ended with the trainer's report. */
import { Fault } from '../../core/faults.js';
import type { Ledger, OperationRow, OperationState, StepState } from '../../core/ledger.js';
import type { UpdateReport } from '../../core/trainer.js';
import type { Database } from './database.js';
import { storableJson } from './values.js';

const INTEND = {
  name: 'intend operation',
  text: `INSERT INTO operations (op, run, step, base_digest, batch_digest, plan)
    VALUES ($1, $2, $3, $4, $5, $6::jsonb) ON CONFLICT (op) DO NOTHING`,
};
/** The row, and whether it is the same request; and another operation that has done this step already. */
const INTENDED = {
  name: 'intended operation',
  text: `SELECT o.*, (o.run, o.step, o.base_digest, o.batch_digest, o.plan) = ($2, $3::int, $4, $5, $6::jsonb) AS same,
      (SELECT d.op FROM operations d WHERE d.run = $2 AND d.step = $3 AND d.state = 'done' AND d.op <> $1) AS done_by
    FROM operations o WHERE o.op = $1`,
};
const SENT = {
  name: 'operation sent',
  text: `UPDATE operations SET state = 'sent', sent_at = now(), ended_at = NULL WHERE op = $1 AND state IN ('intended', 'failed')`,
};
const FAILED = {
  name: 'operation failed',
  text: `UPDATE operations SET state = 'failed', ended_at = now() WHERE op = $1 AND state IN ('intended', 'sent')`,
};
/** Locked, so that skipping a step and applying its update are put in an order. */
const STEP_STATE = {
  name: 'state of the step of an operation',
  text: 'SELECT state FROM steps WHERE run = $1 AND step = $2 FOR UPDATE',
};
const LOCK = { name: 'lock operation', text: 'SELECT * FROM operations WHERE op = $1 FOR UPDATE' };
const DONE = {
  name: 'operation done',
  text: `UPDATE operations SET state = 'done', report = $2::jsonb, ended_at = now() WHERE op = $1`,
};
/** The step that the operation belongs to; one that has ended keeps its state. */
const MOVE_STEP = {
  name: 'move step',
  text: `UPDATE steps SET weight_digest = $3, base_digest = $4, op = $5, updated_at = now(),
      state = CASE WHEN state IN ('done', 'skipped') THEN state ELSE 'updated' END
    WHERE run = $1 AND step = $2`,
};
const READ = {
  name: 'read operations',
  text: 'SELECT * FROM operations WHERE run = $1 ORDER BY step, intended_at, op',
};

interface Columns {
  readonly op: string;
  readonly run: string;
  readonly step: number;
  readonly state: OperationState;
  readonly base_digest: string;
  readonly batch_digest: string;
  readonly plan: unknown;
  readonly report: UpdateReport | null;
}

export function operationWrites(
  database: Database,
): Pick<Ledger, 'intendOperation' | 'operationSent' | 'operationFailed' | 'operationDone' | 'operations'> {
  return {
    async intendOperation({ op, run, step, baseDigest, batchDigest, plan }) {
      const values = [op, run, step, baseDigest, batchDigest, storableJson(plan)];
      await database.run(INTEND, values);
      type Found = Columns & { same: boolean; done_by: string | null } & Record<string, unknown>;
      const [row] = await database.run<Found>(INTENDED, values);
      if (!row) throw new Fault('ledger', `intend operation: ${op} vanished`);
      if (!row.same) {
        throw conflict(
          `${op} is known with another base, batch or plan (base ${row.base_digest}, batch ${row.batch_digest})`,
        );
      }
      if (row.done_by !== null)
        throw conflict(`step ${step} of ${run} is done by ${row.done_by}, not by ${op}`);
      return operationOf(row);
    },

    async operationSent(op) {
      await database.run(SENT, [op]);
    },

    async operationFailed(op) {
      await database.run(FAILED, [op]);
    },

    operationDone: (op, report) =>
      database.transaction('operation done', async (run) => {
        const [row] = await run<Columns & Record<string, unknown>>(LOCK, [op]);
        if (!row)
          throw new Fault('ledger', `operation ${op} was never intended`, {
            code: 'not_found',
            retry: false,
          });
        if (report.baseDigest !== row.base_digest || report.batchDigest !== row.batch_digest) {
          throw conflict(
            `the report of ${op} is about base ${report.baseDigest} and batch ${report.batchDigest}`,
          );
        }
        if (row.state === 'done') {
          if (row.report?.weightDigest === report.weightDigest) return;
          throw conflict(
            `${op} is done with weights ${row.report?.weightDigest}, reported are ${report.weightDigest}`,
          );
        }
        const [step] = await run<{ state: StepState }>(STEP_STATE, [row.run, row.step]);
        if (step?.state === 'skipped') {
          throw conflict(`step ${row.step} of ${row.run} was skipped: its update ${op} came too late`);
        }
        await run(DONE, [op, storableJson(report)]);
        await run(MOVE_STEP, [row.run, row.step, report.weightDigest, report.baseDigest, op]);
      }),

    async operations(run) {
      return (await database.run<Columns & Record<string, unknown>>(READ, [run])).map(operationOf);
    },
  };
}

function conflict(message: string): Fault {
  return new Fault('ledger', message, { code: 'conflict', retry: false });
}

function operationOf(row: Columns): OperationRow {
  return {
    op: row.op,
    run: row.run,
    step: row.step,
    state: row.state,
    baseDigest: row.base_digest,
    batchDigest: row.batch_digest,
    plan: row.plan,
    report: row.report,
  };
}
