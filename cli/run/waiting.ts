/** Requests that wait for the limits of a provider: no trouble, but the reason why a campaign goes slowly. */
import { limitsText, type ProviderRow } from '../../core/limits/rates.js';
import { durationText } from './progress.js';

/** Undefined where nobody waits. */
export function waitingText(row: ProviderRow): string | undefined {
  const { provider, waiting, waitedMs, pausedMs } = row;
  if (pausedMs > 0) {
    const left = durationText(pausedMs / 1_000);
    return `waiting on provider ${provider}: it asked for a pause, ${left} more; ${requests(waiting)} there`;
  }
  if (waiting === 0) return undefined;
  return `waiting on provider ${provider} for ${durationText(waitedMs / 1_000)}: ${requests(waiting)}, ${limitsText(row)}`;
}

export function waitingTexts(rows: readonly ProviderRow[]): readonly string[] {
  return rows.flatMap((row) => waitingText(row) ?? []);
}

function requests(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`;
}
