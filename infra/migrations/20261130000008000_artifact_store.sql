-- Which artifact store this ledger's digests are of: workers elsewhere must have the same one mounted.

-- Up Migration

CREATE TABLE artifact_store (
  sole       boolean PRIMARY KEY DEFAULT true CHECK (sole),
  id         text NOT NULL,
  host       text NOT NULL,
  folder     text NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE artifact_store IS 'One row, written by the first worker of this ledger.';
COMMENT ON COLUMN artifact_store.id IS 'Also in the file `store-id` of the store; a worker with another one in its folder is refused.';
COMMENT ON COLUMN artifact_store.host IS 'Where it was first seen, for people.';

-- Down Migration

DROP TABLE artifact_store;
