-- Weights that are served on GPU hosts, who needs them, and the server processes that were started for them.

-- Up Migration

CREATE TABLE gpu_hosts (
  name    text PRIMARY KEY,
  worker  text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE gpu_hosts IS 'Hosts whose workers have polled; one set of GPUs each.';

CREATE TABLE servings (
  name           text PRIMARY KEY,
  spec           jsonb NOT NULL,
  state          text NOT NULL DEFAULT 'wanted'
    CHECK (state IN ('wanted', 'preparing', 'starting', 'ready', 'unwell', 'stopped', 'failed')),
  host           text,
  endpoint       text,
  weight_version text,
  model_files    text,
  reference      double precision,
  log            text,
  restarts       integer NOT NULL DEFAULT 0,
  problem        text,
  changed_at     timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE servings IS 'What is to be samplable, and where it is (core/serving/servings.ts).';
CREATE INDEX servings_weights ON servings (weight_version) WHERE weight_version IS NOT NULL;

CREATE TABLE serving_leases (
  serving    text NOT NULL REFERENCES servings (name),
  holder     text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (serving, holder)
);

COMMENT ON TABLE serving_leases IS 'Who needs a serving: until the time, and a campaign as long as it runs or is paused.';

CREATE TABLE servers (
  id          text PRIMARY KEY,
  serving     text NOT NULL REFERENCES servings (name),
  host        text NOT NULL,
  port        integer NOT NULL,
  state       text NOT NULL DEFAULT 'intended' CHECK (state IN ('intended', 'started', 'ended', 'reaped')),
  pid         integer,
  started     text,
  launch      text NOT NULL,
  log         text NOT NULL,
  intended_at timestamptz NOT NULL DEFAULT now(),
  expires_at  timestamptz NOT NULL,
  ended_at    timestamptz,
  CHECK ((state IN ('ended', 'reaped')) = (ended_at IS NOT NULL))
);

COMMENT ON TABLE servers IS 'Server processes: intended before they are started, so that none can be forgotten.';
CREATE INDEX servers_open ON servers (host) WHERE state IN ('intended', 'started');

-- Down Migration

DROP TABLE servers;
DROP TABLE serving_leases;
DROP TABLE servings;
DROP TABLE gpu_hosts;
