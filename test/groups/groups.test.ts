import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemberResult } from '../../core/group.js';
import { type MemberStart, StepGroups, type StepGroupsOptions } from '../../core/groups.js';
import { TaskOrder } from '../../core/order.js';
import { randomStream } from '../../core/random.js';

type Options = Omit<StepGroupsOptions, 'tasks'> & {
  readonly pool: number;
  readonly cursor: number;
};

const shape = { groups: 3, size: 2, maxRounds: 3, maxGroups: 12, minInformative: 1 } as const;

function newStep({ pool, cursor, ...options }: Options): StepGroups {
  const tasks = Array.from({ length: pool }, (_, index) => `t:${index}`);
  return new StepGroups({ ...options, tasks: new TaskOrder(tasks, 7).distinctFrom(cursor) });
}

/** Runs a step to its end; `pick` chooses which running attempt ends next, `limit` how many may run. */
function drive(
  step: StepGroups,
  resultOf: (start: MemberStart) => MemberResult,
  pick: (running: number) => number = () => 0,
  limit = Number.POSITIVE_INFINITY,
): MemberStart[] {
  const running = step.toStart(limit);
  const started = [...running];
  while (running.length > 0) {
    const [ended] = running.splice(pick(running.length), 1) as [MemberStart];
    step.memberDone(ended.group, ended.member, resultOf(ended));
    const more = step.toStart(limit - running.length);
    running.push(...more);
    started.push(...more);
  }
  return started;
}

const passed: MemberResult = { outcome: 'clean', reward: 1 };
const failed: MemberResult = { outcome: 'clean', reward: 0 };
const lost: MemberResult = { outcome: 'exhausted', fault: 'sandbox' };
const mixed = ({ member }: MemberStart) => (member === 0 ? passed : failed);

describe('StepGroups', () => {
  it('is done after one round when every group is informative', () => {
    const step = newStep({ ...shape, refill: 'round', pool: 9, cursor: 4 });
    const started = drive(step, mixed);
    expect(started.map(({ round, group, member }) => `${round}.${group}.${member}`)).toEqual([
      '0.0.0',
      '0.0.1',
      '0.1.0',
      '0.1.1',
      '0.2.0',
      '0.2.1',
    ]);
    expect(step.end()).toMatchObject({
      state: 'ready',
      cause: null,
      batch: [{ group: 0 }, { group: 1 }, { group: 2 }],
    });
    expect(step.counts()).toMatchObject({ started: 3, informative: 3, refills: 0, rounds: 0 });
  });

  it('replaces exactly what is missing, only after the whole round has ended', () => {
    const step = newStep({ ...shape, refill: 'round', pool: 9, cursor: 0 });
    step.toStart();
    for (const group of [0, 1]) for (const member of [0, 1]) step.memberDone(group, member, failed);
    expect(step.toStart()).toEqual([]);
    step.memberDone(2, 0, passed);
    const row = step.memberDone(2, 1, failed);
    expect(row).toMatchObject({ round: 0, group: 2, state: 'informative', rewards: [1, 0] });
    expect(step.toStart().map(({ round, group }) => [round, group])).toEqual([
      [1, 3],
      [1, 3],
      [1, 4],
      [1, 4],
    ]);
  });

  it('replaces at once when eager', () => {
    const step = newStep({ ...shape, refill: 'eager', pool: 9, cursor: 0 });
    step.toStart();
    for (const member of [0, 1]) step.memberDone(1, member, failed);
    expect(step.toStart().map(({ round, group, member }) => [round, group, member])).toEqual([
      [1, 3, 0],
      [1, 3, 1],
    ]);
  });

  it('replaces a group that lost a member, keeps its siblings, and drops what was not handed out', () => {
    const step = newStep({ ...shape, size: 4, refill: 'round', pool: 9, cursor: 0 });
    step.toStart(3);
    step.memberDone(0, 1, lost);
    step.memberDone(0, 0, passed);
    const row = step.memberDone(0, 2, failed);
    expect(row).toMatchObject({ group: 0, state: 'incomplete', rewards: [1, null, 0, null] });
    expect(step.toStart(1)).toMatchObject([{ group: 1, member: 0 }]);
  });

  it('goes on with enough informative groups when the refills are used up, and names the cause', () => {
    const step = newStep({ ...shape, refill: 'round', pool: 30, cursor: 0 });
    drive(step, (start) => (start.group === 4 ? mixed(start) : failed));
    const end = step.end();
    expect(end).toMatchObject({ state: 'ready', batch: [{ group: 4 }], cause: { kind: 'all_failed' } });
    expect(step.counts()).toMatchObject({ started: 10, zeroVariance: 9, informative: 1, rounds: 3 });
  });

  it('fails with the dominant cause when too few are informative', () => {
    const step = newStep({ ...shape, refill: 'round', pool: 30, cursor: 0 });
    drive(step, ({ group }) => (group % 3 === 0 ? passed : lost));
    expect(step.end()).toMatchObject({ state: 'failed', cause: { kind: 'sandbox', groups: 8 } });
    const message = (step.end() as { message: string }).message;
    expect(message).toContain('0 of 12 started groups are informative; 3 are wanted and at least 1 needed');
    expect(message).toContain('(sandbox, 8 groups). No more refills after 12 groups in all.');
  });

  it('ends when the pool is used up', () => {
    const step = newStep({ ...shape, refill: 'round', pool: 4, cursor: 2 });
    const started = drive(step, () => failed);
    expect(new Set(started.map(({ taskId }) => taskId)).size).toBe(4);
    expect(step.end()).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('pool was started once (4)'),
    });
  });

  it('refuses impossible shapes, foreign results and early ends', () => {
    const base: Options = { ...shape, refill: 'round', pool: 9, cursor: 0 };
    expect(() => newStep({ ...base, maxGroups: 2 })).toThrow('maxGroups: expected an integer from 3');
    expect(() => newStep({ ...base, size: 1 })).toThrow('size: expected');
    expect(() => newStep({ ...base, minInformative: 4 })).toThrow('from 1 to 3');
    const step = newStep(base);
    expect(() => step.end()).toThrow('no result yet');
    expect(() => step.memberDone(0, 0, passed)).toThrow('not running');
    step.toStart();
    step.memberDone(0, 0, passed);
    expect(() => step.memberDone(0, 0, passed)).toThrow('not running');
  });
});

