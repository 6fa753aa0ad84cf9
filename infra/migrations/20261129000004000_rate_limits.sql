-- Limits of model providers, shared by every process and campaign that uses one key.

-- Up Migration

CREATE TABLE rate_limits (
  provider         text PRIMARY KEY,
  requests         integer CHECK (requests > 0),
  tokens           bigint CHECK (tokens > 0),
  window_ms        integer NOT NULL DEFAULT 60000 CHECK (window_ms > 0),
  declared_by      text NOT NULL,
  request_burst    bigint,
  request_each_ns  bigint,
  request_full_ns  bigint NOT NULL DEFAULT 0,
  request_epoch    bigint NOT NULL DEFAULT 0,
  token_burst      bigint,
  token_each_ns    bigint,
  token_full_ns    bigint NOT NULL DEFAULT 0,
  token_epoch      bigint NOT NULL DEFAULT 0,
  paused_until_ns  bigint NOT NULL DEFAULT 0,
  refusals         bigint NOT NULL DEFAULT 0,
  queue            jsonb NOT NULL DEFAULT '[]',
  CHECK ((requests IS NULL) = (request_burst IS NULL) AND (requests IS NULL) = (request_each_ns IS NULL)),
  CHECK ((tokens IS NULL) = (token_burst IS NULL) AND (tokens IS NULL) = (token_each_ns IS NULL))
) WITH (fillfactor = 50);

COMMENT ON TABLE rate_limits IS 'What one provider allows, and how much of it is booked. The rule is that of core/limits/bucket.ts.';
COMMENT ON COLUMN rate_limits.provider IS 'As endpoints name it; the host of its address where they do not.';
COMMENT ON COLUMN rate_limits.requests IS 'Requests in any window; null: not limited. The same for tokens.';
COMMENT ON COLUMN rate_limits.declared_by IS 'The campaign that brought the limits, or the command that set them.';
COMMENT ON COLUMN rate_limits.request_full_ns IS 'When the bucket is full again, ns since 1970 on this server''s clock.';
COMMENT ON COLUMN rate_limits.request_epoch IS 'Times that the bucket had been full when something started: older bookings are not given back.';
COMMENT ON COLUMN rate_limits.paused_until_ns IS 'Nothing starts before: the provider itself asked for a pause.';
COMMENT ON COLUMN rate_limits.refusals IS 'Times that the provider said 429 all the same.';
COMMENT ON COLUMN rate_limits.queue IS 'Processes that wait, the next one first: [[holder, seen_ns, requests that wait there, since_ns], ...].';

-- Books the longest prefix of a process's waiting requests (p_tokens[i]: most tokens that request i may use) that is
-- one burst, at least one of them, when it is the process's turn and they may start within p_horizon_ns; wait_ms says
-- when. Else granted is 0, nothing is booked, the process has its place in the queue, and is to ask again after wait_ms.
-- Before, it settles what is known of earlier bookings:
-- p_settled = [[request epoch, token epoch, requests that were not sent, tokens used minus tokens booked], ...].
-- No row: the provider has no limits. With an empty p_tokens it only settles, and leaves the queue.
CREATE FUNCTION take_rate(
  p_provider text, p_holder text, p_tokens bigint[], p_settled jsonb, p_horizon_ns bigint, p_now_ns bigint DEFAULT NULL
) RETURNS TABLE (granted integer, booked_tokens bigint, wait_ms double precision, request_epoch bigint, token_epoch bigint)
LANGUAGE plpgsql AS $$
DECLARE
  -- A process that waits asks every second; one that has not for so long is gone, and its place with it.
  stale_ns CONSTANT bigint := 5000000000;
  r rate_limits%ROWTYPE;
  now_ns bigint;
  start_ns bigint;
  since_ns bigint;
  entry jsonb;
  difference bigint;
  n integer := 0;
  asked bigint := 0;
