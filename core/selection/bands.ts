/** Difficulty bands: where most of a task's success-rate posterior lies. Fixed; hardest first. */
import { UsageError } from '../faults.js';

export const BANDS = [
  { band: 'too_hard', name: 'infrequently solved', low: 0, high: 0.08 },
  { band: 'hard', name: 'difficult', low: 0.08, high: 0.4 },
  { band: 'medium', name: 'intermediate', low: 0.4, high: 0.6 },
  { band: 'easy', name: 'frequently solved', low: 0.6, high: 0.9 },
  { band: 'too_easy', name: 'nearly always solved', low: 0.9, high: 1 },
] as const;

export type BandName = (typeof BANDS)[number]['band'];

const BAND_NAMES: readonly string[] = BANDS.map(({ band }) => band);

/** `text` as a band's name. Throws `UsageError`, naming `place`, for anything else. */
export function bandNamed(text: string, place: string): BandName {
  if (BAND_NAMES.includes(text)) return text as BandName;
  throw new UsageError(place, `one of ${BAND_NAMES.join(', ')}`, `"${text}"`);
}

/** mass[band] of a posterior given as its distribution function; the masses add up to 1. */
export function bandMasses(below: (rate: number) => number): Readonly<Record<BandName, number>> {
  const mass = (low: number, high: number) => (high === 1 ? 1 : below(high)) - (low === 0 ? 0 : below(low));
  const entries = BANDS.map(({ band, low, high }) => [band, mass(low, high)] as const);
  return Object.fromEntries(entries) as Record<BandName, number>;
}

/** The band with the largest mass; an exact tie goes to the harder one. */
export function bandOf(masses: Readonly<Record<BandName, number>>): BandName {
  let largest: BandName = BANDS[0].band;
  for (const { band } of BANDS) if (masses[band] > masses[largest]) largest = band;
  return largest;
}
