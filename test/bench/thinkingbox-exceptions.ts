/**
 * Altered episodes that pass, by case: what was altered in them changes nothing that the official check looks at. Every
 * other altered episode fails, in each domain; one more that passes is a new exception, and the figure does not hold.
 */
export const ALTERED = ['extra', 'missing', 'amount'] as const;
export type Altered = (typeof ALTERED)[number];

export const EXCEPTIONS: Readonly<Record<Altered, readonly string[]>> = {
  /** Their servers make no second row of the same create. */
  extra: [
    'sandbox_auto_insurance_group1.py:test_fnol_021',
    'sandbox_consulting_group1.py:test_hwa_007',
    'sandbox_consulting_group1.py:test_hwa_016',
  ],
  /** That write repeats an earlier one. */
  missing: ['sandbox_neobank_support_v1_group1.py:test_he_004'],
  /** The number leaves no trace in the state. */
  amount: [
    'external_booking_v1_group1.py:test_psc_010',
    'sandbox_consulting_group1.py:test_hwa_007',
    'sandbox_consulting_group1.py:test_hwa_016',
  ],
};

export interface AlteredReport {
  readonly episodes: number;
  readonly passedIds: readonly string[];
  readonly faults: readonly unknown[];
  readonly byDomain: Readonly<Record<string, { readonly played: number; readonly passed: number }>>;
}

export interface Departures {
  /** Pass, and are not listed. */
  readonly unlisted: readonly string[];
  /** Listed, and do not pass any more; of a selection of cases nothing is said. */
  readonly stale: readonly string[];
  /** Domains in which nothing failed, or nothing could be altered. */
  readonly domainsWithoutFailure: readonly string[];
}

/** `domains`: those that must have a failing episode. `whole`: every case was played. */
export function departures(
  altered: Altered,
  report: AlteredReport,
  domains: readonly string[],
  whole: boolean,
): Departures {
  const listed = EXCEPTIONS[altered];
  return {
    unlisted: report.passedIds.filter((id) => !listed.includes(id)),
    stale: whole ? listed.filter((id) => !report.passedIds.includes(id)) : [],
    domainsWithoutFailure: domains.filter((domain) => {
      const { played = 0, passed = 0 } = report.byDomain[domain] ?? {};
      return played - passed === 0;
    }),
  };
}
