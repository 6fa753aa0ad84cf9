-- Sandboxes that are started ahead: written down for no try, and claimed by the try that begins with their name.
--
-- Errors of its own: SF404 as before; SF409, a sandbox that somebody ended before it was claimed.

-- Up Migration

ALTER TABLE sandboxes ALTER COLUMN try_id DROP NOT NULL;
ALTER TABLE sandboxes ADD COLUMN warm boolean NOT NULL DEFAULT false;
ALTER TABLE sandboxes ADD CHECK (warm OR try_id IS NOT NULL);
COMMENT ON COLUMN sandboxes.try_id IS 'The try that it serves; null while it was started ahead and nobody has claimed it.';
COMMENT ON COLUMN sandboxes.warm IS 'Started ahead of the try that claimed it, if one did.';

CREATE OR REPLACE FUNCTION begin_try(
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
  ON CONFLICT (name) DO UPDATE SET try_id = excluded.try_id, expires_at = excluded.expires_at
    WHERE sandboxes.try_id IS NULL AND sandboxes.state IN ('intended', 'created');
  IF EXISTS (SELECT FROM sandboxes s WHERE s.name = p_sandbox AND s.try_id IS NULL) THEN
    RAISE EXCEPTION 'sandbox "%" was ended before it was claimed', p_sandbox USING ERRCODE = 'SF409';
  END IF;
END $$;

-- Down Migration

DELETE FROM sandboxes WHERE try_id IS NULL;
ALTER TABLE sandboxes DROP COLUMN warm;
ALTER TABLE sandboxes ALTER COLUMN try_id SET NOT NULL;
CREATE OR REPLACE FUNCTION begin_try(
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
