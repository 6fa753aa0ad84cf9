/**
 * What k tries of a task would do, estimated without bias from n >= k attempts of which c passed:
 *   pass@k  at least one of k passes: 1 - C(n-c, k) / C(n, k)
 *   pass^k  every one of k passes:        C(c, k)   / C(n, k)
 */

/** Throws `RangeError` unless 0 <= passed <= attempts and 1 <= k <= attempts. */
export function passAtK(passed: number, attempts: number, k: number): number {
  check(passed, attempts, k);
  return 1 - shareOfDraws(attempts - passed, attempts, k);
}

/** Throws `RangeError` unless 0 <= passed <= attempts and 1 <= k <= attempts. */
export function passPowerK(passed: number, attempts: number, k: number): number {
  check(passed, attempts, k);
  return shareOfDraws(passed, attempts, k);
}

/** C(some, k) / C(all, k) as a product, which neither overflows nor cancels: the share of k-draws that hold only `some`. */
function shareOfDraws(some: number, all: number, k: number): number {
  if (some < k) return 0;
  let share = 1;
  for (let drawn = 0; drawn < k; drawn++) share *= (some - drawn) / (all - drawn);
  return share;
}

function check(passed: number, attempts: number, k: number): void {
  const integers = [passed, attempts, k].every(Number.isSafeInteger);
  if (integers && passed >= 0 && passed <= attempts && k >= 1 && k <= attempts) return;
  throw new RangeError(
    `pass@k: expected 0 <= passed <= attempts and 1 <= k <= attempts, found ${passed} of ${attempts} with k = ${k}`,
  );
}
