#!/usr/bin/env bash
#
# bash test/run.sh: installs what is missing (Debian or Ubuntu; as root or
# with sudo), builds and installs minikafka from a copy of this checkout, and
# runs all tests on a private server in a temporary folder.
#
#   ONLY="sql specs"    only these kinds, of: checks unit sql specs pgtap t
#   TESTS="send 001_x"  only the test files of these names
#   KEEP=1              keep the temporary folder
#   PG_CONFIG=/path     use that PostgreSQL
#
# The last line is "N passed, N failed": a test file is one in the kinds sql
# and specs, an assertion is one in the others.

set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"

ONLY=${ONLY:-checks unit sql specs pgtap t}
passed=0
failed=0
failed_kinds=

# files FOLDER SUFFIX: the test files there that TESTS allows
files() {
    local path name
    for path in "$CHECKOUT/test/$1"/*"$2"; do
        name=$(basename "$path" "$2")
        if [ -e "$path" ] &&
            [[ -z ${TESTS:-} || " $TESTS " == *" $name "* ]]; then
            echo "test/$1/$name$2"
        fi
    done
}

# names FILE ...: as pg_regress wants them
names() {
    local path
    for path; do
        basename "${path%.*}"
    done | paste -sd ' '
}

# Counts the lines of a log that match an expression.
count() {
    grep -cE "$1" "$2" || true
}

# record KIND STATUS PASSED FAILED: a kind that failed before it could tell
# how many did counts as one failure
record() {
    local bad=$4
    if [ "$2" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
    if [ "$bad" != 0 ]; then failed_kinds="$failed_kinds $1"; fi
    passed=$((passed + $3))
    failed=$((failed + bad))
}

# pg_regress prints "test x ... ok" up to 15 and "ok 1 - x" from 16 on.
run_regress() {
    local kind=$1 status=0 log=$SERVER_DIR/$1.log
    shift
    as_user make -s installcheck PG_CONFIG="$PG_CONFIG" "$@" 2>&1 |
        tee "$log" || status=$?
    if [ "$status" != 0 ] && [ -e "$SERVER_BUILD/regression.diffs" ]; then
        cat "$SERVER_BUILD/regression.diffs"
    fi
    record "$kind" "$status" \
        "$(count '^(test .* ok |ok [0-9])' "$log")" \
        "$(count '^(test .* FAILED|not ok [0-9])' "$log")"
}

# The log has each assertion; what is shown leaves out those that hold.
run_prove() {
    local kind=$1 status=0 log=$SERVER_DIR/$1.log
    shift
    as_user make -s PG_CONFIG="$PG_CONFIG" "$@" 2>&1 |
        tee "$log" | sed -u -E '/^ *(ok [0-9]|[0-9]+\.\.)/d' || status=$?
    record "$kind" "$status" \
        "$(grep -E '^(ok [0-9]|not ok .*# TODO)' "$log" | grep -vc '# skip' || true)" \
        "$(grep -E '^not ok' "$log" | grep -vc '# TODO' || true)"
}

# Scripts that look at the sources only
run_checks() {
    local check status good=0 bad=0
    for check in .ci/layers test/cases.sh; do
        status=0
        bash "$CHECKOUT/$check" || status=$?
        if [ "$status" = 0 ]; then good=$((good + 1)); else bad=$((bad + 1)); fi
    done
    record checks "$bad" "$good" "$bad"
}

show_logs() {
    local log
    for log in "$SERVER_BUILD"/tmp_check/log/regress_log_*; do
        if [ -e "$log" ]; then
            echo "--- $(basename "$log")"
            tail -n 50 "$log"
        fi
    done
    if [ -e "$SERVER_LOG" ]; then
        echo "--- server log"
        grep -E 'PANIC|TRAP|terminated by signal' "$SERVER_LOG" ||
            tail -n 30 "$SERVER_LOG"
    fi
}

# Node and its module pg, for an example: as Debian has them, or, where another
# nodejs is installed that node-pg does not go with, from npm.  Without them the
# test says so.
install_node() {
    local log=$SERVER_DIR/node.log
    if ! (server_install nodejs node-pg) >"$log" 2>&1 &&
        command -v npm >/dev/null; then
        as_user npm install --silent --no-audit --no-fund \
            --prefix "$SERVER_DIR/npm" pg >>"$log" 2>&1 || true
        export NODE_PATH=$SERVER_DIR/npm/node_modules
    fi
}

server_packages postgresql-%-pgtap postgresql-%-repack \
    libtap-parser-sourcehandler-pgtap-perl libipc-run-perl perl pgbouncer \
    python3-psycopg2
server_copy
if [[ " $ONLY " == *' t '* && $(files t .t) == */025_examples.t* ]]; then
    install_node
fi
server_build STRICT=1
# Prepared transactions are off by default, and tested.
server_start 'max_prepared_transactions = 10'

for kind in $ONLY; do
    case $kind in
        checks) folder='' suffix='' ;;
        unit) folder=unit suffix=.c ;;
        sql) folder=sql suffix=.sql ;;
        specs) folder=specs suffix=.spec ;;
        pgtap) folder=pgtap suffix=.sql ;;
        t) folder=t suffix=.t ;;
        *) server_die "ONLY: no kind \"$kind\"" ;;
    esac
    if [ "$kind" = checks ]; then
        echo "=== checks"
        run_checks
        continue
    fi
    read -ra tests <<<"$(files "$folder" "$suffix" | paste -sd ' ')"
    if [ "${#tests[@]}" = 0 ]; then continue; fi
    echo "=== $kind"
    case $kind in
        unit) run_prove unit unit UNIT_TESTS="${tests[*]}" ;;
        sql) run_regress sql REGRESS="$(names "${tests[@]}")" ISOLATION= ;;
        specs) run_regress specs ISOLATION="$(names "${tests[@]}")" REGRESS= ;;
        pgtap)
            run_prove pgtap pgtap PROVE_FLAGS=-v PGTAP_TESTS="${tests[*]}"
            ;;
        t) run_prove t prove PROVE_FLAGS=-v PROVE_TESTS="${tests[*]}" ;;
    esac
done

if [ "$failed" != 0 ]; then
    show_logs
    echo "failed:$failed_kinds"
fi
if [ $((passed + failed)) = 0 ]; then
    server_die "no test was run"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
