#!/usr/bin/env bash
#
# bash test/run.sh: installs what is missing (Debian or Ubuntu; as root or
# with sudo), builds and installs minikafka from a copy of this checkout, and
# runs all tests on a private server in a temporary folder.
#
#   ONLY="sql specs"    only these kinds, of: checks unit sql specs pgtap t
#   TESTS="send 001_x"  only the test files of these names
#   KEEP=1              keep the temporary folder
#   LOGS=/path          if a test fails, copy the whole output there
#   PG_CONFIG=/path     use that PostgreSQL
#   PRELOAD=1           with the library in shared_preload_libraries, so that
#                       sessions share what they know of the tails of partitions
#   SANITIZE=1          build with checks for undefined behaviour, as make has it
#   JOBS=N              run N of the TAP tests at a time (3: they wait a lot)
#
# Shows the name of each test file that has passed; at the end, each file that
# failed with its first failure.  The last line is "N passed, N failed": a test file is one in the kinds sql
# and specs, an assertion is one in the others.

set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/server.sh"

ONLY=${ONLY:-checks unit sql specs pgtap t}
passed=0
failed=0
make_options=()
if [ -n "${SANITIZE:-}" ]; then make_options+=(SANITIZE=1); fi

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

# record KIND STATUS: counts what report.pl has counted.  A kind that failed
# before a test file could is one failure.
record() {
    local kind=$1 status=$2 log=$SERVER_DIR/logs/$1.log word good bad
    read -r word good bad <<<"$(tail -n 1 "$log")"
    [ "$word" = counts ] || server_die "test/report.pl failed"
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        {
            echo "$kind: ended with status $status"
            tail -n 21 "$log" | sed '$d; s/^/    /'
            echo
        } >>"$SERVER_DIR/failures"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
}

# run KIND COMMAND: runs it, shows which test files pass, and records the rest.
run() {
    local kind=$1 status=0
    shift
    "$@" 2>&1 | perl "$CHECKOUT/test/report.pl" "$kind" \
        "$SERVER_DIR/logs/$kind.log" "$SERVER_DIR/failures" \
        "$SERVER_BUILD/regression.diffs" "$SERVER_BUILD/tmp_check/log" ||
        status=$?
    record "$kind" "$status"
}

make_user() {
    as_user make -s PG_CONFIG="$PG_CONFIG" "${make_options[@]}" "$@"
}

# Scripts that look at the sources only: each is an assertion, as in TAP.
run_checks() {
    local check status=0 number=0
    for check in .ci/layers test/cases.sh test/documents.sh test/expected.sh \
        test/internals.sh test/locks.sh; do
        number=$((number + 1))
        echo "# check $(basename "$check" .sh)"
        if bash "$CHECKOUT/$check" >"$SERVER_DIR/check.log" 2>&1; then
            echo "ok $number - $check"
        else
            status=1
            echo "not ok $number - $check"
            sed 's/^/# /' "$SERVER_DIR/check.log"
        fi
    done
    return "$status"
}

# What failed, and what the server says of a crash.
show_failures() {
    echo "=== failed"
    cat "$SERVER_DIR/failures"
    if grep -qE 'PANIC|TRAP|runtime error|terminated by signal' "$SERVER_LOG"; then
        echo "server log:"
        grep -E 'PANIC|TRAP|runtime error|terminated by signal' "$SERVER_LOG" | sed 's/^/    /'
    fi
    if [ -n "${LOGS:-}" ]; then
        mkdir -p "$LOGS"
        cp -R "$SERVER_DIR/logs" "$SERVER_LOG" "$LOGS"
        if [ -e "$SERVER_BUILD/regression.diffs" ]; then
            cp "$SERVER_BUILD/regression.diffs" "$LOGS"
        fi
        if [ -e "$SERVER_BUILD/results" ]; then
            cp -R "$SERVER_BUILD/results" "$LOGS"
        fi
        if [ -e "$SERVER_BUILD/tmp_check/log" ]; then
            cp -R "$SERVER_BUILD/tmp_check/log" "$LOGS/t"
        fi
        echo "logs: $LOGS"
    else
        echo "(LOGS=/path keeps the whole output there)"
    fi
}

