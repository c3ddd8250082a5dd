#!/usr/bin/env bash
#
# bash bench/run.sh [ROW ...]: compares minikafka with the plain SQL that you
# would write instead, on a private server in a temporary folder, with fsync on.
#
# The rows are send, preloaded, batch, async, fetch, size, snapshot, consume, members, lag,
# commits, numbered, appended, outbox, compaction, retention, wake, waiters, share,
# share_batch, share_stuck, share_pinned, share_cold, and share_busy.  The rows of
# share groups are in bench/share.sh.
# Without an argument the script measures all of them.
#
#   ROUNDS=7              rounds; use five or more for figures that you publish
#   SECONDS_PER_ROUND=2   how long each contender runs in a round
#   BIG=10000000          records of the big topic in "size"
#   SMALL=100000          records of the small one
#   PINNED=1000000        records sent under the old snapshot in "snapshot",
#                         processed under it in "share_pinned"
#   WAITING=1000000       records that wait for the consumers in "consume", and
#                         for the workers in "share_batch"
#   COMMITS=200000        offset commits under the old snapshot in "commits"
#   APPENDED=1000000      sequences under the old snapshot in "appended"
#   COMPACTED=1000000     records in "compaction", with a tenth as many keys
#   RETAINED=10000000     records in "retention", in 10 segments
#   WOKEN=1000            records in a round of "wake"
#   SHARED=100000         records that wait in "share" and "share_stuck"
#   COLD=10000000         records that are done in "share_cold"
#   PGMQ_SQL=/path        pgmq's SQL file (pgmq.sql), for "share"; without pgmq
#                         if not given
#   PRELOAD=1             0: no shared_preload_libraries in "preloaded", "wake" and
#                         "waiters"
#   SHARED_BUFFERS=512MB  the server's cache
#   PG_CONFIG=/path       use that PostgreSQL; without PgQ if it has none
#   KEEP=1                keep the temporary folder
#   OUT=bench/results.txt also write the results to that file, as columns
#                         separated by tabs; bench/chart.py draws
#                         doc/benchmarks.svg from it
#
# The contenders of a row take turns, in changing order, so whatever disturbs
# the machine disturbs all of them.  Each ratio is taken within a round.  The
# table shows the median of the rounds and, in parentheses, the lowest and the
# highest.  A target is "met" if the median reaches it, "spread" if only the
# highest does, and "missed" otherwise.  The records per second are medians too.
#
# All rows take about two hours, of which those of share groups take the most.
# The others take about seven minutes with ROUNDS=3 SECONDS_PER_ROUND=1 BIG=1000000
# PINNED=100000 WAITING=200000 COMMITS=20000 COMPACTED=100000 RETAINED=1000000
# WOKEN=100, and those of share groups about fifteen with the same and COLD=200000.

set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"
# shellcheck source=bench/share.sh
. "$(dirname "${BASH_SOURCE[0]}")/share.sh"

ROUNDS=${ROUNDS:-7}
SECONDS_PER_ROUND=${SECONDS_PER_ROUND:-2}
BIG=${BIG:-10000000}
SMALL=${SMALL:-100000}
PINNED=${PINNED:-1000000}
WAITING=${WAITING:-1000000}
COMMITS=${COMMITS:-200000}
APPENDED=${APPENDED:-1000000}
COMPACTED=${COMPACTED:-1000000}
RETAINED=${RETAINED:-10000000}
WOKEN=${WOKEN:-1000}
SHARED=${SHARED:-100000}
COLD=${COLD:-10000000}
PGMQ_SQL=${PGMQ_SQL:-}
PRELOAD=${PRELOAD:-1}
SHARED_BUFFERS=${SHARED_BUFFERS:-512MB}
OUT=$(realpath -m "${OUT:-/dev/null}")
ROWS=(send preloaded batch async fetch size snapshot consume members lag commits
    numbered appended outbox compaction retention wake waiters
    share share_batch share_stuck share_pinned share_cold share_busy)

# 200 bytes that are the same as text and as bytea
VALUE=$(printf '0123456789%.0s' {1..20})

# ---------------------------------------------------------------------------
# Measuring

# pgbench_output SCRIPT CLIENTS PGBENCH_OPTION ...: what pgbench prints
pgbench_output() {
    local script=$1 clients=$2 output
    shift 2
    output=$(as_user "$PG_BINDIR/pgbench" -n -M prepared \
        -f "bench/$script.sql" -c "$clients" \
        -j "$((clients < $(nproc) ? clients : $(nproc)))" \
        -D value="$VALUE" "$@" 2>&1) || {
        echo "$output" >&2
        server_die "pgbench failed"
    }
    if grep -q 'aborted' <<<"$output"; then
        echo "$output" >&2
        server_die "a client of pgbench failed"
    fi
    echo "$output"
}

