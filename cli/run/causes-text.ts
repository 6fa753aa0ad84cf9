/** Why attempts are exhausted: the faults that ended them, the most frequent first, each with the words of one try. */
import type { LedgerReads } from '../../core/ledger-reads.js';

/** A broken endpoint has one cause; more than a few are for `steadfast episodes`. */
const SHOWN = 3;
/** Attempts looked at. */
const MOST = 1_000;

/** No lines where nothing is exhausted. */
export async function causesText(ledger: LedgerReads, campaign: string): Promise<readonly string[]> {
  const exhausted = await ledger.findAttempts({ campaign, outcome: 'exhausted', limit: MOST });
  const byCause = new Map<string, { readonly key: string; count: number }>();
  for (const { key, fault, faultCode } of exhausted) {
    const cause = [fault ?? 'unknown', faultCode].filter(Boolean).join(' ');
    const known = byCause.get(cause);
    if (known) known.count += 1;
    else byCause.set(cause, { key, count: 1 });
  }
  const causes = [...byCause].toSorted(([, a], [, b]) => b.count - a.count);
  const lines = await Promise.all(
    causes.slice(0, SHOWN).map(async ([cause, { key, count }]) => {
      const message = (await ledger.tries(key)).findLast(({ fault }) => fault)?.fault?.message;
      return `  ${cause} (${count}): ${message?.split('\n')[0] ?? 'no message'}`;
    }),
  );
  if (lines.length === 0) return [];
  const rest = causes.length - SHOWN;
  return [
    'why:',
    ...lines,
    ...(rest > 0 ? [`  ... and ${rest} more kinds`] : []),
    `  every try of one: steadfast show '${causes[0]![1].key}'`,
  ];
}
