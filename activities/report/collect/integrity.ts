/** What the ledger promises, checked on the rows that the report is made from. `verify ledger` checks all of it. */
import { INVARIANTS, runViolations } from '../../../core/invariants.js';
import type { RestoreRow } from '../../../core/ledger.js';
import type { InvariantReport } from '../../../core/report-data.js';
import { count, plural } from '../format.js';
import type { Campaign } from './source.js';
import type { RunRows } from './training.js';

type SandboxCounts = Readonly<Record<'intended' | 'created' | 'released' | 'reaped', number>>;

export function attemptInvariants(campaigns: readonly Campaign[]): readonly InvariantReport[] {
  const total = { planned: 0, clean: 0, exhausted: 0, pending: 0 };
  for (const { counts } of campaigns) {
    total.planned += counts.planned;
    total.clean += counts.clean;
    total.exhausted += counts.exhausted;
    total.pending += counts.pending;
  }
  const rows = campaigns.flatMap(({ attempts }) => attempts);
  const keys = new Set(rows.map((row) => row.key));
  const bare = rows.filter((row) => row.state === 'clean' && row.trajectory === null);
  return [
    {
      name: 'Every attempt is accounted for.',
      holds: total.planned === total.clean + total.exhausted + total.pending,
      detail: `${count(total.planned)} planned = ${count(total.clean)} clean + ${count(total.exhausted)} exhausted + ${count(total.pending)} pending`,
    },
    {
      name: 'No attempt counts twice.',
      holds: keys.size === rows.length,
      detail: `${plural(keys.size, 'key')}, ${plural(rows.length, 'row')}`,
    },
    {
      name: 'Every outcome can be read again.',
      holds: bare.length === 0,
      detail:
        bare.length === 0
          ? `${plural(total.clean, 'clean attempt')}, each with its trajectory`
          : `without a trajectory: ${bare
              .slice(0, 3)
              .map((row) => row.key)
              .join(', ')}`,
    },
  ];
}

/** Open sandboxes are wrong only when nothing runs any more. */
export function sandboxInvariant(counts: SandboxCounts, ended: boolean): InvariantReport {
  const open = counts.intended + counts.created;
  const all = open + counts.released + counts.reaped;
  return {
    name: ended ? 'Every sandbox is gone.' : 'Every sandbox is known.',
    holds: !ended || open === 0,
    detail: `${count(all)} recorded = ${count(counts.released)} released + ${count(counts.reaped)} reaped + ${count(open)} open`,
  };
}

export function runInvariant(run: string, rows: RunRows, updates: number): InvariantReport {
  const broken = runViolations({ run, ...rows, base: null });
  return {
    name: 'One line of weights.',
    holds: broken.length === 0,
    detail:
      broken.length === 0
        ? `${plural(updates, 'update')}, each applied once, on the weights that the one before left`
        : broken
            .map(({ invariant, keys }) => `not so: ${INVARIANTS[invariant]} (${keys.slice(0, 3).join(', ')})`)
            .join('; '),
  };
}

/** Told only where weights were lost: each restore ended at the recorded digests, or the run would not have gone on. */
export function restoreInvariants(restores: readonly RestoreRow[]): readonly InvariantReport[] {
  if (restores.length === 0) return [];
  const passed = restores.flatMap(({ passedOver }) => passedOver);
  const told = passed.slice(0, 3).map(({ step, reason }) => `step ${step} (${reason})`);
  return [
    {
      name: 'Lost weights were brought back.',
      holds: true,
      detail: [
        `the trainer was brought to its weights again ${restores.length === 1 ? 'once' : `${count(restores.length)} times`}, to the recorded digests`,
        ...(passed.length > 0
          ? [`passed over ${plural(passed.length, 'checkpoint')}: ${told.join('; ')}`]
          : []),
      ].join('; '),
    },
  ];
}