# run SCRIPT CLIENTS [PGBENCH_OPTION ...]: transactions a second
run() {
    local output
    output=$(pgbench_output "$@" -T "$SECONDS_PER_ROUND")
    sed -n 's/^tps = \([0-9.]*\).*/\1/p' <<<"$output"
}

# run_simple SCRIPT OPTION ...: the same for one client and two transactions, in
# simple mode, so that variables can stand for names
run_simple() {
    local script=$1
    shift
    as_user "$PG_BINDIR/pgbench" -n -f "bench/$script.sql" -t 2 "$@" 2>/dev/null |
        sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}

# round NUMBER COMMAND ...: runs the commands.  Each is a string that begins with
# the name of its contender; its output goes to the contender's file.
round() {
    local number=$1 order=() i command
    shift
    for ((i = 0; i < $#; i++)); do
        order+=($(((i + number) % $# + 1)))
    done
    for i in "${order[@]}"; do
        command=${!i}
        # shellcheck disable=SC2086 # words of this script's own
        ${command#* } >>"$RESULTS/${command%% *}"
    done
}

# compete COMMAND ...: all the rounds of these contenders
compete() {
    local number
    rm -f "$RESULTS"/*
    server_psql -q -c CHECKPOINT
    for ((number = 0; number < ROUNDS; number++)); do
        round "$number" "$@"
    done
}

# write_result FIELD ...: writes a line to the file of results, which has these
# columns.  The measure is a ratio of rates (records per second, "rate"), of times
# ("time") or of bytes ("bytes"), or a number of milliseconds ("ms").
COLUMNS="measure work against median low high rounds ours theirs"

write_result() {
    local IFS=$'\t'
    echo "$*" >>"$OUT"
}

# report WORK AGAINST TARGET OURS THEIRS [RECORDS]: prints a line of the table.
# OURS and THEIRS are contenders, RECORDS the number of records per transaction.
# TARGET may be "-".
report() {
    report_ratio rate "$@"
}

# report_times WORK AGAINST TARGET OURS THEIRS: the same for times in
# microseconds, of which the lower is the better
report_times() {
    report_ratio time "$@"
}

# report_bytes WORK AGAINST TARGET OURS THEIRS: the same for bytes
report_bytes() {
    report_ratio bytes "$@"
}

# report_ratio MEASURE ...: of a rate the higher ratio is the better, else the
# lower
report_ratio() {
    paste "$RESULTS/$5" "$RESULTS/$6" | awk -v measure="$1" -v work="$2" \
        -v against="$3" -v target="$4" -v records="${7:-1}" -v file="$OUT" '
        function sort(a, n,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = a[i]
                for (j = i - 1; j >= 1 && a[j] > x; j--) a[j + 1] = a[j]
                a[j + 1] = x
            }
        }
        function median(a, n) {
            return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
        }
        { ours[NR] = $1 * records; theirs[NR] = $2 * records
          ratio[NR] = $1 / $2 }
        END {
            sign = measure == "rate" ? 1 : -1
            sort(ours, NR); sort(theirs, NR); sort(ratio, NR)
            best = sign > 0 ? ratio[NR] : ratio[1]
            verdict = target == "-" ? "-" : \
                sign * median(ratio, NR) >= sign * target ? "met" : \
                sign * best >= sign * target ? "spread" : "missed"
            printf "%-37s %-14s %5.2f (%4.2f..%4.2f) %6s %-6s %9.0f %9.0f\n",
                work, against, median(ratio, NR), ratio[1], ratio[NR],
                target, verdict, median(ours, NR), median(theirs, NR)
            printf "%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t%.0f\t%.0f\n",
                measure, work, against, median(ratio, NR), ratio[1],
                ratio[NR], NR, median(ours, NR), median(theirs, NR) >>file
        }'
}

# spread WORK AGAINST LIMIT FILE: prints a line with measured values, not ratios.
# The highest must be below LIMIT, which may be "-".
spread() {
    sort -g "$RESULTS/$4" | awk -v work="$1" -v against="$2" -v limit="$3" \
        -v file="$OUT" '
        { a[NR] = $1 }
        END {
            median = (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2
            verdict = limit == "-" ? "-" : a[NR] < limit ? "met" : \
                median < limit ? "spread" : "missed"
            printf "%-37s %-14s %5.1f (%4.1f..%4.1f) %6s %-6s\n",
                work, against, median, a[1], a[NR], limit, verdict
            printf "ms\t%s\t%s\t%.1f\t%.1f\t%.1f\t%d\t-\t-\n",
                work, (limit == "-" ? limit : against " " limit), median,
                a[1], a[NR], NR >>file
        }'
}

# ---------------------------------------------------------------------------
# Topics and tables

# topic NAME PARTITIONS
topic() {
    server_psql -q -c "SELECT minikafka.create_topic('$1', $2)" >/dev/null
}

# load TOPIC RECORDS: sends them in transactions of at most 100,000
load() {
    local rest=$2 n
    while [ "$rest" -gt 0 ]; do
        n=$((rest < 100000 ? rest : 100000))
        server_psql -q -c "SELECT minikafka.send_many_bytes('$1',
            array_agg('$VALUE'::bytea), array_agg(int4send(k)))
            FROM generate_series(1, $n) AS k" >/dev/null
        rest=$((rest - n))
    done
    # so that autovacuum does not do it in the middle of a measurement
    server_psql -q -c "VACUUM ANALYZE minikafka_topics.$1"
}

# plain_copy TOPIC: copies its records to a plain table, TOPIC.copy
plain_copy() {
    server_psql -q <<SQL
CREATE SCHEMA $1;
CREATE TABLE $1.copy (LIKE bench.plain INCLUDING ALL);
INSERT INTO $1.copy (id, ts, partition, key, value, headers)
SELECT "offset", ts, partition, key, value, headers
FROM minikafka_topics.$1 ORDER BY "offset";
VACUUM ANALYZE $1.copy;
SQL
}

# fetches TOPIC RECORDS, selects TOPIC RECORDS: read from random offsets
fetches() {
    run fetch 1 -D topic="$1" -D records="$2"
}

selects() {
    PGOPTIONS="-c search_path=$1" run fetch_select 1 -D topic="$1" \
        -D records="$2"
}

# prepare_database: the extension, and the plain table, in this database
prepare_database() {
    server_psql -q <<'SQL'
CREATE EXTENSION minikafka;
CREATE SCHEMA bench;
CREATE TABLE bench.plain (
    id bigserial PRIMARY KEY,
    ts timestamptz NOT NULL DEFAULT now(),
    partition integer NOT NULL,
    key bytea,
    value bytea,
    headers jsonb
);
SQL
}

prepare() {
    prepare_database
    topic one 1
    topic eight 8
    if [ -n "$PGQ" ]; then
        server_psql -q -c 'CREATE EXTENSION pgq' \
            -c "SELECT pgq.create_queue('bench')" >/dev/null
    fi
}

# ---------------------------------------------------------------------------
# The rows


row_send() {
    local clients partitions name target all
    for clients in 1 8 32; do
        case $clients in
            1) target=0.9 ;;
            8) target=0.8 ;;
            *) target=0.75 ;;
        esac
        for partitions in 1 8; do
            name=one
            if [ "$partitions" = 8 ]; then name=eight; fi
            all=("ours run send $clients -D topic=$name"
                "insert run send_insert $clients -D partitions=$partitions")
            if [ -n "$PGQ" ]; then all+=("pgq run send_pgq $clients"); fi
            compete "${all[@]}"
            name="send, $clients cl., $partitions part."
            report "$name" INSERT "$target" ours insert
            if [ -n "$PGQ" ]; then report "$name" PgQ 1.0 ours pgq; fi
        done
    done
}

row_async() {
    local all
    export PGOPTIONS='-c synchronous_commit=off'
    all=("ours run send 8 -D topic=eight"
        "insert run send_insert 8 -D partitions=8")
    if [ -n "$PGQ" ]; then all+=("pgq run send_pgq 8"); fi
    compete "${all[@]}"
    unset PGOPTIONS
    if [ -n "$PGQ" ]; then
        report "send, no wait for WAL, 8 cl., 8 part." PgQ 1.2 ours pgq
    fi
    report "send, no wait for WAL, 8 cl., 8 part." INSERT - ours insert
}

# sends_preloaded MODE: as row_send, with this synchronous_commit
sends_preloaded() {
    local mode=$1 clients partitions name target all
    export PGOPTIONS="-c synchronous_commit=$mode"
    for clients in 1 8 32; do
        for partitions in 1 8; do
            name=one
            if [ "$partitions" = 8 ]; then name=eight; fi
            target=0.9
            if [ "$mode" = off ]; then
                target=0.75
                if [ "$partitions" = 8 ]; then target=0.85; fi
            fi
            all=("ours run send $clients -D topic=$name"
                "insert run send_insert $clients -D partitions=$partitions")
            if [ -n "$PGQ" ]; then all+=("pgq run send_pgq $clients"); fi
            compete "${all[@]}"
            name="preloaded, $clients cl., $partitions p., fsync $mode"
            report "$name" INSERT "$target" ours insert
            if [ -n "$PGQ" ]; then report "$name" PgQ 1.0 ours pgq; fi
        done
    done
    unset PGOPTIONS
}

row_preloaded() {
    with_preload sends_preloaded on
    with_preload sends_preloaded off
}

row_batch() {
    local partitions name
    for partitions in 1 8; do
        name=one
        if [ "$partitions" = 8 ]; then name=eight; fi
        compete "ours run batch 1 -D topic=$name" \
            "many run batch_many 1 -D topic=$name" \
            "insert run batch_insert 1 -D partitions=$partitions"
        report "1,000 by SELECT send(), $partitions part." \
            'INSERT SELECT' 0.9 ours insert 1000
        report "1,000 by send_many_bytes(), $partitions part." \
            'INSERT SELECT' 0.9 many insert 1000
    done
}

row_fetch() {
    topic read 1
    load read 1000000
    plain_copy read
    compete 'ours fetches read 1000000' 'select selects read 1000000'
    report 'fetch() of 500, 1M present' SELECT 0.85 ours select 500
}

row_size() {
    local clients many few
    many=$(numfmt --to=si "$BIG")
    few=$(numfmt --to=si "$SMALL")
    topic big 1
    load big "$BIG"
    topic small 1
    load small "$SMALL"
    for clients in 1 8 32; do
        compete "big run send $clients -D topic=big" \
            "small run send $clients -D topic=small"
        report "send, $clients cl., 1 part., $many" "itself, $few" \
            0.95 big small
    done
    # The big topic exceeds the cache, which slows down a plain table too.
    plain_copy big
    plain_copy small
    compete "big fetches big $BIG" "small fetches small $SMALL" \
        "select_big selects big $BIG" "select_small selects small $SMALL"
    report "fetch() of 500, $many" "itself, $few" 0.95 big small 500
    report "SELECT of 500, $many" "itself, $few" - select_big select_small 500
    report "fetch() of 500, $many" "SELECT, $many" 0.85 big select_big 500
    # These come last, because they make the small topic grow.
    export PGOPTIONS='-c synchronous_commit=off'
    compete "big run send 8 -D topic=big" "small run send 8 -D topic=small"
    unset PGOPTIONS
    report "send, no wait for WAL, 8 cl., $many" "itself, $few" 0.95 big small
    compete "big run batch 1 -D topic=big" "small run batch 1 -D topic=small"
    report "1,000 by SELECT send(), $many" "itself, $few" 0.95 big small 1000
    compete "big run batch_many 1 -D topic=big" \
        "small run batch_many 1 -D topic=small"
    report "1,000 by send_many_bytes(), $many" "itself, $few" 0.95 big small 1000
}

# in_control COMMAND: runs it in the control database
in_control() {
    PGDATABASE=control "$@"
}

# Sends PINNED records, in a transaction each.
send_pinned() {
    PGOPTIONS='-c synchronous_commit=off' as_user "$PG_BINDIR/pgbench" -n \
        -M prepared -f bench/send.sql -c 8 -j 2 -t "$((PINNED / 8))" \
        -D value="$VALUE" -D topic=pinned >/dev/null 2>&1
}

# Starts a session that takes a snapshot and keeps it; sets holder.
hold_snapshot() {
    as_user "$PG_BINDIR/psql" -X -q -c 'BEGIN ISOLATION LEVEL
        REPEATABLE READ' -c 'SELECT FROM bench.plain LIMIT 1' \
        -c 'SELECT pg_sleep(100000)' >/dev/null 2>&1 &
    holder=$!
}

# Ends that session, after checking that it still held the snapshot.
release_snapshot() {
    if [ "$(server_psql -At -c "SELECT count(*) FROM pg_stat_activity
        WHERE backend_xmin IS NOT NULL AND query LIKE '%pg_sleep%'
        AND pid <> pg_backend_pid()")" != 1 ]; then
        server_die "the old snapshot was not held"
    fi
    server_psql -q -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()" >/dev/null
    wait "$holder" || true
}

# An old snapshot keeps dead rows of its own database only.  So a second
# database, in which the same happens without such a snapshot, is the control.
# The two can take turns, which "before" and "after" cannot.
make_control() {
    if [ -z "$(server_psql -At -c "SELECT 1 FROM pg_database
        WHERE datname = 'control'")" ]; then
        server_psql -q -c 'CREATE DATABASE control'
        in_control prepare_database
    fi
}

row_snapshot() {
    local when mode holder
    make_control
    topic pinned 1
    in_control topic pinned 1
    for when in before after; do
        if [ "$when" = after ]; then
            hold_snapshot
            send_pinned
            in_control send_pinned
        fi
        for mode in on off; do
            export PGOPTIONS="-c synchronous_commit=$mode"
            compete "ours run send 8 -D topic=pinned" \
                "control in_control run send 8 -D topic=pinned"
            unset PGOPTIONS
            if [ "$when" = before ]; then
                mkdir "$SERVER_DIR/before.$mode"
                cp "$RESULTS"/* "$SERVER_DIR/before.$mode"
                continue
            fi
            report "send, 8 cl., snapshot, fsync wait $mode" \
                'no snapshot' 0.95 ours control
            # what has changed on the machine meanwhile shows in both
            cp "$SERVER_DIR/before.$mode/ours" "$RESULTS/ours_before"
            cp "$SERVER_DIR/before.$mode/control" "$RESULTS/control_before"
            report '  that database' 'itself before' - ours ours_before
            report '  the one without' 'itself before' - control control_before
        done
    done
    release_snapshot
}

# join GROUP TOPIC MEMBERS: joins m0, m1, ..., with timeouts that do not pass
join() {
    server_psql -q -c "SELECT minikafka.join_group('$1', '{$2}', 'm' || i,
        session_timeout => '1 day', max_poll_interval => '1 day')
        FROM generate_series(0, $3 - 1) AS i" >/dev/null
}

# from_start GROUP TOPIC: moves its members back to the starts of the logs
from_start() {
    server_psql -q -c "SELECT minikafka.seek(group_id, member_id, topic,
        partition, log_start_offset) FROM minikafka.consumer_lag
        WHERE group_id = '$1' AND topic = '$2'" >/dev/null
}

# consume GROUP TOPIC MEMBERS RECORDS: polls RECORDS at a time, from the start
consume() {
    from_start "$1" "$2"
    run consume "$3" -D group="$1" -D records="$4"
}

consume_select() {
    server_psql -q -c 'UPDATE bench.position SET next_offset = 0'
    PGOPTIONS="-c search_path=waiting ${PGOPTIONS:-}" \
        run consume_select 1 -D records=100
}

consume_pgq() {
    server_psql -q -c "SELECT pgq.unregister_consumer('waiting', 'c'),
        pgq.register_consumer_at('waiting', 'c', min(tick_id)) FROM pgq.tick
        WHERE tick_queue = (SELECT queue_id FROM pgq.queue
            WHERE queue_name = 'waiting')" >/dev/null
    run consume_pgq 1
}

# Inserts WAITING events, in batches of 100.
load_pgq() {
    server_psql -q >/dev/null <<SQL
SELECT pgq.create_queue('waiting');
SELECT pgq.set_queue_config('waiting', 'ticker_max_count', '100');
SELECT pgq.register_consumer('waiting', 'c');
CREATE PROCEDURE bench.load_pgq(batches integer) LANGUAGE plpgsql AS \$\$
BEGIN
    FOR i IN 1..batches LOOP
        PERFORM pgq.insert_event('waiting', 'e', '$VALUE')
            FROM generate_series(1, 100);
        COMMIT;
        PERFORM pgq.ticker('waiting');
        COMMIT;
    END LOOP;
END \$\$;
CALL bench.load_pgq($((WAITING / 100)));
SQL
    server_psql -q -c 'VACUUM ANALYZE'
}

# Consumers of a backlog: each transaction polls 100 records and commits.
row_consume() {
    local mode all
    topic waiting 1
    load waiting "$WAITING"
    plain_copy waiting
    server_psql -q -c 'CREATE TABLE bench.position (
        consumer text PRIMARY KEY, next_offset bigint NOT NULL)' \
        -c "INSERT INTO bench.position VALUES ('c', 0)"
    join one_by_one waiting 1
    all=("ours consume one_by_one waiting 1 100" "select consume_select")
    if [ -n "$PGQ" ]; then
        load_pgq
        all+=("pgq consume_pgq")
    fi
    for mode in on off; do
        export PGOPTIONS="-c synchronous_commit=$mode"
        compete "${all[@]}"
        unset PGOPTIONS
        report "poll 100, commit, fsync wait $mode" 'SELECT, UPDATE' 0.8 \
            ours select 100
        if [ -n "$PGQ" ]; then
            report "poll 100, commit, fsync wait $mode" PgQ 1.0 ours pgq 100
        fi
    done
}

row_members() {
    topic shared 8
    load shared "$((WAITING * 4))"
    join together shared 8
    join alone shared 1
    export PGOPTIONS='-c synchronous_commit=off'
    compete "eight consume together shared 8 100" \
        "one consume alone shared 1 100"
    unset PGOPTIONS
    report '8 members, 8 part., no wait for WAL' 'one member' 1.6 eight one 100
}

# lag() of 100 groups on 12 partitions, each with a committed offset of its own
row_lag() {
    topic twelve 12
    load twelve "$BIG"
    server_psql -q -c "DO \$\$ BEGIN
        FOR i IN 1..100 LOOP
            PERFORM minikafka.commit_offset('lag ' || i, 'twelve', p,
                (hashint4(i * 12 + p) & 65535) % (SELECT end_offset
                    FROM minikafka.offsets('twelve', p)))
                FROM generate_series(0, 11) AS p;
            COMMIT;
        END LOOP;
    END \$\$"
    local query="SELECT count(*), sum(lag)
        FROM generate_series(1, 100) AS i, minikafka.lag('lag ' || i)"
    local i
    rm -f "$RESULTS"/*
    # as the first statement of a session, and again
    for ((i = 0; i < ROUNDS; i++)); do
        server_psql -q -c '\timing on' -c "$query" -c "$query" |
            sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' >"$RESULTS/times"
        sed -n 1p "$RESULTS/times" >>"$RESULTS/first"
        sed -n 2p "$RESULTS/times" >>"$RESULTS/again"
    done
    spread "ms of lag(), 100 groups, $(numfmt --to=si "$BIG")" '' - first
    spread 'ms of lag(), the second call' 'less than' 20 again
}

# Consumes COMMITS records, in a transaction each.
commit_pinned() {
    from_start looped committed
    PGOPTIONS='-c synchronous_commit=off' as_user "$PG_BINDIR/pgbench" -n \
        -M prepared -f bench/consume.sql -c 1 -t "$COMMITS" -D group=looped \
        -D records=1 >/dev/null 2>&1
}

row_commits() {
    local when mode holder
    make_control
    for when in '' in_control; do
        $when topic committed 1
        $when load committed "$WAITING"
        $when join looped committed 1
    done
    for when in before after; do
        if [ "$when" = after ]; then
            hold_snapshot
            commit_pinned
            in_control commit_pinned
        fi
        for mode in on off; do
            export PGOPTIONS="-c synchronous_commit=$mode"
            compete "ours consume looped committed 1 100" \
                "control in_control consume looped committed 1 100"
            unset PGOPTIONS
            if [ "$when" = before ]; then
                report "poll 100, commit, fsync wait $mode" 'control before' - \
                    ours control 100
                continue
            fi
            report "poll 100, commit, snapshot, fsync $mode" \
                'no snapshot' 0.95 ours control 100
        done
    done
    release_snapshot
}

# numbered: sends for producers that are new in each run
numbered() {
    runs=$((${runs:-0} + 1))
    run send_numbered 8 -D topic=numbered -D sequence=-1 -D run="$runs"
}

row_numbered() {
    local mode target=0.75
    topic numbered 8
    for mode in on off; do
        export PGOPTIONS="-c synchronous_commit=$mode"
        compete 'ours numbered' \
            'plain run send_partition 8 -D topic=numbered -D sequence=-1'
        unset PGOPTIONS
        report "send, 8 producers, fsync wait $mode" 'send' "$target" ours plain
        target=-
    done
}

# appended: appends, beginning after the producer's last sequence
appended() {
    local last
    last=$(server_psql -At -c "SELECT last_sequence
        FROM minikafka.producer_state('appending')")
    run append_numbered 1 -D topic=appended -D sequence="${last:--1}"
}

# Appends APPENDED records, 100 to a transaction.
append_pinned() {
    server_psql -q <<SQL
DO \$\$
DECLARE
    next bigint := coalesce((SELECT last_sequence + 1
        FROM minikafka.producer_state('appending')), 0);
BEGIN
    FOR i IN 1..$APPENDED / 100 LOOP
        PERFORM minikafka.append('appended', 0, 'k', '$VALUE',
            producer => 'appending', sequence => next + k)
            FROM generate_series(0, 99) AS k;
        next := next + 100;
        COMMIT;
    END LOOP;
END \$\$;
SQL
}

row_appended() {
    local when mode holder
    make_control
    topic appended 1
    in_control topic appended 1
    hold_snapshot
    append_pinned
    in_control append_pinned
    for mode in on off; do
        export PGOPTIONS="-c synchronous_commit=$mode"
        compete "ours appended" "control in_control appended"
        unset PGOPTIONS
        report "append, snapshot, fsync wait $mode" 'no snapshot' 0.95 \
            ours control
    done
    release_snapshot
}

row_outbox() {
    topic outbox 1
    server_psql -q <<'SQL'
CREATE TABLE bench.sent (id integer PRIMARY KEY, customer text, amount numeric,
    placed_at timestamptz, note text);
CREATE TRIGGER outbox AFTER INSERT ON bench.sent
    FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('outbox', 'id');
CREATE TABLE bench.logged (LIKE bench.sent INCLUDING ALL);
CREATE TABLE bench.log (id bigserial PRIMARY KEY, row jsonb);
CREATE FUNCTION bench.log() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO bench.log (row) VALUES (to_jsonb(NEW)); RETURN NULL; END';
CREATE TRIGGER log AFTER INSERT ON bench.logged
    FOR EACH ROW EXECUTE FUNCTION bench.log();
SQL
    compete 'ours run_simple outbox -D table=bench.sent' \
        'plpgsql run_simple outbox -D table=bench.logged'
    report 'outbox(), INSERT of 100,000' 'plpgsql' 2 ours plpgsql 100000
}

# timed STATEMENT: runs it once, and prints how many times a second that is
timed() {
    server_psql -q -c '\timing on' -c "$1" |
        sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk '{ print 1000 / $1 }'
}

# COMPACTED records with a tenth as many keys, in random order.  Each round
# builds the table or topic anew, because the work changes it.
KEYED="SELECT k, int4send((hashint4(k) & 2147483647) % ($COMPACTED / 10)) AS key
    FROM generate_series(1, $COMPACTED) AS k"

# compact_ours SEGMENT_RECORDS
compact_ours() {
    server_psql -q >/dev/null <<SQL
SET client_min_messages = warning;
SELECT minikafka.drop_topic('keyed', if_exists => true);
SELECT minikafka.create_topic('keyed', 1, cleanup_policy => 'compact',
    segment_records => $1);
SELECT minikafka.send_many_bytes('keyed', array_agg('$VALUE'::bytea ORDER BY k),
    array_agg(key ORDER BY k)) FROM ($KEYED) AS records GROUP BY k / 100000;
VACUUM ANALYZE minikafka_topics.keyed;
CHECKPOINT;
SQL
    timed "CALL minikafka.compact('keyed')"
}

compact_delete() {
    server_psql -q >/dev/null <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS bench.keyed;
CREATE TABLE bench.keyed (
    "offset" bigint PRIMARY KEY,
    ts timestamptz NOT NULL,
    partition integer NOT NULL,
    key bytea,
    value bytea,
    headers jsonb
);
INSERT INTO bench.keyed ("offset", ts, partition, key, value)
SELECT k - 1, now(), 0, key, '$VALUE' FROM ($KEYED) AS records;
VACUUM ANALYZE bench.keyed;
CHECKPOINT;
SQL
    # as much memory as compaction has
    PGOPTIONS='-c work_mem=64MB' timed 'DELETE FROM bench.keyed AS k
        USING (SELECT key, max("offset") AS newest FROM bench.keyed
            GROUP BY key) AS m
        WHERE k.key = m.key AND k."offset" < m.newest'
}

row_compaction() {
    local segments work
    work="compaction, $(numfmt --to=si "$COMPACTED")"
    for segments in 1 10; do
        compete "ours compact_ours $((COMPACTED / segments))" \
            "delete compact_delete"
        report "$work, segments: $segments" 'DELETE USING' 1.5 \
            ours delete "$COMPACTED"
    done
    # The segment has room for more records, so it is the newest.
    compete "ours compact_ours $((COMPACTED * 10))" "delete compact_delete"
    report "$work, newest segment" 'DELETE USING' 1.5 ours delete "$COMPACTED"
}

# Sends RETAINED records to 10 segments, of which the last is not full.
load_retained() {
    server_psql -q >/dev/null <<SQL
SET client_min_messages = warning;
SELECT minikafka.drop_topic('retained', if_exists => true);
SELECT minikafka.create_topic('retained', 1,
    segment_records => $((RETAINED / 10 + RETAINED / 200)));
SQL
    as_user "$PG_BINDIR/pgbench" -n -M prepared -f bench/load.sql -c 2 -j 2 \
        -t "$((RETAINED / 40000))" -D value="$VALUE" -D topic=retained \
        >/dev/null 2>&1
    server_psql -q -c 'VACUUM ANALYZE minikafka_topics.retained' -c CHECKPOINT
}

# Sets a retention by age that expires all segments but the last, and a few
# records of the last, which are deleted as rows.
expire_retained() {
    server_psql -q -v ON_ERROR_STOP=1 >/dev/null <<'SQL'
SELECT minikafka.set_topic_option('retained', 'retention', (SELECT
    (clock_timestamp() - ts)::text FROM minikafka.topics,
    minikafka.fetch('retained', 0, 9 * segment_records, 1)
    WHERE topics.topic = 'retained'));
CALL minikafka.expire('retained');
SQL
    # All segments are gone, and the log start is in the last one.
    if [ "$(server_psql -At -c "SELECT log_start_offset / segment_records,
        segments < 4 FROM minikafka.partitions JOIN minikafka.topics
        USING (topic) WHERE topic = 'retained'")" != '9|t' ]; then
        server_die "retention has not removed the expected records"
    fi
}

# longest_send [COMMAND]: the longest send in milliseconds, while COMMAND runs
longest_send() {
    local beside=
    if [ $# -gt 0 ]; then
        # when the sender is running
        (sleep 1 && "$@") &
        beside=$!
    fi
    as_user "$PG_BINDIR/pgbench" -n -M prepared -f bench/send.sql -c 1 -T 6 \
        -D value="$VALUE" -D topic=retained -l \
        --log-prefix="$SERVER_DIR/tmp/sends" >/dev/null 2>&1
    if [ -n "$beside" ] && ! kill -0 "$beside" 2>/dev/null; then
        wait "$beside" || server_die "the command beside the sender has failed"
    elif [ -n "$beside" ]; then
        server_die "the sender ended before the command beside it"
    fi
    # without the first ones of a new session
    awk 'FNR > 100 && $3 > longest { longest = $3 }
        END { print longest / 1000 }' "$SERVER_DIR/tmp/sends".*
    as_root rm "$SERVER_DIR/tmp/sends".*
}

row_retention() {
    local i
    rm -f "$RESULTS"/*
    for ((i = 0; i < ROUNDS; i++)); do
        load_retained
        round "$i" 'beside longest_send expire_retained' 'alone longest_send'
    done
    spread "ms of a send, retention of $(numfmt --to=si "$RETAINED")" \
        'less than' 50 beside
    spread '  without retention' '' - alone
}

# with_preload COMMAND: runs it with the library preloaded
with_preload() {
    if [ "$PRELOAD" != 0 ]; then
        server_stop
        start "shared_preload_libraries = 'minikafka'"
    fi
    "$@"
    if [ "$PRELOAD" != 0 ]; then
        server_stop
        start
    fi
}

wake() {
    local mode
    for mode in on off; do
        rm -f "$RESULTS"/*
        PGOPTIONS="-c synchronous_commit=$mode" /usr/bin/python3 \
            "$CHECKOUT/bench/wake.py" "$ROUNDS" "$WOKEN" "$RESULTS"
        report_times "send() to poll(), us, fsync wait $mode" \
            'INSERT, NOTIFY' 1.0 poll.median row.median
        report_times '  the slowest of a hundred' 'INSERT, NOTIFY' 1.0 \
            poll.p99 row.p99
        report_times '  the median' 'NOTIFY alone' 1.0 \
            poll.median notify.median
        report_times '  the slowest of a hundred' 'NOTIFY alone' 1.0 \
            poll.p99 notify.p99
    done
}

row_wake() {
    topic woken 1
    join woken woken 1
    server_psql -q -c "SELECT minikafka.leave_group('woken', 'm0'),
        minikafka.join_group('woken', '{woken}', 'm')" \
        -c 'CREATE TABLE bench.woken (id bigserial PRIMARY KEY, value text)' \
        >/dev/null
    with_preload wake
}

# beside_waiters COMMAND: runs it while 100 sessions wait for records of other
# topics
beside_waiters() {
    local waiters query="SELECT count(*) FROM pg_stat_activity
        WHERE query LIKE '%max_wait%' AND pid <> pg_backend_pid()"
    PGOPTIONS='' as_user "$PG_BINDIR/pgbench" -n -f bench/wait.sql -c 100 -j 1 \
        -t 1 >/dev/null 2>&1 &
    waiters=$!
    until [ "$(server_psql -At -c "$query AND state = 'active'
            AND wait_event_type IS NOT NULL")" = 100 ]; do
        kill -0 "$waiters" || server_die "the waiters have failed"
    done
    "$@"
    if [ "$(server_psql -At -c "$query")" != 100 ]; then
        server_die "some of the waiters did not wait"
    fi
    server_psql -q -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query LIKE '%max_wait%' AND pid <> pg_backend_pid()" >/dev/null
    wait "$waiters" || true
}

waiters() {
    local mode
    for mode in on off; do
        export PGOPTIONS="-c synchronous_commit=$mode"
        compete 'ours beside_waiters run send 8 -D topic=eight' \
            'alone run send 8 -D topic=eight'
        unset PGOPTIONS
        report "send, 8 cl., 100 wait, fsync wait $mode" 'no waiters' 0.95 \
            ours alone
    done
}

row_waiters() {
    server_psql -q >/dev/null <<'SQL'
SELECT minikafka.create_topic('other' || i, 1)
FROM generate_series(0, 99) AS i;
SELECT minikafka.join_group('waiter ' || i, ARRAY['other' || i], 'm',
    session_timeout => '1 day', max_poll_interval => '1 day')
FROM generate_series(0, 99) AS i;
SQL
    with_preload waiters
}

# ---------------------------------------------------------------------------

# start [LINE ...]: starts the server, without checkpoints but those of compete()
start() {
    server_start 'fsync = on' "shared_buffers = $SHARED_BUFFERS" \
        'max_wal_size = 64GB' 'checkpoint_timeout = 1d' \
        'max_connections = 150' "$@"
}

for row; do
    case " ${ROWS[*]} " in
        *" $row "*) ;;
        *) server_die "no row \"$row\"; there are: ${ROWS[*]}" ;;
    esac
done
if [ $# -gt 0 ]; then ROWS=("$@"); fi

server_packages 'postgresql-%-pgq3' python3-psycopg2
PGQ=
if [ -e "$("$PG_CONFIG" --sharedir)/extension/pgq.control" ]; then PGQ=1; fi
server_copy
# shellcheck disable=SC2119 # the arguments are not for it
server_build
start
RESULTS=$SERVER_DIR/results
mkdir "$RESULTS"
prepare

echo "PostgreSQL $PG_MAJOR, $(nproc) cores; $ROUNDS rounds of" \
    "$SECONDS_PER_ROUND s"
if [ "$OUT" != /dev/null ]; then
    echo "# PostgreSQL $PG_MAJOR, $(nproc) processors, $(date +%F): bash" \
        "bench/run.sh ${ROWS[*]}" >"$OUT"
    # shellcheck disable=SC2086 # a column each
    write_result $COLUMNS
fi
printf '%-37s %-14s %-19s %5s  %-6s %9s %9s\n' work 'compared with' \
    'ratio (low..high)' target '' 'records/s' 'theirs'
for row in "${ROWS[@]}"; do
    "row_$row"
done
