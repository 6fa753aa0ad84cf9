/** Campaigns from above: counts, speed, tokens and faults. A pipeline stands for all campaigns that it started. */
import type { FaultKind } from '../../core/faults.js';
import type { CampaignSummary, LedgerReads, Progress } from '../../core/ledger-reads.js';
import type { ToolUse } from '../../core/metrics/conduct.js';
import { NO_USAGE } from '../../core/metrics/usage.js';
import type { Usage } from '../../core/outcome.js';
import type { Database } from './database.js';
import { DEFAULT_LIMIT } from './reads.js';
import { iso } from './values.js';

const OF_CAMPAIGN = 'a.campaign = $1 OR a.campaign IN (SELECT id FROM campaigns WHERE parent = $1)';

const CAMPAIGNS = {
  name: 'list campaigns',
  text: `SELECT c.id, c.kind, c.state, c.fingerprint, c.suite, c.suite_digest, c.parent, c.created_at, c.ended_at,
      n.planned, n.clean, n.passed, n.pending, n.exhausted
    FROM (SELECT * FROM campaigns
      WHERE ($1::text IS NULL OR kind = $1) AND ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR parent = $3)
      ORDER BY created_at DESC, id DESC LIMIT $4) c
    CROSS JOIN LATERAL (SELECT count(*)::int AS planned,
        count(*) FILTER (WHERE a.state = 'clean')::int AS clean, count(*) FILTER (WHERE a.passed)::int AS passed,
        count(*) FILTER (WHERE a.state = 'pending')::int AS pending,
        count(*) FILTER (WHERE a.state = 'exhausted')::int AS exhausted
      FROM attempts a WHERE a.campaign = c.id) n
    ORDER BY c.created_at DESC, c.id DESC`,
};
const PROGRESS = {
  name: 'progress',
  text: `SELECT count(*) FILTER (WHERE a.ended_at > now() - make_interval(secs => $2))::int AS finished,
      count(*) FILTER (WHERE a.state = 'pending')::int AS pending,
      count(*) FILTER (WHERE a.state = 'pending' AND EXISTS (
        SELECT FROM tries r WHERE r.attempt_id = a.id AND r.state = 'running'))::int AS running,
      max(a.ended_at) AS last_ended_at
    FROM attempts a WHERE ${OF_CAMPAIGN}`,
};
const USAGE = {
  name: 'usage',
  text: `SELECT t.state = 'clean' AS clean, count(*)::int AS tries,
      coalesce(sum(t.policy_prompt_tokens), 0)::float8 AS "policyPromptTokens",
      coalesce(sum(t.policy_sampled_tokens), 0)::float8 AS "policySampledTokens",
      coalesce(sum(t.policy_calls), 0)::float8 AS "policyCalls",
      coalesce(sum(t.other_prompt_tokens), 0)::float8 AS "otherPromptTokens",
      coalesce(sum(t.other_sampled_tokens), 0)::float8 AS "otherSampledTokens",
      coalesce(sum(t.other_calls), 0)::float8 AS "otherCalls"
    FROM tries t JOIN attempts a ON a.id = t.attempt_id
    WHERE (${OF_CAMPAIGN}) AND t.policy_calls IS NOT NULL AND t.reused_from IS NULL GROUP BY 1`,
};
const FAULTS = {
  name: 'fault counts',
  text: `SELECT a.task_id AS "taskId", t.fault_kind AS kind, t.fault_code AS code,
      coalesce(t.during_tool_call, false) AS "duringToolCall", count(*)::int AS tries
    FROM tries t JOIN attempts a ON a.id = t.attempt_id
    WHERE t.state = 'system_error' AND t.fault_kind <> 'cancelled' AND (${OF_CAMPAIGN})
    GROUP BY 1, 2, 3, 4 ORDER BY tries DESC, 1, 2, 3, 4`,
};
const TOOL_USE = {
  name: 'tool use',
  text: `SELECT count(*)::int AS episodes, sum(t.tool_calls)::float8 AS calls, sum(t.tool_errors)::float8 AS errors,
      count(*) FILTER (WHERE t.tool_errors > 0)::int AS "episodesWithErrors"
    FROM attempts a JOIN tries t ON t.id = a.clean_try
    WHERE (${OF_CAMPAIGN}) AND t.tool_calls IS NOT NULL AND t.tool_errors IS NOT NULL`,
};
const SANDBOXES = {
  name: 'sandbox counts',
  text: `SELECT s.state, count(*)::int AS sandboxes
    FROM sandboxes s JOIN tries t ON t.id = s.try_id JOIN attempts a ON a.id = t.attempt_id
    WHERE ${OF_CAMPAIGN} GROUP BY s.state`,
};

