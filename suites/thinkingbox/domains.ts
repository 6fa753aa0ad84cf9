/** Short names of the benchmark's five domains, by scenario; any other scenario is a domain of its own. */
const DOMAINS: Readonly<Record<string, string>> = {
  sandbox_external_retail: 'retail',
  external_booking_v1: 'travel',
  sandbox_auto_insurance: 'insurance',
  sandbox_neobank_support_v1: 'neobank',
  sandbox_consulting: 'consulting',
};

export function domainOf(scenario: string, tagged: string | null): string {
  return tagged ?? DOMAINS[scenario] ?? scenario;
}
