-- Nightly evaluations: what is to be run when, and what every night gave.

-- Up Migration

CREATE TABLE schedules (
  name            text PRIMARY KEY,
  config          jsonb NOT NULL,
  program_version text NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  deleted_at      timestamptz
);

COMMENT ON TABLE schedules IS 'Schedules of evaluations. When they are due is Temporal''s, under the same name.';
COMMENT ON COLUMN schedules.config IS 'ScheduleConfig (core/nightly/schedule.ts). Its digests are what nights are compared with.';
COMMENT ON COLUMN schedules.program_version IS 'Version that the schedule was made with.';
COMMENT ON COLUMN schedules.deleted_at IS 'Its nights stay.';

CREATE TABLE nights (
  schedule   text NOT NULL REFERENCES schedules (name),
  at         timestamptz NOT NULL,
  evaluation text NOT NULL,
  state      text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'incomplete', 'failed', 'stopped')),
  record     jsonb NOT NULL DEFAULT '{}',
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at   timestamptz,
  PRIMARY KEY (schedule, at),
  CHECK ((state = 'running') = (ended_at IS NULL))
);

COMMENT ON TABLE nights IS 'One evaluation of a schedule, by the time for which it was due.';
COMMENT ON COLUMN nights.evaluation IS 'Id of its campaign, which is claimed when its model is known.';
COMMENT ON COLUMN nights.record IS 'NightRecord (core/nightly/schedule.ts): scores, comparisons, what has changed, the message that was sent.';

-- Down Migration

DROP TABLE nights;
DROP TABLE schedules;
