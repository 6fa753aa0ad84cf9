/** What `verify ledger` looks at on GPU hosts: servings with who needs them, servers, and the jobs of trainers. */

/** Both sides note an end a moment apart; what is left after so long was forgotten. */
const A_WHILE = "interval '5 minutes'";
const OPEN = "IN ('intended', 'started')";
const ENDED = "IN ('done', 'failed', 'stopped')";
const VERL = `c.config -> 'trainer' ->> 'kind' = 'verl'`;
const RUN_IN_SCOPE = '($1::text IS NULL OR c.id = $1 OR c.parent = $1)';
const SERVING_IN_SCOPE =
  '($1::text IS NULL OR EXISTS (SELECT FROM serving_leases l WHERE l.serving = s.name AND l.holder = $1))';

/** Each gives keys, and whether they are offending; a wanted one lives as long as somebody needs it. */
export const SERVINGS = `
  SELECT s.name || ': ' || s.state || ', and nobody needs it' AS key,
    s.state NOT IN ('stopped', 'failed') AND s.changed_at < now() - ${A_WHILE} AND NOT EXISTS (
      SELECT FROM serving_leases l WHERE l.serving = s.name AND (l.expires_at > now()
        OR EXISTS (SELECT FROM campaigns c WHERE c.id = l.holder AND c.state IN ('running', 'paused')))) AS bad
    FROM servings s WHERE ${SERVING_IN_SCOPE}
  UNION ALL
  SELECT s.name || ': needed by ' || c.id || ', which is ' || c.state,
    s.state NOT IN ('stopped', 'failed') AND l.expires_at > now() AND c.state ${ENDED} AND c.ended_at < now() - ${A_WHILE}
    FROM serving_leases l JOIN servings s ON s.name = l.serving JOIN campaigns c ON c.id = l.holder WHERE ${SERVING_IN_SCOPE}
  UNION ALL
  SELECT v.id || ' on ' || v.host || ': ' || s.name || ' is ' || s.state || CASE WHEN s.host IS DISTINCT FROM v.host
      THEN ', elsewhere' ELSE '' END || ', and its server has not ended',
    v.state ${OPEN} AND (v.expires_at < now() - ${A_WHILE} OR s.changed_at < now() - ${A_WHILE}
      AND (s.state IN ('stopped', 'failed') OR s.host IS DISTINCT FROM v.host))
    FROM servers v JOIN servings s ON s.name = v.serving WHERE ${SERVING_IN_SCOPE}`;

export const JOBS = `
  SELECT c.id || ': ' || count(*) || ' jobs at once' AS key, count(*) > 1 AS bad
    FROM jobs j JOIN campaigns c ON c.id = j.run WHERE j.state ${OPEN} AND ${RUN_IN_SCOPE} GROUP BY c.id
  UNION ALL
  SELECT (c.config -> 'trainer' ->> 'checkpoints') || ': jobs of ' || string_agg(DISTINCT c.id, ', '),
    count(DISTINCT c.id) > 1 AND bool_or(${RUN_IN_SCOPE})
    FROM jobs j JOIN campaigns c ON c.id = j.run WHERE j.state ${OPEN} GROUP BY c.config -> 'trainer' ->> 'checkpoints'
  UNION ALL
  SELECT j.id || ': ' || c.id || ' is ' || c.state || ', and its job has not ended',
    c.state ${ENDED} AND c.ended_at < now() - ${A_WHILE}
    FROM jobs j JOIN campaigns c ON c.id = j.run WHERE j.state ${OPEN} AND ${RUN_IN_SCOPE}
  UNION ALL
  SELECT c.id || ': started again ' || (c.result -> 'job' ->> 'restarts') || ' times, of '
      || (c.config -> 'trainer' ->> 'restarts'),
    (c.result -> 'job' ->> 'restarts')::int > (c.config -> 'trainer' ->> 'restarts')::int
    FROM campaigns c WHERE ${VERL} AND c.result -> 'job' IS NOT NULL AND ${RUN_IN_SCOPE}
  UNION ALL
  SELECT v.id || ' on ' || v.host || ': a server of ' || v.serving || ' beside the job of ' || c.id, v.state ${OPEN}
    FROM jobs j JOIN campaigns c ON c.id = j.run
      JOIN servers v ON c.config -> 'trainer' -> 'hosts' @> jsonb_build_array(jsonb_build_object('name', v.host))
    WHERE j.state ${OPEN} AND c.state = 'running' AND ${RUN_IN_SCOPE}
  UNION ALL
  SELECT k.path || ': recorded for step ' || k.step || ' of ' || c.id,
    k.path <> (c.config -> 'trainer' ->> 'checkpoints') || '/global_step_' || k.step
    FROM checkpoints k JOIN campaigns c ON c.id = k.run WHERE ${VERL} AND ${RUN_IN_SCOPE}`;
