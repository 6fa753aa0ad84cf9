/**
 * The sampling half of one GRPO step as a state machine without I/O (design section 7.1 to 7.3). Workflows drive it:
 *
 *   const step = new StepGroups({...});
 *   while (!step.done) { start what step.toStart() yields; on each end call step.memberDone(...) }
 *   step.end()            what to train on, or why there is nothing
 *
 * A group has ended when every attempt that was started for it has. It is then one of
 *   informative    all members clean, rewards differ                 → trained on
 *   zero_variance  all members clean, rewards equal                  → replaced
 *   incomplete     a member was exhausted (no try left)              → replaced; its siblings' episodes stay recorded
 *
 * Groups are numbered 0, 1, 2 ... over the whole step; the task of group g is the g-th distinct one of the order
 * from the cursor on, whatever ended first (`TaskOrder`). Replacements, exactly as many as are missing:
 *   `round`  assigned when every group of the round before has ended; round r is the r-th such refill
 *   `eager`  assigned as soon as one group ends; group g carries round floor(g / groups), so that keys, and with
 *            them seeds, still do not depend on who ended first
 * Both stop at `maxRounds` refill rounds (for `eager`: groups × (maxRounds + 1) groups), at `maxGroups` groups,
 * and when every task of the pool was started once. So a step starts at most `maxGroups` groups and never loops.
 */
import { dominantCause, type StepCause, stepFailure } from './causes.js';
import { UsageError } from './faults.js';
import {
  dropWaiting,
  firstFault,
  type Group,
  type InformativeGroup,
  informative,
  type MemberResult,
  rowOf,
  settle,
} from './group.js';
import type { GroupRow } from './ledger.js';

export interface StepGroupsOptions {
  /** Informative groups wanted in the batch. */
  readonly groups: number;
  /** Members of a group. */
  readonly size: number;
  /** Refill rounds after the first. */
  readonly maxRounds: number;
  /** Groups in all, replacements included. */
  readonly maxGroups: number;
  /** With fewer informative groups than this, when nothing may be refilled any more, the step fails. */
  readonly minInformative: number;
  readonly refill: 'round' | 'eager';
  /** Tasks of groups 0, 1, 2 ..., each at most once: `TaskOrder.distinctFrom(cursor)`, or a list made from it. */
  readonly tasks: Iterable<string>;
  /** What an earlier run of the same step left, clean or not: clean rewards are kept, the rest is started again. */
  readonly recorded?: readonly RecordedMember[];
}

export interface RecordedMember {
  readonly round: number;
  readonly group: number;
  readonly member: number;
  readonly taskId: string;
  /** Null when the attempt is pending or exhausted. */
  readonly reward: number | null;
}

/** One attempt to start; with the owner's id these make its key. */
export interface MemberStart {
  readonly round: number;
  readonly group: number;
  readonly member: number;
  readonly taskId: string;
}

export interface GroupCounts {
  /** Groups started: how far the cursor moves when the step is committed. */
  readonly started: number;
  readonly informative: number;
  readonly zeroVariance: number;
  readonly incomplete: number;
  readonly running: number;
  /** Groups beyond the first `groups`. */
  readonly refills: number;
  /** Refill rounds begun. */
  readonly rounds: number;
}

/** `cause` of a `ready` end: why fewer groups than wanted are trained on; null when there are enough. */
export type StepEnd =
  | { readonly state: 'ready'; readonly batch: readonly InformativeGroup[]; readonly cause: StepCause | null }
  | {
      readonly state: 'failed';
      readonly cause: StepCause;
      readonly message: string;
      /** Every attempt of every group that could be started passed: there is nothing left to learn here. */
      readonly solved: boolean;
    };

export class StepGroups {
  readonly #options: StepGroupsOptions;
  readonly #tasks: Iterator<string>;
  /** recorded[group]: rows of that group. */
  readonly #recorded = new Map<number, RecordedMember[]>();
  readonly #groups: Group[] = [];
  #refillRounds = 0;
  #poolUsedUp = false;

  constructor(options: StepGroupsOptions) {
    checkOptions(options);
    this.#options = options;
    this.#tasks = options.tasks[Symbol.iterator]();
    for (const row of options.recorded ?? []) {
      this.#recorded.set(row.group, [...(this.#recorded.get(row.group) ?? []), row]);
    }
    this.#add(options.groups, 0);
    this.#refill();
  }

  /** Attempts to start now, at most `limit`, in (group, member) order. Each is handed out once. */
  toStart(limit = Number.POSITIVE_INFINITY): MemberStart[] {
    const starts: MemberStart[] = [];
    for (const { round, group, taskId, results } of this.#groups) {
      for (const [member, result] of results.entries()) {
        if (starts.length >= limit) return starts;
        if (result !== 'waiting') continue;
        results[member] = 'running';
        starts.push({ round, group, member, taskId });
      }
    }
    return starts;
  }

  /**
   * The end of one started attempt. Returns the group's row when this ended the group, ready for the ledger.
   * Members of a lost group that were not handed out yet are dropped. Throws for an attempt that is not running.
   */
  memberDone(group: number, member: number, result: MemberResult): GroupRow | undefined {
    const entry = this.#groups[group];
    if (entry?.results[member] !== 'running') {
      throw new Error(`member ${group}.${member}: a result came for an attempt that is not running`);
    }
    entry.results[member] = result;
    if (result.outcome === 'exhausted') dropWaiting(entry);
    settle(entry);
    if (entry.state === 'running') return undefined;
    this.#refill();
    return rowOf(entry);
  }

