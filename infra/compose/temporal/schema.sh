#!/bin/sh
# Temporal's two databases: made where they are missing, brought to the schema of this version of admin-tools.
set -eu
schemas=${SCHEMAS:-/etc/temporal/schema/postgresql/v12}

setup() {
  tool="temporal-sql-tool --plugin $SQL_PLUGIN --ep $SQL_HOST --port $SQL_PORT --user $SQL_USER --db $1"
  $tool create
  $tool setup-schema --version 0.0
  $tool update-schema --schema-dir "$schemas/$2/versioned"
}
setup temporal temporal
setup temporal_visibility visibility