/** A world: shape, pool, and what each (group, member) of it comes to, whoever ends first. */
const world = fc
  .record({
    groups: fc.integer({ min: 1, max: 6 }),
    size: fc.integer({ min: 2, max: 4 }),
    maxRounds: fc.integer({ min: 0, max: 3 }),
    extra: fc.integer({ min: 0, max: 20 }),
    pool: fc.integer({ min: 1, max: 30 }),
    cursor: fc.nat(100),
    minInformative: fc.integer({ min: 1, max: 6 }),
    refill: fc.constantFrom('round' as const, 'eager' as const),
    seed: fc.nat(),
    /** Percentages of exhausted members, and of passes per group. */
    loss: fc.constantFrom(0, 0, 5, 30, 100),
    limit: fc.constantFrom(1, 2, 5, Number.POSITIVE_INFINITY),
  })
  .map(({ extra, minInformative, ...rest }) => ({
    ...rest,
    maxGroups: rest.groups + extra,
    minInformative: Math.min(minInformative, rest.groups),
  }));

function resultIn({ seed, loss }: { seed: number; loss: number }) {
  return ({ round, group, member, taskId }: MemberStart): MemberResult => {
    // The round is part of the key and so of an episode's seed: let it decide the result here too.
    const stream = randomStream(seed, round, group, member, taskId);
    if (stream.below(100) < loss) return { outcome: 'exhausted', fault: 'policy' };
    const solved = randomStream(seed, taskId).below(3) * 50;
    return { outcome: 'clean', reward: stream.below(100) < solved ? 1 : 0 };
  };
}