  /** True when nothing is running and nothing more will be started. */
  get done(): boolean {
    return this.#groups.every((entry) => entry.state !== 'running');
  }

  /** Rows of the ended groups, in group order; groups that the record completed are among them from the start. */
  rows(): GroupRow[] {
    return this.#groups.filter((entry) => entry.state !== 'running').map(rowOf);
  }

  counts(): GroupCounts {
    const inState = (state: Group['state']) => this.#groups.filter((entry) => entry.state === state).length;
    return {
      started: this.#started(),
      informative: inState('informative'),
      zeroVariance: inState('zero_variance'),
      incomplete: inState('incomplete'),
      running: inState('running'),
      refills: Math.max(0, this.#groups.length - this.#options.groups),
      rounds: this.#refillRounds,
    };
  }

  /** The step's result; batch in group order. Throws while the step is not done. */
  end(): StepEnd {
    if (!this.done) throw new Error('the step has no result yet: attempts are still to come');
    const { groups, minInformative } = this.#options;
    const batch = this.#groups.filter((entry) => entry.state === 'informative').map(informative);
    if (batch.length >= groups) return { state: 'ready', batch, cause: null };
    const cause = dominantCause(this.#groups.map((entry) => ({ ...rowOf(entry), fault: firstFault(entry) })));
    if (batch.length >= minInformative) return { state: 'ready', batch, cause };
    return {
      state: 'failed',
      cause,
      solved: cause.kind === 'all_passed' && cause.groups === this.#groups.length,
      message: stepFailure(
        { informative: batch.length, started: this.#groups.length, wanted: groups, needed: minInformative },
        cause,
        this.#limitReached(),
      ),
    };
  }

  #limitReached(): string {
    const { maxGroups } = this.#options;
    if (this.#poolUsedUp) return `every task of the pool was started once (${this.#groups.length})`;
    if (this.#groups.length >= maxGroups) return `${maxGroups} groups in all`;
    return `${this.#refillRounds} refill rounds`;
  }

  /** A recorded run may have gone further than this one needs to; its groups were started all the same. */
  #started(): number {
    return Math.max(this.#groups.length, ...[...this.#recorded.keys()].map((group) => group + 1));
  }

  /** Starts replacements until nothing is missing, nothing may be started, or something runs (recorded groups end at once). */
  #refill(): void {
    const { refill, groups, maxRounds, maxGroups } = this.#options;
    while (!this.#poolUsedUp) {
      if (refill === 'round' && (!this.done || this.#refillRounds >= maxRounds)) return;
      const hoped = this.#groups.filter((entry) => ['informative', 'running'].includes(entry.state)).length;
      const limit = refill === 'round' ? maxGroups : Math.min(maxGroups, groups * (maxRounds + 1));
      const count = Math.min(groups - hoped, limit - this.#groups.length);
      if (count <= 0) return;
      if (refill === 'round') {
        this.#refillRounds += 1;
        this.#add(count, this.#refillRounds);
      } else {
        this.#add(count);
        this.#refillRounds = Math.ceil(this.#groups.length / groups) - 1;
      }
    }
  }

  #add(count: number, round?: number): void {
    for (let added = 0; added < count; added++) {
      const next = this.#tasks.next();
      if (next.done) {
        this.#poolUsedUp = true;
        return;
      }
      const group = this.#groups.length;
      this.#groups.push(this.#newGroup(group, next.value, round ?? Math.floor(group / this.#options.groups)));
    }
  }

  /** A group that was recorded keeps its recorded round, so that its attempts keep their keys. */
  #newGroup(group: number, taskId: string, round: number): Group {
    const recorded = this.#recorded.get(group) ?? [];
    const results = Array.from({ length: this.#options.size }, (): Group['results'][number] => 'waiting');
    for (const row of recorded) {
      if (row.taskId !== taskId || row.member >= results.length || row.round !== recorded[0]?.round) {
        throw new UsageError(
          `recorded member ${row.round}.${row.group}.${row.member}`,
          `task "${taskId}", one round per group, and ${results.length} members`,
          `task "${row.taskId}"`,
          'The pool, the seed, the cursor or the shape of the step differs from the recorded one.',
        );
      }
      if (row.reward !== null) results[row.member] = { outcome: 'clean', reward: row.reward };
    }
    const entry: Group = { round: recorded[0]?.round ?? round, group, taskId, results, state: 'running' };
    settle(entry);
    return entry;
  }
}

function checkOptions(options: StepGroupsOptions): void {
  const { groups, size, maxRounds, maxGroups, minInformative } = options;
  const expectInteger = (name: string, value: number, least: number, most: number) => {
    if (Number.isSafeInteger(value) && value >= least && value <= most) return;
    const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
    throw new UsageError(name, `an integer ${range}`, String(value));
  };
  expectInteger('groups', groups, 1, Number.MAX_SAFE_INTEGER);
  expectInteger('size', size, 2, Number.MAX_SAFE_INTEGER);
  expectInteger('maxRounds', maxRounds, 0, Number.MAX_SAFE_INTEGER);
  expectInteger('maxGroups', maxGroups, groups, Number.MAX_SAFE_INTEGER);
  expectInteger('minInformative', minInformative, 1, groups);
}
