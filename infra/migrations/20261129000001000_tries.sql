-- How tries begin and end: one function call, one round trip, one transaction each.
--
-- Every function first locks the attempt's row; the statements after it see all that was committed before. So of
-- two tries that end at once, one is recorded and the other learns that it is superseded. All may be called again
-- with the same arguments. Errors of their own: SF404, a key or try that nobody planned or began.

-- Up Migration

-- Opens a try and records the sandbox it is about to make. Tries of the key that still run are lost.
-- An attempt that is clean already: nothing is written, and its result comes back as one row. Else: no row.
CREATE FUNCTION begin_try(
  p_key text, p_try integer, p_activity integer, p_worker text,
  p_sandbox text, p_isolation text, p_host text, p_expires timestamptz
) RETURNS TABLE (passed boolean, reward double precision, termination text, sampled_tokens bigint, wall_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  a attempts%ROWTYPE;
  t tries%ROWTYPE;
  opened bigint;
BEGIN
  SELECT * INTO a FROM attempts WHERE attempts.key = p_key FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'attempt "%" was never planned', p_key USING ERRCODE = 'SF404';
  END IF;
  IF a.state = 'clean' THEN
    RETURN QUERY SELECT r.passed, r.reward, r.termination, r.policy_sampled_tokens, r.wall_ms
      FROM tries r WHERE r.id = a.clean_try;
    RETURN;
  END IF;

  FOR t IN SELECT * FROM tries r WHERE r.attempt_id = a.id AND r.state = 'running' LOOP
    IF t.try_number = p_try AND t.activity_attempt = p_activity THEN
      -- The same call again: its first answer was lost on the way.
      opened := t.id;
      UPDATE tries r SET worker = p_worker WHERE r.id = t.id AND r.worker <> p_worker;
    ELSE
      UPDATE tries r SET state = 'lost', ended_at = now() WHERE r.id = t.id;
    END IF;
  END LOOP;

  IF opened IS NULL THEN
    INSERT INTO tries (attempt_id, try_number, activity_attempt, execution, worker)
    SELECT a.id, p_try, p_activity, coalesce(max(r.execution), 0) + 1, p_worker
      FROM tries r WHERE r.attempt_id = a.id AND r.try_number = p_try AND r.activity_attempt = p_activity
    RETURNING id INTO opened;
  END IF;
  IF a.state = 'exhausted' THEN
    UPDATE attempts SET state = 'pending', ended_at = NULL WHERE attempts.id = a.id;
  END IF;
  INSERT INTO sandboxes (name, try_id, isolation, host, worker, expires_at)
  VALUES (p_sandbox, opened, p_isolation, p_host, p_worker, p_expires)
  ON CONFLICT (name) DO NOTHING;
END $$;

-- Ends a try with a clean result. 'recorded' when it counts, 'superseded' when another result was first.
CREATE FUNCTION finish_clean(
  p_key text, p_try integer, p_activity integer, p_wall_ms double precision,
  p_policy_prompt bigint, p_policy_sampled bigint, p_policy_calls integer,
  p_other_prompt bigint, p_other_sampled bigint, p_other_calls integer,
  p_passed boolean, p_reward double precision, p_verdict jsonb, p_termination text, p_trajectory text,
  p_effects text, p_weights text, p_turns integer, p_tool_calls integer, p_tool_errors integer, p_truncated integer
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  a attempts%ROWTYPE;
  t tries%ROWTYPE;
  counts boolean;
BEGIN
  SELECT * INTO a FROM attempts WHERE attempts.key = p_key FOR NO KEY UPDATE;
  SELECT * INTO t FROM tries r
    WHERE r.attempt_id = a.id AND r.try_number = p_try AND r.activity_attempt = p_activity
    ORDER BY r.execution DESC LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'try %.% of attempt "%" never began', p_try, p_activity, p_key USING ERRCODE = 'SF404';
  END IF;
  -- A try ends once; a lost one may still come home.
  IF t.state NOT IN ('running', 'lost') THEN
    RETURN CASE WHEN a.clean_try = t.id THEN 'recorded' ELSE 'superseded' END;
  END IF;

  counts := a.state <> 'clean';
  UPDATE tries r SET
    state = CASE WHEN counts THEN 'clean' ELSE 'superseded' END, ended_at = now(), wall_ms = p_wall_ms,
    policy_prompt_tokens = p_policy_prompt, policy_sampled_tokens = p_policy_sampled, policy_calls = p_policy_calls,
    other_prompt_tokens = p_other_prompt, other_sampled_tokens = p_other_sampled, other_calls = p_other_calls,
    passed = p_passed, reward = p_reward, verdict = p_verdict, termination = p_termination,
    trajectory = p_trajectory, effects_digest = p_effects, weight_version = p_weights, turns = p_turns,
    tool_calls = p_tool_calls, tool_errors = p_tool_errors, truncated_turns = p_truncated
  WHERE r.id = t.id;
  IF counts THEN
    UPDATE attempts SET state = 'clean', clean_try = t.id, passed = p_passed, reward = p_reward, ended_at = now()
    WHERE attempts.id = a.id;
    RETURN 'recorded';
  END IF;
  RETURN 'superseded';
END $$;

-- Ends a try with a system error. The attempt becomes exhausted when the caller says so, and only while this try is
-- its newest: a worker that was taken for dead has no say about the tries after its own.
CREATE FUNCTION finish_fault(
  p_key text, p_try integer, p_activity integer, p_wall_ms double precision,
  p_policy_prompt bigint, p_policy_sampled bigint, p_policy_calls integer,
  p_other_prompt bigint, p_other_sampled bigint, p_other_calls integer,
  p_kind text, p_code text, p_message text, p_stack text, p_during_tool_call boolean, p_exhausted boolean,
  p_trajectory text
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  a attempts%ROWTYPE;
  t tries%ROWTYPE;
BEGIN
  SELECT * INTO a FROM attempts WHERE attempts.key = p_key FOR NO KEY UPDATE;
  SELECT * INTO t FROM tries r
    WHERE r.attempt_id = a.id AND r.try_number = p_try AND r.activity_attempt = p_activity
    ORDER BY r.execution DESC LIMIT 1;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'try %.% of attempt "%" never began', p_try, p_activity, p_key USING ERRCODE = 'SF404';
  END IF;
  IF t.state NOT IN ('running', 'lost') THEN
    RETURN CASE WHEN t.state = 'system_error' AND a.state <> 'clean' THEN 'recorded' ELSE 'superseded' END;
  END IF;

  UPDATE tries r SET
    state = 'system_error', ended_at = now(), wall_ms = p_wall_ms,
    policy_prompt_tokens = p_policy_prompt, policy_sampled_tokens = p_policy_sampled, policy_calls = p_policy_calls,
    other_prompt_tokens = p_other_prompt, other_sampled_tokens = p_other_sampled, other_calls = p_other_calls,
    fault_kind = p_kind, fault_code = p_code, fault_message = p_message, fault_stack = p_stack,
    during_tool_call = p_during_tool_call, trajectory = p_trajectory
  WHERE r.id = t.id;
  IF a.state = 'clean' THEN
    RETURN 'superseded';
  END IF;
  IF p_exhausted AND a.state = 'pending' AND t.state = 'running' THEN
    UPDATE attempts SET state = 'exhausted', ended_at = now() WHERE attempts.id = a.id;
  END IF;
  RETURN 'recorded';
END $$;

-- Down Migration

DROP FUNCTION begin_try, finish_clean, finish_fault;