describe('StepGroups, whatever ends first', () => {
  it('ends within its bounds and never puts a task into a batch twice', () => {
    fc.assert(
      fc.property(world, fc.nat(), ({ limit, ...options }, picks) => {
        const step = newStep(options);
        const stream = randomStream('picks', picks);
        const started = drive(step, resultIn(options), (running) => stream.below(running), limit);
        const { groups, size, maxRounds, maxGroups, pool } = options;
        const counts = step.counts();
        expect(step.done).toBe(true);
        expect(counts.started).toBeLessThanOrEqual(Math.min(maxGroups, groups * (maxRounds + 1), pool));
        expect(counts.rounds).toBeLessThanOrEqual(maxRounds);
        expect(counts.informative).toBeLessThanOrEqual(groups);
        expect(counts.informative + counts.zeroVariance + counts.incomplete).toBe(counts.started);
        expect(started.length).toBeLessThanOrEqual(counts.started * size);
        expect(new Set(started.map(({ group, member }) => `${group}.${member}`)).size).toBe(started.length);
        const rows = step.rows();
        expect(new Set(rows.map(({ taskId }) => taskId)).size).toBe(rows.length);
        const end = step.end();
        expect(end.state).toBe(counts.informative >= options.minInformative ? 'ready' : 'failed');
        if (end.state === 'ready')
          expect(end.batch.every(({ rewards }) => rewards.length === size)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  it('gives the same batch in every order of completion', () => {
    fc.assert(
      fc.property(world, fc.nat(), ({ limit, ...options }, picks) => {
        const stream = randomStream('picks', picks);
        const inOrder = newStep(options);
        const anyOrder = newStep(options);
        drive(inOrder, resultIn(options));
        drive(anyOrder, resultIn(options), (running) => stream.below(running));
        expect(anyOrder.end()).toEqual(inOrder.end());
        expect(anyOrder.rows()).toEqual(inOrder.rows());
      }),
      { numRuns: 150 },
    );
  });

  it('keeps every clean episode of an earlier run of the same step', () => {
    fc.assert(
      fc.property(world, fc.nat(), fc.nat(100), ({ limit, ...options }, picks, keepShare) => {
        const first = newStep(options);
        const resultOf = resultIn(options);
        const started = drive(first, resultOf, () => 0, limit);
        const stream = randomStream('picks', picks);
        const recorded = started.map((start) => {
          const result = resultOf(start);
          const kept = result.outcome === 'clean' && stream.below(100) <= keepShare;
          return { ...start, reward: kept ? result.reward : null };
        });
        const again = newStep({ ...options, recorded });
        const restarted = drive(again, resultOf, (running) => stream.below(running));
        const keyOf = ({ round, group, member, taskId }: MemberStart) =>
          `${taskId} ${round}.${group}.${member}`;
        const clean = new Set(recorded.filter(({ reward }) => reward !== null).map(keyOf));
        expect(restarted.filter((start) => clean.has(keyOf(start)))).toEqual([]);
        expect(again.counts().started).toBeGreaterThanOrEqual(first.counts().started);
        // Without losses, the second run is the first one continued.
        if (options.loss === 0) expect(again.end()).toEqual(first.end());
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the keys of replacements when a lost group comes back', () => {
    const options: Options = { ...shape, groups: 2, refill: 'round', pool: 20, cursor: 0 };
    const broken = (start: MemberStart) =>
      start.group === 0 ? lost : start.group === 2 ? failed : mixed(start);
    const first = newStep(options);
    const started = drive(first, broken);
    expect(first.rows().map(({ round, group, state }) => [round, group, state])).toEqual([
      [0, 0, 'incomplete'],
      [0, 1, 'informative'],
      [1, 2, 'zero_variance'],
      [2, 3, 'informative'],
    ]);
    const recorded = started.map((start) => {
      const result = broken(start);
      return { ...start, reward: result.outcome === 'clean' ? result.reward : null };
    });
    const again = newStep({ ...options, recorded });
    expect(drive(again, mixed).map(({ group }) => group)).toEqual([0, 0]);
    expect(again.end()).toMatchObject({ state: 'ready', batch: [{ group: 0 }, { group: 1 }] });
    // Group 3 was started by this step before: the next step must not begin with its task.
    expect(again.counts().started).toBe(4);
  });

  it('refuses a record that does not fit the order', () => {
    const options: Options = { ...shape, refill: 'round', pool: 9, cursor: 0 };
    const [start] = newStep(options).toStart() as [MemberStart];
    const recorded = [{ ...start, taskId: 'elsewhere', reward: 1 }];
    expect(() => newStep({ ...options, recorded })).toThrow('recorded member 0.0.0: expected task');
  });
});
