/** The limits that providers of models set, shared by every process and campaign that uses one key. */
import { UsageError } from '../faults.js';

/** What a provider allows in any minute. At least one of the two. */
export interface ProviderLimits {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

/** By provider's name. */
export type ProviderTable = Readonly<Record<string, ProviderLimits>>;

/** A provider and what happens there now. */
export interface ProviderRow {
  readonly provider: string;
  readonly requests: number | null;
  readonly tokens: number | null;
  readonly windowMs: number;
  /** The campaign that brought the limits, or the command that set them. */
  readonly declaredBy: string;
  /** How long the provider itself still wants a pause, ms; 0: not at all. */
  readonly pausedMs: number;
  /** Requests that wait for their turn, of all processes. */
  readonly waiting: number;
  /** How long the process that has waited longest has done so, ms; 0 when none waits. */
  readonly waitedMs: number;
  /** Times that the provider said 429 all the same. */
  readonly refusals: number;
}

/** What an earlier booking really cost. */
export interface Settlement {
  readonly requestEpoch: string;
  readonly tokenEpoch: string;
  /** Requests that were not sent. */
  readonly unsent: number;
  /** Tokens used minus tokens booked. */
  readonly tokens: number;
}

/** What a process was told. */
export interface Lease extends Pick<Settlement, 'requestEpoch' | 'tokenEpoch'> {
  /** The first so many of those that were asked for; 0: it is not their time yet, and nothing is booked. */
  readonly granted: number;
  /** Tokens booked for them. */
  readonly bookedTokens: number;
  /** They start so many ms after the question; or the question is to be asked again then, in a second at most. */
  readonly waitMs: number;
}

/** Where all processes meet. Every call is one round trip; throws `Fault('ledger')`. */
export interface Rates {
  /**
   * Books the longest prefix of the waiting requests that may start together within `horizonMs`, when it is this
   * process's turn; processes queue. Settles earlier bookings. `tokens[i]`: the most that request i may use; none: it
   * only settles, and leaves the queue. Undefined: the provider has no limits.
   */
  take(question: {
    readonly provider: string;
    /** The process, as the queue knows it. */
    readonly holder: string;
    readonly tokens: readonly number[];
    readonly settled: readonly Settlement[];
    readonly horizonMs: number;
  }): Promise<Lease | undefined>;
  /** The provider asked for a pause of so many ms: nothing of anybody starts before. */
  pause(provider: string, ms: number): Promise<void>;
  /**
   * Limits that a campaign's run file declares. Throws one `UsageError` when a provider has others here already:
   * a key has one limit, whoever uses it.
   */
  declare(table: ProviderTable, by: string): Promise<void>;
  /** Replaces a provider's limits, for everybody and at once. */
  set(provider: string, limits: ProviderLimits, by: string, windowMs?: number): Promise<void>;
  /** False when it had none. */
  remove(provider: string): Promise<boolean>;
  list(): Promise<readonly ProviderRow[]>;
}

/** `500 requests and 200000 tokens a minute`. */
export function limitsText({ requests, tokens }: Pick<ProviderRow, 'requests' | 'tokens'>): string {
  const parts = [
    ...(requests === null ? [] : [`${requests} requests`]),
    ...(tokens === null ? [] : [`${tokens} tokens`]),
  ];
  return parts.length === 0 ? 'no limit' : `${parts.join(' and ')} a minute`;
}

/** The one clear error for two campaigns that declare different limits for one key. */
export function refuseOtherLimits(
  {
    provider,
    requests,
    tokens,
    declaredBy,
  }: Pick<ProviderRow, 'provider' | 'requests' | 'tokens' | 'declaredBy'>,
  declared: ProviderLimits,
): void {
  const [wantedRequests, wantedTokens] = [
    declared.requestsPerMinute ?? null,
    declared.tokensPerMinute ?? null,
  ];
  if (requests === wantedRequests && tokens === wantedTokens) return;
  throw new UsageError(
    `provider ${provider}`,
    `${limitsText({ requests, tokens })}, as ${declaredBy} declared for everybody who uses it`,
    limitsText({ requests: wantedRequests, tokens: wantedTokens }),
    `Write the same numbers, or change them for all campaigns with: steadfast limits set ${provider} ...`,
  );
}
