/** Limits of providers that a run file declares, before anything is started. */
import type { CampaignConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { limitsText, type ProviderTable, type Rates, refuseOtherLimits } from '../../core/limits/rates.js';
import { nearest } from '../../core/nearest.js';

interface Provider {
  readonly named: boolean;
  readonly name: string;
}

/** Providers of the endpoints that a campaign asks, by the names that they are given, else by their hosts. */
function providersOf(config: CampaignConfig): readonly Provider[] {
  const model = 'model' in config && 'baseUrl' in config.model ? [config.model] : [];
  const people = config.people ? [config.people.user, config.people.judge] : [];
  return [...model, ...people].flatMap(({ baseUrl, provider }): Provider[] => {
    if (provider !== undefined) return [{ named: true, name: provider }];
    return baseUrl !== null && URL.canParse(baseUrl) ? [{ named: false, name: new URL(baseUrl).host }] : [];
  });
}

/** Throws `UsageError` for limits of a provider that no endpoint of the campaign has. */
export function requireUsed(config: CampaignConfig, table: ProviderTable): void {
  const used = providersOf(config).map(({ name }) => name);
  const unused = Object.keys(table).find((name) => !used.includes(name));
  if (unused === undefined) return;
  const near = nearest(unused, used);
  const expected =
    used.length === 0 ? 'no limits, since no model of this file has a provider' : `one of ${used.join(', ')}`;
  throw new UsageError(
    `providers.${unused}`,
    expected,
    'limits that nothing would keep',
    near && `Did you mean ${near}?`,
  );
}

/**
 * Throws `UsageError` for limits that no endpoint has, for a provider that an endpoint names and nobody has declared,
 * and for one that has other limits already.
 */
export async function checkProviders(
  rates: Rates,
  config: CampaignConfig,
  table: ProviderTable,
): Promise<void> {
  requireUsed(config, table);
  const named = providersOf(config).filter((provider) => provider.named);
  // Most campaigns have none, and ask nothing.
  if (Object.keys(table).length === 0 && named.length === 0) return;
  const rows = await rates.list();
  const known = new Set([...Object.keys(table), ...rows.map(({ provider }) => provider)]);
  const undeclared = named.find(({ name }) => !known.has(name));
  if (undeclared) {
    throw new UsageError(
      `provider ${undeclared.name}`,
      'limits under `providers` in the run file, or set before with: steadfast limits set',
      'none',
    );
  }
  for (const row of rows) {
    const limits = Object.hasOwn(table, row.provider) ? table[row.provider] : undefined;
    if (limits) refuseOtherLimits(row, limits);
  }
}

/** Declares the limits for everybody who uses the same keys. Throws as `checkProviders` does. */
export async function declareProviders(
  rates: Rates,
  id: string,
  config: CampaignConfig,
  table: ProviderTable,
): Promise<void> {
  await checkProviders(rates, config, table);
  if (Object.keys(table).length > 0) await rates.declare(table, id);
}

/** One line each, for people. */
export function providerLines(table: ProviderTable): readonly string[] {
  return Object.entries(table).map(([provider, { requestsPerMinute, tokensPerMinute }]) => {
    const limits = { requests: requestsPerMinute ?? null, tokens: tokensPerMinute ?? null };
    return `provider ${provider}: ${limitsText(limits)}, for everybody who uses it`;
  });
}