# The drivers of the examples: as Debian has them, and those of Node.js from npm.
# Each is for itself: without it the test says so.
install_drivers() {
    local package log=$SERVER_DIR/drivers.log
    local packages=(python3-psycopg python3-asyncpg python3-sqlalchemy libpq-dev
        golang-github-jackc-pgx-v4-dev libpostgresql-jdbc-java)
    command -v go >/dev/null || packages+=(golang-go)
    command -v javac >/dev/null || packages+=(default-jdk-headless)
    if ! (server_install "${packages[@]}") >"$log" 2>&1; then
        for package in "${packages[@]}"; do
            (server_install "$package") >>"$log" 2>&1 || true
        done
    fi
    # node-pg does not go with a nodejs that is not Debian's
    (server_install nodejs) >>"$log" 2>&1 || true
    (server_install node-pg) >>"$log" 2>&1 || true
    command -v npm >/dev/null || (server_install npm) >>"$log" 2>&1 || true
    if command -v npm >/dev/null; then
        as_user npm install --silent --no-audit --no-fund \
            --prefix "$SERVER_DIR/npm" pg postgres >>"$log" 2>&1 || true
        export NODE_PATH=$SERVER_DIR/npm/node_modules
    fi
}

server_packages postgresql-%-pgtap postgresql-%-repack \
    libtap-parser-sourcehandler-pgtap-perl libipc-run-perl perl pgbouncer \
    python3-psycopg2
server_copy
if [[ " $ONLY " == *' t '* && $(files t .t) =~ /(046_drivers|058_share_examples)\.t ]]; then
    install_drivers
fi
server_build STRICT=1 "${make_options[@]}"
# pg_regress ends at a test without expected output; with an empty one it goes
# on, and that test fails.
for kind in sql specs; do
    for path in "$CHECKOUT/test/$kind"/*; do
        name=$(basename "${path%.*}")
        if [ ! -e "$SERVER_BUILD/expected/$name.out" ]; then
            as_user touch "expected/$name.out"
        fi
    done
done
# Prepared transactions are off by default, and tested.  The snapshot of an
# automatic ANALYZE keeps maintenance from removing rows that no longer count,
# which tests look for.
server_lines=('max_prepared_transactions = 10' 'autovacuum = off')
if [ -n "${PRELOAD:-}" ]; then
    server_lines+=("shared_preload_libraries = 'minikafka'")
fi
export PRELOAD=${PRELOAD:-}
server_start "${server_lines[@]}"

mkdir "$SERVER_DIR/logs"
touch "$SERVER_DIR/failures"
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
        run checks run_checks
        continue
    fi
    read -ra tests <<<"$(files "$folder" "$suffix" | paste -sd ' ')"
    if [ "${#tests[@]}" = 0 ]; then continue; fi
    echo "=== $kind"
    case $kind in
        unit) run unit make_user unit UNIT_TESTS="${tests[*]}" ;;
        sql)
            run sql make_user installcheck \
                REGRESS="$(names "${tests[@]}")" ISOLATION=
            ;;
        specs)
            run specs make_user installcheck \
                ISOLATION="$(names "${tests[@]}")" REGRESS=
            ;;
        pgtap)
            run pgtap make_user pgtap \
                PROVE_FLAGS='-v --merge' PGTAP_TESTS="${tests[*]}"
            ;;
        t)
            run t make_user prove \
                PROVE_FLAGS="-v --merge -j ${JOBS:-3}" PROVE_TESTS="${tests[*]}"
            ;;
    esac
done

if [ $((passed + failed)) = 0 ]; then
    server_die "no test was run"
fi
if [ "$failed" != 0 ]; then
    show_failures
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
