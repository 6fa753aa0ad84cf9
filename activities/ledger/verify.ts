/**
 * `verify ledger`: every promise of core/invariants.ts, checked against the rows and, where a store is given, against
 * the bytes of the artifacts. Reads only; a running campaign may be verified, each answer is one moment of it.
 */
import type pg from 'pg';
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import type { TrainConfig } from '../../core/campaign.js';
import {
  groupHolds,
  type Invariant,
  runViolations,
  type Violation,
  violations,
} from '../../core/invariants.js';
import type { GroupRow, Ledger } from '../../core/ledger.js';
import type { LedgerReads } from '../../core/ledger-reads.js';
import { corruptArtifacts } from './verify-artifacts.js';
import { JOBS, SERVINGS } from './verify-hosts.js';

export interface VerifyOptions {
  readonly pool: pg.Pool;
  readonly ledger: Ledger & LedgerReads;
  /** Without it trajectories and batches are not read. */
  readonly artifacts?: ArtifactStore;
  /** One campaign, or a pipeline with all that it started; everything when absent. */
  readonly campaign?: string;
}

export interface LedgerVerification {
  /** Empty when every promise holds. */
  readonly violations: readonly Violation[];
  /** How many things each promise was checked on; 0 for what was not checked. */
  readonly checked: Readonly<Record<Invariant, number>>;
}

/** Keys that are shown of one violation by the database; `checked` counts them all. */
const MOST_KEYS = 1_000;
const IN_SCOPE = `($1::text IS NULL OR a.campaign = $1
  OR a.campaign IN (SELECT id FROM campaigns WHERE parent = $1))`;
/** Released a moment after its try ended: only what is past its expiry has been forgotten. */
const FORGOTTEN = `s.state IN ('intended', 'created') AND t.state <> 'running' AND s.expires_at < now()`;

/** Each gives the offending keys, and how many rows it looked at. */
const CHECKS: Readonly<Partial<Record<Invariant, string>>> = {
  unique_keys: `SELECT a.key, count(*) > 1 AS bad FROM attempts a WHERE ${IN_SCOPE} GROUP BY a.key`,
  clean_once: `SELECT a.key, (count(t.id) FILTER (WHERE t.state = 'clean')) <> (a.state = 'clean')::int
      OR a.clean_try IS DISTINCT FROM max(t.id) FILTER (WHERE t.state = 'clean')
      OR a.reward IS DISTINCT FROM max(t.reward) FILTER (WHERE t.state = 'clean') AS bad
    FROM attempts a LEFT JOIN tries t ON t.attempt_id = a.id WHERE ${IN_SCOPE} GROUP BY a.id`,
  running_once: `SELECT a.key, count(*) > 1 AS bad
    FROM attempts a JOIN tries t ON t.attempt_id = a.id AND t.state = 'running' WHERE ${IN_SCOPE} GROUP BY a.key`,
  coverage: `SELECT c.id AS key,
      n.planned <> n.clean + n.pending + n.exhausted OR (c.state = 'done' AND c.kind IN ('probe', 'eval')
        AND (n.pending > 0 OR n.planned <> jsonb_array_length(c.config -> 'tasks') * (c.config ->> 'repeat')::int)) AS bad
    FROM campaigns c CROSS JOIN LATERAL (SELECT count(*) AS planned,
        count(*) FILTER (WHERE a.state = 'clean') AS clean, count(*) FILTER (WHERE a.state = 'pending') AS pending,
        count(*) FILTER (WHERE a.state = 'exhausted') AS exhausted FROM attempts a WHERE a.campaign = c.id) n
    WHERE $1::text IS NULL OR c.id = $1 OR c.parent = $1`,
  sandboxes: `SELECT s.name AS key, ${FORGOTTEN} OR (s.state IN ('released', 'reaped')) <> (s.ended_at IS NOT NULL) AS bad
    FROM sandboxes s JOIN tries t ON t.id = s.try_id JOIN attempts a ON a.id = t.attempt_id WHERE ${IN_SCOPE}`,
  servings: SERVINGS,
  jobs: JOBS,
};
const TRAJECTORIES = `SELECT a.key, t.trajectory FROM attempts a JOIN tries t ON t.id = a.clean_try
  WHERE ${IN_SCOPE} ORDER BY a.id`;
const RUNS = `SELECT DISTINCT run FROM (SELECT run FROM steps UNION SELECT run FROM operations) r JOIN campaigns c ON c.id = r.run
  WHERE $1::text IS NULL OR c.id = $1 OR c.parent = $1 ORDER BY run`;

