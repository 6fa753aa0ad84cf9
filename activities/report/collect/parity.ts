/** That both sides read text as the same tokens, as the campaigns of a report have proven it before they sampled. */
import { type ParityNote, parityNote } from '../../../core/parity.js';
import type { InvariantReport } from '../../../core/report-data.js';
import { count, plural } from '../format.js';
import type { Campaign } from './source.js';

/** Nothing for campaigns without tokens, and for those from before it was noted. */
export function parityInvariants(campaigns: readonly Campaign[]): readonly InvariantReport[] {
  const notes = campaigns.flatMap(({ row }) => parityNote(row.result) ?? []);
  const [newest] = notes.toSorted((a, b) => b.at.localeCompare(a.at));
  if (!newest) return [];
  const skipped = notes.some(({ state }) => state === 'skipped');
  return [
    {
      name: 'Both sides read text as the same tokens.',
      holds: !skipped,
      detail: skipped ? 'not proven: the configuration says "parity: skipped"' : detailOf(newest),
    },
  ];
}

function detailOf(note: ParityNote): string {
  if (note.state === 'skipped') return 'not proven';
  const { probes, tokens, controlLike } = note;
  const apart = controlLike.map(({ text }) => JSON.stringify(text)).join(', ');
  return [
    `${plural(probes, 'prompt')} of ${count(tokens)} tokens, equal before anything was sampled`,
    ...(controlLike.length > 0
      ? [`text that looks like a control token is plain text here and a control token there: ${apart}`]
      : []),
  ].join('; ');
}
