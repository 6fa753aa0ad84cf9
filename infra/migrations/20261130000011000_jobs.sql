-- Trainers that run as one job on a GPU host: their processes.

-- Up Migration

CREATE TABLE jobs (
  id          text PRIMARY KEY,
  run         text NOT NULL REFERENCES campaigns (id),
  host        text NOT NULL,
  state       text NOT NULL DEFAULT 'intended' CHECK (state IN ('intended', 'started', 'ended', 'reaped')),
  pid         integer,
  started     text,
  launch      text NOT NULL,
  log         text NOT NULL,
  intended_at timestamptz NOT NULL DEFAULT now(),
  ended_at    timestamptz,
  CHECK ((state IN ('ended', 'reaped')) = (ended_at IS NOT NULL))
);

COMMENT ON TABLE jobs IS 'Processes of trainers: intended before they are started, so that none can be forgotten, and none runs twice.';
CREATE INDEX jobs_open ON jobs (host) WHERE state IN ('intended', 'started');

-- Down Migration

DROP TABLE jobs;
