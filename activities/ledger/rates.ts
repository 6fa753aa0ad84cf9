/** Limits of providers in PostgreSQL: one row each, one round trip a question, the server's clock for all processes. */
import type pg from 'pg';
import { type BucketShape, bucketShape } from '../../core/limits/bucket.js';
import {
  type ProviderLimits,
  type ProviderRow,
  type Rates,
  refuseOtherLimits,
} from '../../core/limits/rates.js';
import { createDatabase } from './database.js';

const MINUTE_MS = 60_000;
/** A question for capacity is asked again by whoever waits; it need not outlast a long outage by itself. */
const WAIT_MS = 30_000;

const NOW_NS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000';

const TAKE = {
  name: 'take rate',
  text: 'SELECT granted, booked_tokens::float8, wait_ms, request_epoch::text, token_epoch::text FROM take_rate($1, $2, $3::bigint[], $4::jsonb, $5)',
};
const PAUSE = { name: 'pause rate', text: 'SELECT pause_rate($1, $2)' };
const COLUMNS =
  'provider, requests, tokens, window_ms, declared_by, request_burst, request_each_ns, token_burst, token_each_ns';
const DECLARE = {
  name: 'declare rate',
  text: `INSERT INTO rate_limits (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (provider) DO NOTHING`,
};
/** What is booked stays booked; a bucket of another size refills at the new speed from there. */
const SET = {
  name: 'set rate',
  text: `INSERT INTO rate_limits (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (provider) DO UPDATE SET
    (requests, tokens, window_ms, declared_by, request_burst, request_each_ns, token_burst, token_each_ns) =
    ($2, $3, $4, $5, $6, $7, $8, $9)`,
};
const REMOVE = {
  name: 'remove rate',
  text: 'DELETE FROM rate_limits WHERE provider = $1 RETURNING provider',
};
const LIST = {
  name: 'list rates',
  text: `SELECT provider, requests, tokens::float8, window_ms, declared_by, refusals::float8,
      greatest(0, (paused_until_ns - now_ns) / 1e6)::float8 AS paused_ms, q.waiting, q.waited_ms
    FROM rate_limits, (SELECT ${NOW_NS} AS now_ns) AS clock, LATERAL (
      SELECT coalesce(sum((item->>2)::int), 0)::int AS waiting,
        coalesce(max((now_ns - (item->>3)::bigint) / 1e6), 0)::float8 AS waited_ms
      FROM jsonb_array_elements(queue) AS entry (item) WHERE (item->>1)::bigint > now_ns - 5000000000
    ) AS q ORDER BY provider`,
};

interface TakenRow {
  readonly granted: number;
  readonly booked_tokens: number;
  readonly wait_ms: number;
  readonly request_epoch: string;
  readonly token_epoch: string;
}

interface ListedRow {
  readonly provider: string;
  readonly requests: number | null;
  readonly tokens: number | null;
  readonly window_ms: number;
  readonly declared_by: string;
  readonly refusals: number;
  readonly paused_ms: number;
  readonly waiting: number;
  readonly waited_ms: number;
}

/** Uses the pool and does not end it. */
export function createPgRates(pool: pg.Pool): Rates {
  const database = createDatabase(pool, WAIT_MS);

  async function list(): Promise<readonly ProviderRow[]> {
    return (await database.run<ListedRow>(LIST)).map((row) => ({
      provider: row.provider,
      requests: row.requests,
      tokens: row.tokens,
      windowMs: row.window_ms,
      declaredBy: row.declared_by,
      pausedMs: row.paused_ms,
      waiting: row.waiting,
      waitedMs: row.waited_ms,
      refusals: row.refusals,
    }));
  }

  return {
    async take({ provider, holder, tokens, settled, horizonMs }) {
      const entries = settled.map((each) => [each.requestEpoch, each.tokenEpoch, each.unsent, each.tokens]);
      const values = [provider, holder, tokens, JSON.stringify(entries), Math.round(horizonMs * 1e6)];
      const [row] = await database.run<TakenRow>(TAKE, values);
      return (
        row && {
          granted: row.granted,
          bookedTokens: row.booked_tokens,
          waitMs: row.wait_ms,
          requestEpoch: row.request_epoch,
          tokenEpoch: row.token_epoch,
        }
      );
    },
    async pause(provider, ms) {
      await database.run(PAUSE, [provider, ms]);
    },
    async declare(table, by) {
      const compare = async (): Promise<void> => {
        for (const row of await list()) {
          const limits = Object.hasOwn(table, row.provider) ? table[row.provider] : undefined;
          if (limits) refuseOtherLimits(row, limits);
        }
      };
      // Before, so that a refused campaign leaves nothing; and after, since another may have been as quick.
      await compare();
      for (const [provider, limits] of Object.entries(table)) {
        await database.run(DECLARE, columns(provider, limits, by, MINUTE_MS));
      }
      await compare();
    },
    async set(provider, limits, by, windowMs = MINUTE_MS) {
      await database.run(SET, columns(provider, limits, by, windowMs));
    },
    async remove(provider) {
      return (await database.run(REMOVE, [provider])).length > 0;
    },
    list,
  };
}

/** Values in the order of `COLUMNS`. */
function columns(
  provider: string,
  { requestsPerMinute, tokensPerMinute }: ProviderLimits,
  by: string,
  windowMs: number,
): readonly unknown[] {
  const shape = (kind: 'requests' | 'tokens', limit: number | undefined): Partial<BucketShape> =>
    limit === undefined ? {} : bucketShape(kind, limit, windowMs);
  const requests = shape('requests', requestsPerMinute);
  const tokens = shape('tokens', tokensPerMinute);
  return [
    ...[provider, requestsPerMinute ?? null, tokensPerMinute ?? null, windowMs, by],
    ...[requests.burst ?? null, requests.eachNs ?? null, tokens.burst ?? null, tokens.eachNs ?? null],
  ];
}
