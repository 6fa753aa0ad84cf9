-- The ledger: what was planned, tried, finished, applied and saved.
--
-- An attempt is a keyed slot for an episode; its tries are executions of it. The attempt's row is the lock under
-- which tries begin and end (see the next migration), so two workers that run the same key at once are put in an order.

-- Up Migration

CREATE TABLE campaigns (
  id           text PRIMARY KEY,
  kind         text NOT NULL CHECK (kind IN ('probe', 'train', 'eval', 'pipeline')),
  state        text NOT NULL DEFAULT 'running'
               CHECK (state IN ('running', 'paused', 'done', 'failed', 'stopped')),
  config       jsonb NOT NULL,
  fingerprint  text NOT NULL,
  suite        text NOT NULL,
  suite_digest text NOT NULL,
  parent       text REFERENCES campaigns (id),
  result       jsonb,
  created_at   timestamptz NOT NULL DEFAULT now(),
  ended_at     timestamptz,
  CHECK ((state IN ('done', 'failed', 'stopped')) = (ended_at IS NOT NULL))
);
CREATE INDEX campaigns_parent ON campaigns (parent) WHERE parent IS NOT NULL;

COMMENT ON TABLE campaigns IS 'Probes, training runs, evaluations and pipelines. The id is kind/name, and also the workflow id.';
COMMENT ON COLUMN campaigns.config IS 'The whole resolved configuration as it was claimed.';
COMMENT ON COLUMN campaigns.fingerprint IS 'SHA-256 of the canonical JSON of config.';
COMMENT ON COLUMN campaigns.suite_digest IS 'Digest of the suite (tasks and servers) that the campaign started with.';
COMMENT ON COLUMN campaigns.parent IS 'The pipeline that started this campaign.';
COMMENT ON COLUMN campaigns.result IS 'What it ended with: metrics, selection, or the cause of a failure.';

CREATE TABLE attempts (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key         text NOT NULL UNIQUE,
  campaign    text NOT NULL REFERENCES campaigns (id),
  task_id     text NOT NULL,
  slot        text NOT NULL,
  domain      text NOT NULL,
  template    text NOT NULL,
  seed        text NOT NULL,
  step        integer,
  round       integer,
  group_index integer,
  member      integer,
  state       text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'clean', 'exhausted')),
  clean_try   bigint,
  passed      boolean,
  reward      double precision,
  ended_at    timestamptz,
  CHECK ((state = 'clean') = (clean_try IS NOT NULL)),
  CHECK ((state = 'clean') = (passed IS NOT NULL AND reward IS NOT NULL)),
  CHECK ((state = 'pending') = (ended_at IS NULL)),
  CHECK (num_nulls(step, round, group_index, member) IN (0, 4))
) WITH (fillfactor = 80);
-- State is in no index, so that finishing an attempt is a heap-only update.
CREATE INDEX attempts_campaign ON attempts (campaign, step, id);

COMMENT ON TABLE attempts IS 'Keyed slots for episodes. Planned = clean + pending + exhausted, per campaign.';
COMMENT ON COLUMN attempts.id IS 'Plan order.';
COMMENT ON COLUMN attempts.key IS 'owner · task · slot (core/keys.ts).';
COMMENT ON COLUMN attempts.slot IS 'Repetition, or round.group.member in a training step.';
COMMENT ON COLUMN attempts.seed IS 'Seed of the episode, the same on every try: 63 bits as a decimal string.';
COMMENT ON COLUMN attempts.state IS 'exhausted: every try met a system error; it has no score.';
COMMENT ON COLUMN attempts.clean_try IS 'The try whose result counts: the first clean one.';