export async function verifyLedger(options: VerifyOptions): Promise<LedgerVerification> {
  const { pool, ledger, artifacts } = options;
  const scope = [options.campaign ?? null];
  const found: Violation[] = [];
  const checked: Partial<Record<Invariant, number>> = {};
  const note = (invariant: Invariant, rows: number, keys: readonly string[]): void => {
    checked[invariant] = (checked[invariant] ?? 0) + rows;
    found.push(...violations({ [invariant]: keys }));
  };

  for (const [invariant, text] of Object.entries(CHECKS) as [Invariant, string][]) {
    const sql = `SELECT count(*)::int AS rows,
      coalesce((array_agg(key ORDER BY key) FILTER (WHERE bad))[1:${MOST_KEYS}], '{}') AS keys FROM (${text}) c`;
    const { rows } = await pool.query<{ rows: number; keys: string[] }>(sql, scope);
    note(invariant, rows[0]?.rows ?? 0, rows[0]?.keys ?? []);
  }
  if (artifacts) {
    const { rows } = await pool.query<{ key: string; trajectory: Digest }>(TRAJECTORIES, scope);
    note(
      'trajectories',
      rows.length,
      await corruptArtifacts(
        artifacts,
        rows.map((row) => [row.key, row.trajectory]),
      ),
    );
  }

  const runs = await pool.query<{ run: string }>(RUNS, scope);
  for (const { run } of runs.rows) {
    const [steps, operations, checkpoints] = [
      await ledger.steps(run),
      await ledger.operations(run),
      await ledger.checkpoints(run),
    ];
    const base = await baseOf(ledger, run);
    found.push(
      ...runViolations({ run, steps, operations, checkpoints, base, job: await isJob(ledger, run) }),
    );
    note('steps_in_line', steps.length, []);
    note('lineage', steps.length, []);
    note('operations', operations.length, []);
    note('checkpoints', checkpoints.length, []);
    const groups = await groupViolations(ledger, run);
    note('groups', groups.checked, groups.keys);
    if (artifacts) {
      const batches = operations.map((row) => [row.op, row.batchDigest] as const);
      note('batches', batches.length, await corruptArtifacts(artifacts, batches));
    }
  }
  return { violations: found, checked: { ...NOTHING, ...checked } };
}

const NOTHING: Readonly<Record<Invariant, number>> = {
  coverage: 0,
  unique_keys: 0,
  clean_once: 0,
  running_once: 0,
  trajectories: 0,
  sandboxes: 0,
  steps_in_line: 0,
  lineage: 0,
  operations: 0,
  batches: 0,
  groups: 0,
  checkpoints: 0,
  servings: 0,
  jobs: 0,
};

/** Its trainer samples, trains and saves by itself. */
async function isJob(ledger: Ledger, run: string): Promise<boolean> {
  const config = (await ledger.campaign(run))?.config as Partial<TrainConfig> | undefined;
  return config?.trainer?.kind === 'verl';
}

/** Weights of the checkpoint that the run started from; null for the trainer's base, whose digest no row holds. */
async function baseOf(ledger: Ledger, run: string): Promise<Digest | null> {
  const config = (await ledger.campaign(run))?.config as { from?: unknown } | undefined;
  const from = config?.from;
  if (typeof from !== 'object' || from === null) return null;
  const { run: parent, step } = from as { run?: string; step?: number };
  if (parent === undefined) return null;
  const saved = (await ledger.checkpoints(parent)).find((row) => row.step === step);
  return saved?.manifest.weightDigest ?? null;
}

/** Groups of steps that were sampled to the end; before that their attempts still change. */
async function groupViolations(
  ledger: Ledger & LedgerReads,
  run: string,
): Promise<{ checked: number; keys: string[] }> {
  const settled = (await ledger.steps(run)).filter(({ state }) => state !== 'sampling' && state !== 'failed');
  const keys: string[] = [];
  let checked = 0;
  for (const { step, started } of settled) {
    const rewards = new Map<string, (number | null)[]>();
    for (const row of await ledger.attempts(run, { step })) {
      if (row.round === null || row.group === null || row.member === null) continue;
      const members = rewards.get(`${row.round}.${row.group} ${row.taskId}`) ?? [];
      members[row.member] = row.state === 'clean' ? row.reward : null;
      rewards.set(`${row.round}.${row.group} ${row.taskId}`, members);
    }
    const groups = await ledger.groups(run, step);
    const place = ({ round, group, taskId }: GroupRow): string => `${round}.${group} ${taskId}`;
    const bad = groups.filter((group) => !groupHolds(group, rewards.get(place(group)) ?? []));
    keys.push(...bad.map((group) => `${run} step ${step} group ${place(group)}`));
    if (groups.length !== started)
      keys.push(`${run} step ${step}: ${groups.length} groups recorded, ${started} started`);
    checked += groups.length;
  }
  return { checked, keys };
}
