/** What tokens cost: dollars per million, by model. Prices are configuration; none is built in but "free". */
import { UsageError } from './faults.js';
import type { Usage } from './outcome.js';

export interface Price {
  /** Dollars per million prompt tokens. */
  readonly promptPerMillion: number;
  /** Dollars per million sampled tokens. */
  readonly sampledPerMillion: number;
}

/** model → price. The key `*` stands for every model that has no entry. */
export type PriceTable = Readonly<Record<string, Price>>;

export const FREE: Price = { promptPerMillion: 0, sampledPerMillion: 0 };

/**
 * A price table from configuration: `{"model": {"promptPerMillion": 0.5, "sampledPerMillion": 1.5}}`.
 * Throws `UsageError` that names model and field; `place` says where the table stood.
 */
export function parsePriceTable(value: unknown, place: string): PriceTable {
  const table = objectAt(value, place, 'an object: model → {promptPerMillion, sampledPerMillion}');
  return Object.fromEntries(
    Object.entries(table).map(([model, entry]) => [model, parsePrice(entry, `${place}, model "${model}"`)]),
  );
}

function parsePrice(value: unknown, place: string): Price {
  const entry = objectAt(value, place, '{promptPerMillion, sampledPerMillion}');
  const unknown = Object.keys(entry).find((key) => !(key in FREE));
  if (unknown !== undefined) throw new UsageError(place, Object.keys(FREE).join(' and '), `key "${unknown}"`);
  const dollars = (field: keyof Price): number => {
    const amount = entry[field];
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) return amount;
    throw new UsageError(
      `${place}, ${field}`,
      'dollars per million tokens, from 0',
      JSON.stringify(amount) ?? 'none',
    );
  };
  return { promptPerMillion: dollars('promptPerMillion'), sampledPerMillion: dollars('sampledPerMillion') };
}

/** Throws `UsageError` for a model without a price: a cost of 0 must be said, never assumed. */
export function priceOf(table: PriceTable, model: string): Price {
  const price = Object.hasOwn(table, model) ? table[model] : table['*'];
  if (price) return price;
  const known = Object.keys(table).join(', ') || 'none';
  throw new UsageError(
    'prices',
    `a price for model "${model}"`,
    `prices for: ${known}`,
    'Add it, or one for "*".',
  );
}

/** Dollars for an episode's or a campaign's tokens; the simulated user's and the judge's at `other`. */
export function costOf(usage: Usage, policy: Price, other: Price = FREE): number {
  const microdollars =
    usage.policyPromptTokens * policy.promptPerMillion +
    usage.policySampledTokens * policy.sampledPerMillion +
    usage.otherPromptTokens * other.promptPerMillion +
    usage.otherSampledTokens * other.sampledPerMillion;
  return microdollars / 1e6;
}

function objectAt(value: unknown, place: string, expected: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new UsageError(
    place,
    expected,
    value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value,
  );
}
