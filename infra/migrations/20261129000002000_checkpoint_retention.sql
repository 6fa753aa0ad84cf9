-- What became of checkpoints: removed by a rule, or passed over when a trainer was restored.

-- Up Migration

ALTER TABLE checkpoints
  ADD COLUMN pruned_at timestamptz,
  ADD COLUMN pruned_by text,
  ADD CHECK ((pruned_at IS NULL) = (pruned_by IS NULL));

COMMENT ON COLUMN checkpoints.pruned_at IS 'When the files were removed; the row and its manifest stay.';
COMMENT ON COLUMN checkpoints.pruned_by IS 'The rule that removed them, as a sentence.';

CREATE TABLE restores (
  id          uuid PRIMARY KEY,
  run         text NOT NULL REFERENCES campaigns (id),
  wanted      integer NOT NULL,
  opened      integer,
  passed_over jsonb NOT NULL,
  at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX restores_run ON restores (run, at);

COMMENT ON TABLE restores IS 'A trainer without the weights of its run was brought to them again.';
COMMENT ON COLUMN restores.id IS 'Made by the writer, so that a write that is sent again is one row.';
COMMENT ON COLUMN restores.wanted IS 'Step whose weights were wanted.';
COMMENT ON COLUMN restores.opened IS 'Step of the checkpoint that was opened; null: the start of the run.';
COMMENT ON COLUMN restores.passed_over IS 'Newer checkpoints that did not verify: [{step, reason}], newest first.';

-- Down Migration

DROP TABLE restores;
ALTER TABLE checkpoints DROP COLUMN pruned_at, DROP COLUMN pruned_by;
