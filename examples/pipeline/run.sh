#!/usr/bin/env bash
#
# bash examples/pipeline/run.sh: builds minikafka, starts a private server in a
# temporary folder, runs the post-trade pipeline on it, and reconciles the
# result.  README.md describes it.
#
#   KEEP=1              keep the temporary folder
#   PG_CONFIG=/path     use that PostgreSQL

# shellcheck disable=SC2119 # the functions' arguments are optional
set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../test/server.sh"

server_packages python3-psycopg2
echo "building, and starting PostgreSQL $PG_MAJOR"
server_copy
server_build
server_start
server_psql -q -f examples/pipeline/setup.sql >/dev/null
# psycopg2 is the distribution's, so is python3
as_user /usr/bin/python3 examples/pipeline/pipeline.py
server_psql -q -f examples/pipeline/reconcile.sql
echo "the reconciliation passed"