CREATE TABLE tries (
  id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  attempt_id            bigint NOT NULL REFERENCES attempts (id),
  try_number            integer NOT NULL CHECK (try_number >= 1),
  activity_attempt      integer NOT NULL CHECK (activity_attempt >= 1),
  execution             integer NOT NULL DEFAULT 1,
  state                 text NOT NULL DEFAULT 'running'
                        CHECK (state IN ('running', 'clean', 'superseded', 'system_error', 'lost')),
  worker                text NOT NULL,
  started_at            timestamptz NOT NULL DEFAULT now(),
  ended_at              timestamptz,
  wall_ms               double precision,
  policy_prompt_tokens  bigint,
  policy_sampled_tokens bigint,
  policy_calls          integer,
  other_prompt_tokens   bigint,
  other_sampled_tokens  bigint,
  other_calls           integer,
  trajectory            text,
  passed                boolean,
  reward                double precision,
  verdict               jsonb,
  termination           text CHECK (termination IN (
                          'done', 'end_turn_tool', 'user_done', 'no_user', 'user_limit', 'agent_limit',
                          'token_budget')),
  effects_digest        text,
  weight_version        text,
  turns                 integer,
  tool_calls            integer,
  tool_errors           integer,
  truncated_turns       integer,
  fault_kind            text CHECK (fault_kind IN (
                          'deadline', 'sandbox', 'policy', 'user', 'judge', 'grader', 'suite', 'trainer',
                          'artifacts', 'ledger', 'cancelled')),
  fault_code            text,
  fault_message         text,
  fault_stack           text,
  during_tool_call      boolean,
  UNIQUE (attempt_id, try_number, activity_attempt, execution),
  CHECK ((state = 'running') = (ended_at IS NULL)),
  CHECK ((state = 'system_error') = (fault_kind IS NOT NULL)),
  CHECK ((state IN ('clean', 'superseded')) = (passed IS NOT NULL)),
  CHECK (passed IS NULL OR num_nulls(reward, termination, trajectory, effects_digest) = 0)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX tries_one_clean ON tries (attempt_id) WHERE state = 'clean';
CREATE INDEX tries_faults ON tries (attempt_id) WHERE state IN ('system_error', 'lost');

ALTER TABLE attempts ADD FOREIGN KEY (clean_try) REFERENCES tries (id);

COMMENT ON TABLE tries IS 'Executions of attempts, with what each cost and how it ended.';
COMMENT ON COLUMN tries.try_number IS 'Try within the attempt, from 1, as the workflow counts.';
COMMENT ON COLUMN tries.activity_attempt IS 'Temporal''s attempt number of the activity, above 1 after a worker was lost.';
COMMENT ON COLUMN tries.execution IS 'Above 1 when the same try was run again after it had ended, e.g. after a workflow reset.';
COMMENT ON COLUMN tries.state IS 'superseded: clean, but another try was first. lost: another try began before this one ended; its worker is taken for dead.';
COMMENT ON COLUMN tries.wall_ms IS 'Wall time, milliseconds.';
COMMENT ON COLUMN tries.policy_prompt_tokens IS 'Prompt tokens of the policy; other_* are of the simulated user and the judge.';
COMMENT ON COLUMN tries.trajectory IS 'Digest of the trajectory; of a partial one for a system error.';
COMMENT ON COLUMN tries.verdict IS 'Reasons and judged questions of the verdict; null when there are none.';
COMMENT ON COLUMN tries.weight_version IS 'Digest of the weights that the episode was sampled from; null for API models.';
COMMENT ON COLUMN tries.during_tool_call IS 'Whether the fault fell inside one of the agent''s tool calls.';

CREATE TABLE sandboxes (
  name        text PRIMARY KEY,
  try_id      bigint NOT NULL REFERENCES tries (id),
  isolation   text NOT NULL,
  host        text NOT NULL,
  worker      text NOT NULL,
  state       text NOT NULL DEFAULT 'intended' CHECK (state IN ('intended', 'created', 'released', 'reaped')),
  intended_at timestamptz NOT NULL DEFAULT now(),
  created_at  timestamptz,
  ended_at    timestamptz,
  expires_at  timestamptz NOT NULL,
  CHECK ((state IN ('released', 'reaped')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX sandboxes_open ON sandboxes (host) WHERE state IN ('intended', 'created');
CREATE INDEX sandboxes_try ON sandboxes (try_id);

COMMENT ON TABLE sandboxes IS 'Every sandbox, recorded before it is made: intended, created, then released or reaped.';
COMMENT ON COLUMN sandboxes.worker IS 'Worker process that made it; when that is dead, a reaper ends the sandbox.';

CREATE TABLE steps (
  run           text NOT NULL REFERENCES campaigns (id),
  step          integer NOT NULL CHECK (step >= 1),
  state         text NOT NULL CHECK (state IN ('sampling', 'sampled', 'updated', 'done', 'failed', 'skipped')),
  cursor_at     integer NOT NULL,
  started       integer NOT NULL,
  base_digest   text,
  weight_digest text,
  batch_digest  text,
  op            text,
  metrics       jsonb NOT NULL,
  cause         text,
  updated_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (run, step)
);

COMMENT ON TABLE steps IS 'Training steps of a run, each at most once; step numbers start at 1.';
COMMENT ON COLUMN steps.cursor_at IS 'Groups that all earlier committed steps had started: where this step begins in the endless order.';
COMMENT ON COLUMN steps.started IS 'Groups started by this step.';
COMMENT ON COLUMN steps.base_digest IS 'Weights before the step.';
COMMENT ON COLUMN steps.weight_digest IS 'Weights after the step: the base of the next one.';
COMMENT ON COLUMN steps.batch_digest IS 'Artifact with the training batch.';

CREATE TABLE groups (
  run         text NOT NULL REFERENCES campaigns (id),
  step        integer NOT NULL,
  round       integer NOT NULL,
  group_index integer NOT NULL,
  task_id     text NOT NULL,
  state       text NOT NULL CHECK (state IN ('informative', 'zero_variance', 'incomplete')),
  rewards     double precision[] NOT NULL,
  PRIMARY KEY (run, step, round, group_index)
);

COMMENT ON TABLE groups IS 'Groups of a step that have ended.';
COMMENT ON COLUMN groups.rewards IS 'Reward per member; null where the member was exhausted.';

CREATE TABLE operations (
  op           text PRIMARY KEY,
  run          text NOT NULL REFERENCES campaigns (id),
  step         integer NOT NULL,
  state        text NOT NULL DEFAULT 'intended' CHECK (state IN ('intended', 'sent', 'done', 'failed')),
  base_digest  text NOT NULL,
  batch_digest text NOT NULL,
  plan         jsonb NOT NULL,
  report       jsonb,
  intended_at  timestamptz NOT NULL DEFAULT now(),
  sent_at      timestamptz,
  ended_at     timestamptz,
  CHECK ((state = 'done') = (report IS NOT NULL))
);
CREATE INDEX operations_run ON operations (run, step);
CREATE UNIQUE INDEX operations_one_done ON operations (run, step) WHERE state = 'done';

COMMENT ON TABLE operations IS 'Updates asked of the trainer. A step has at most one that is done.';
COMMENT ON COLUMN operations.report IS 'What the trainer reported (UpdateReport).';

CREATE TABLE checkpoints (
  run        text NOT NULL REFERENCES campaigns (id),
  step       integer NOT NULL,
  path       text NOT NULL,
  manifest   jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (run, step)
);

COMMENT ON TABLE checkpoints IS 'Saved states of the trainer, one folder each, with the manifest that verifies it.';

-- Down Migration

ALTER TABLE attempts DROP COLUMN clean_try;
DROP TABLE checkpoints, operations, groups, steps, sandboxes, tries, attempts, campaigns;
