-- Results that are taken over from another attempt: a fork of a training run trains on the recorded episodes of a step.

-- Up Migration

ALTER TABLE tries ADD COLUMN reused_from bigint REFERENCES tries (id);
COMMENT ON COLUMN tries.reused_from IS 'The try whose result this is: no episode was run, and nothing was paid again.';

-- Plans an attempt with the clean result of another one. True when it was new. SF404: the source has no clean result.
CREATE FUNCTION reuse_attempt(
  p_campaign text, p_key text, p_task text, p_slot text, p_domain text, p_template text, p_seed text,
  p_step integer, p_round integer, p_group integer, p_member integer, p_from text
) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  source tries%ROWTYPE;
  planned bigint;
  taken bigint;
BEGIN
  SELECT t.* INTO source FROM attempts a JOIN tries t ON t.id = a.clean_try WHERE a.key = p_from;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'attempt "%" has no clean result to take over', p_from USING ERRCODE = 'SF404';
  END IF;
  INSERT INTO attempts (campaign, key, task_id, slot, domain, template, seed, step, round, group_index, member)
    VALUES (p_campaign, p_key, p_task, p_slot, p_domain, p_template, p_seed, p_step, p_round, p_group, p_member)
    ON CONFLICT (key) DO NOTHING RETURNING id INTO planned;
  IF planned IS NULL THEN
    RETURN false;
  END IF;
  INSERT INTO tries (attempt_id, try_number, activity_attempt, state, worker, reused_from, started_at, ended_at, wall_ms,
      policy_prompt_tokens, policy_sampled_tokens, policy_calls, other_prompt_tokens, other_sampled_tokens, other_calls,
      trajectory, passed, reward, verdict, termination, effects_digest, weight_version,
      turns, tool_calls, tool_errors, truncated_turns)
    VALUES (planned, 1, 1, 'clean', source.worker, source.id, source.started_at, source.ended_at, source.wall_ms,
      source.policy_prompt_tokens, source.policy_sampled_tokens, source.policy_calls, source.other_prompt_tokens,
      source.other_sampled_tokens, source.other_calls, source.trajectory, source.passed, source.reward, source.verdict,
      source.termination, source.effects_digest, source.weight_version,
      source.turns, source.tool_calls, source.tool_errors, source.truncated_turns)
    RETURNING id INTO taken;
  UPDATE attempts SET state = 'clean', clean_try = taken, passed = source.passed, reward = source.reward, ended_at = now()
    WHERE id = planned;
  RETURN true;
END $$;

-- Down Migration

DROP FUNCTION reuse_attempt;
ALTER TABLE tries DROP COLUMN reused_from;