BEGIN
  SELECT l.* INTO r FROM rate_limits l WHERE l.provider = p_provider FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- Not now(): that is when the transaction began, and it may have waited for the row.
  now_ns := coalesce(p_now_ns, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000);

  FOR entry IN SELECT * FROM jsonb_array_elements(p_settled) LOOP
    IF r.request_each_ns IS NOT NULL AND (entry->>0)::bigint = r.request_epoch THEN
      r.request_full_ns := r.request_full_ns - (entry->>2)::bigint * r.request_each_ns;
    END IF;
    difference := (entry->>3)::bigint;
    IF r.token_each_ns IS NOT NULL AND (difference > 0 OR (entry->>1)::bigint = r.token_epoch) THEN
      r.token_full_ns := r.token_full_ns + difference * r.token_each_ns;
    END IF;
  END LOOP;

  WHILE n < cardinality(p_tokens) LOOP
    EXIT WHEN n > 0 AND (n >= coalesce(r.request_burst, 1000)
      OR asked + p_tokens[n + 1] > coalesce(r.token_burst, asked + p_tokens[n + 1]));
    asked := asked + p_tokens[n + 1];
    n := n + 1;
  END LOOP;
  -- More than a whole window allows cannot be waited for: it starts when nothing else is booked.
  asked := least(asked, coalesce(r.tokens, asked));

  start_ns := greatest(now_ns, r.paused_until_ns);
  IF r.request_each_ns IS NOT NULL THEN
    start_ns := greatest(start_ns, r.request_full_ns + (n - r.request_burst) * r.request_each_ns);
  END IF;
  IF r.token_each_ns IS NOT NULL THEN
    start_ns := greatest(start_ns, r.token_full_ns + (asked - r.token_burst) * r.token_each_ns);
  END IF;

  -- The queue without those who are gone; who asks keeps its place, or goes to the end.
  SELECT coalesce(jsonb_agg(q.item ORDER BY q.place), '[]') INTO r.queue
    FROM jsonb_array_elements(r.queue) WITH ORDINALITY AS q (item, place)
    WHERE (q.item->>1)::bigint > now_ns - stale_ns;
  SELECT (q.item->>3)::bigint INTO since_ns FROM jsonb_array_elements(r.queue) AS q (item) WHERE q.item->>0 = p_holder;
  IF n > 0 AND start_ns <= now_ns + p_horizon_ns AND coalesce(r.queue->0->>0, p_holder) = p_holder THEN
    r.queue := CASE WHEN jsonb_array_length(r.queue) = 0 THEN r.queue ELSE r.queue - 0 END;
    IF start_ns >= r.request_full_ns THEN
      r.request_full_ns := start_ns;
      r.request_epoch := r.request_epoch + 1;
    END IF;
    r.request_full_ns := r.request_full_ns + n * coalesce(r.request_each_ns, 0);
    IF start_ns >= r.token_full_ns THEN
      r.token_full_ns := start_ns;
      r.token_epoch := r.token_epoch + 1;
    END IF;
    r.token_full_ns := r.token_full_ns + asked * coalesce(r.token_each_ns, 0);
  ELSIF n > 0 THEN
    entry := jsonb_build_array(p_holder, now_ns, cardinality(p_tokens), coalesce(since_ns, now_ns));
    SELECT coalesce(jsonb_agg(CASE WHEN q.item->>0 = p_holder THEN entry ELSE q.item END ORDER BY q.place), '[]')
      INTO r.queue FROM jsonb_array_elements(r.queue) WITH ORDINALITY AS q (item, place);
    IF since_ns IS NULL THEN
      r.queue := r.queue || jsonb_build_array(entry);
    END IF;
    n := 0;
    asked := 0;
    start_ns := start_ns - p_horizon_ns;
  ELSE
    SELECT coalesce(jsonb_agg(q.item ORDER BY q.place), '[]') INTO r.queue
      FROM jsonb_array_elements(r.queue) WITH ORDINALITY AS q (item, place) WHERE q.item->>0 <> p_holder;
  END IF;

  UPDATE rate_limits l SET
      request_full_ns = r.request_full_ns, request_epoch = r.request_epoch,
      token_full_ns = r.token_full_ns, token_epoch = r.token_epoch, queue = r.queue
    WHERE l.provider = p_provider;
  RETURN QUERY SELECT n, asked, (greatest(0, start_ns - now_ns) / 1e6)::double precision, r.request_epoch, r.token_epoch;
END $$;

-- The provider asked for a pause. True when it has limits here.
CREATE FUNCTION pause_rate(p_provider text, p_ms double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE rate_limits SET
      paused_until_ns = greatest(paused_until_ns,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 + (p_ms * 1e6)::bigint),
      refusals = refusals + 1
    WHERE provider = p_provider;
  RETURN FOUND;
END $$;

-- Down Migration

DROP FUNCTION pause_rate, take_rate;
DROP TABLE rate_limits;
