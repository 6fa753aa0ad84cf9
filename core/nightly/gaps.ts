/** Times at which a schedule was due and no night ran: it was paused, another night was still running, or all was down. */
import type { NightRow } from './schedule.js';

/**
 * `due`: times that Temporal computes, each up to `jitterMs` after the time that the night is named by. Those within
 * `jitterMs` of now are not missed yet.
 */
export function missedTimes(
  due: readonly string[],
  nights: readonly Pick<NightRow, 'at'>[],
  jitterMs: number,
): readonly string[] {
  const ran = nights.map(({ at }) => Date.parse(at));
  return due.filter((time) => {
    const late = Date.parse(time);
    return !ran.some((at) => at <= late && late - at <= jitterMs);
  });
}
