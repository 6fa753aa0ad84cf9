/** Clocks of the hosts agree: leases, logs and the order of checkpoints hang on them. */
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import type { Check, ClusterAsked } from '../asked.js';
import type { ClockBounds } from '../cluster.js';

/** Beyond this two hosts disagree. Far above what a network's delays can look like, far below a lease. */
const MOST_SKEW_MS = 2_000;

export const clocks: Check<ClusterAsked> = {
  name: 'clocks',
  run(asked) {
    const known = [...(asked.cluster?.clocks ?? [])];
    if (known.length === 0) return skipped('no host has answered');
    return unless(
      clockProblems(known),
      `within ${MOST_SKEW_MS / 1000} s of each other, as far as can be told`,
    );
  },
};

/** Each host against the one that most others agree with: one wrong clock is one problem. */
export function clockProblems(clocks: readonly (readonly [string, ClockBounds])[]): readonly Finding[] {
  const agrees = ([, a]: readonly [string, ClockBounds]): number =>
    clocks.filter(([, b]) => surelyAhead(a, b) === 0 && surelyAhead(b, a) === 0).length;
  const [reference] = clocks.toSorted((a, b) => agrees(b) - agrees(a));
  return clocks.flatMap(([host, bounds]): Finding[] => {
    const ahead = surelyAhead(bounds, reference![1]);
    const behind = surelyAhead(reference![1], bounds);
    if (ahead === 0 && behind === 0) return [];
    const by = Math.max(ahead, behind);
    return [
      {
        place: `clock of ${host}`,
        expected: `within ${MOST_SKEW_MS / 1000} s of ${reference![0]}'s`,
        found: `at least ${(by / 1000).toFixed(1)} s ${ahead > 0 ? 'ahead' : 'behind'}`,
        fix: 'Let a time service set it: chrony or systemd-timesyncd.',
      },
    ];
  });
}

/** How far a is ahead of b at the least, ms, where that is too far; else 0. */
function surelyAhead(a: ClockBounds, b: ClockBounds): number {
  const least = a.least - b.most;
  return least > MOST_SKEW_MS ? least : 0;
}