type SummaryColumns = Omit<CampaignSummary, 'suiteDigest' | 'createdAt' | 'endedAt' | 'counts'> &
  CampaignSummary['counts'] & { suite_digest: string; created_at: Date; ended_at: Date | null };

type UsageColumns = Usage & { readonly clean: boolean; readonly tries: number };

interface FaultColumns {
  readonly taskId: string;
  readonly kind: FaultKind;
  readonly code: string | null;
  readonly duringToolCall: boolean;
  readonly tries: number;
}

type SandboxState = 'intended' | 'created' | 'released' | 'reaped';

export function overviewReads(
  database: Database,
): Pick<LedgerReads, 'campaigns' | 'progress' | 'usage' | 'faultCounts' | 'toolUse' | 'sandboxCounts'> {
  return {
    async campaigns(filter = {}) {
      const { kind = null, state = null, parent = null, limit = DEFAULT_LIMIT } = filter;
      const rows = await database.run<SummaryColumns>(CAMPAIGNS, [kind, state, parent, limit]);
      return rows.map(summaryOf);
    },

    async progress(campaign, windowSeconds = 60): Promise<Progress> {
      type Columns = { finished: number; pending: number; running: number; last_ended_at: Date | null };
      const [row] = await database.run<Columns>(PROGRESS, [campaign, windowSeconds]);
      const { finished = 0, pending = 0, running = 0, last_ended_at: last = null } = row ?? {};
      return {
        finished,
        pending,
        running,
        perMinute: (finished * 60) / windowSeconds,
        lastEndedAt: iso(last),
      };
    },

    async usage(campaign) {
      const rows = await database.run<UsageColumns & Record<string, unknown>>(USAGE, [campaign]);
      const clean = rows.find((row) => row.clean);
      const wasted = rows.find((row) => !row.clean);
      return {
        clean: usagePart(clean),
        wasted: usagePart(wasted),
        cleanTries: clean?.tries ?? 0,
        wastedTries: wasted?.tries ?? 0,
      };
    },

    async faultCounts(campaign) {
      return database.run<FaultColumns & Record<string, unknown>>(FAULTS, [campaign]);
    },

    async toolUse(campaign) {
      const [row] = await database.run<ToolUse & Record<string, unknown>>(TOOL_USE, [campaign]);
      return row && row.episodes > 0 ? row : null;
    },

    async sandboxCounts(campaign) {
      const rows = await database.run<{ state: SandboxState; sandboxes: number }>(SANDBOXES, [campaign]);
      const of = (state: SandboxState): number => rows.find((row) => row.state === state)?.sandboxes ?? 0;
      return {
        intended: of('intended'),
        created: of('created'),
        released: of('released'),
        reaped: of('reaped'),
      };
    },
  };
}

function summaryOf(row: SummaryColumns): CampaignSummary {
  const { id, kind, state, fingerprint, suite, parent, planned, clean, passed, pending, exhausted } = row;
  return {
    ...{ id, kind, state, fingerprint, suite, parent },
    suiteDigest: row.suite_digest,
    createdAt: iso(row.created_at),
    endedAt: iso(row.ended_at),
    counts: { planned, clean, passed, pending, exhausted },
  };
}

function usagePart(row: UsageColumns | undefined): Usage {
  if (!row) return NO_USAGE;
  const { clean: _clean, tries: _tries, ...usage } = row;
  return usage;
}
