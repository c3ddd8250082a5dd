#!/usr/bin/env bash
#
# bash bench/soak.sh [MINUTES]: runs a mixed load, and checks that minikafka is
# as fast and as small at its end as at its beginning.  The default is 30
# minutes; fewer than 10 only try whether the script works.
#
#   RATE=50               the load, in percent of the machine's maximum
#   PRELOAD=1             0: a session calls maintain(), not the background worker
#   SHARED_BUFFERS=512MB  the server's cache
#   PG_CONFIG=/path       use that PostgreSQL
#   KEEP=1                keep the temporary folder
#
# On a private server with fsync and autovacuum on, these run at once:
#
#   send      producers; a topic with retention by age
#   numbered  idempotent producers; a topic with retention by size
#   keyed     producers of keyed records and tombstones; a compacted topic
#   consume   members of a group that poll the first topic and commit
#   inbox     members of a group that accept events of the second topic
#   woken     members that wait for records of a third topic
#   churn     members, groups and producers that come and go
#   insert    a plain INSERT, which shows what disturbs the machine
#
# Retention, expiry, and the intervals of maintenance, autovacuum, and checkpoints
# are short, so that each happens many times during the run.  In the third
# quarter a REPEATABLE READ transaction is open, which keeps dead rows from being
# removed.
#
# The run consists of samples of two seconds, and of ten parts.  The first part
# warms up.  The script compares the end (the tenth part) with the start (the
# second part) by the medians of their samples; the quartiles are in parentheses.
# A limit is "met", "spread" if some part of the first half was as bad, or
# "missed".  "plain" is the ratio divided by that of the plain INSERT.
#
# A table has "grown" if it is bigger in the fifth part than in the third, or in
# the tenth than in the ninth, by more than a tenth and a megabyte.  In between
# it may grow, because of the rows that the open transaction keeps.
#
# The exit status is 1 if a limit was missed, a table has grown, or a client has
# failed.

set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

MINUTES=${1:-30}
RATE=${RATE:-50}
PRELOAD=${PRELOAD:-1}
SHARED_BUFFERS=${SHARED_BUFFERS:-512MB}

SAMPLE=2
PART=$((MINUTES * 6)) # seconds
INTERVAL=$((MINUTES > 6 ? MINUTES / 6 : 1))
VALUE=$(printf '0123456789%.0s' {1..20})

# clients, script, options
declare -A WORK=(
    [send]='4 send -D topic=by_age'
    [numbered]='2 send_numbered -D topic=by_size -D sequence=-1'
    [keyed]='2 soak_keyed'
    [consume]='3 consume -D group=reading -D records=100'
    [inbox]='2 soak_inbox'
    [insert]='1 send_insert -D partitions=1'
    [woken]='2 soak_wait'
    [churn]='2 soak_churn'
)
# The measured ones.  The others are compared with insert, which comes first.
MEASURED=(insert send numbered keyed consume inbox)

# ---------------------------------------------------------------------------
# The load

# begin NAME SECONDS [OPTION ...]
begin() {
    local name=$1 seconds=$2 clients script options
    shift 2
    read -r clients script options <<<"${WORK[$name]}"
    # shellcheck disable=SC2086 # words of this script's own
    as_user "$PG_BINDIR/pgbench" -n -M prepared -f "bench/$script.sql" \
        -c "$clients" -j 1 -T "$seconds" -D value="$VALUE" \
        -D run="$RUN" $options "$@" >"$LOGS/$name.out" 2>&1 &
    PIDS[$name]=$!
}

# finish NAME: waits for it to end
finish() {
    wait "${PIDS[$1]}" || true
    if ! grep -q '^tps' "$LOGS/$1.out" || grep -q 'aborted' "$LOGS/$1.out"; then
        cat "$LOGS/$1.out" >&2
        server_die "$1 has failed"
    fi
}

# Measures what they reach together without a limit, and sets their limits.
calibrate() {
    local name
    RUN=calibration
    for name in "${MEASURED[@]}"; do begin "$name" 10; done
    for name in "${MEASURED[@]}"; do
        finish "$name"
        LIMIT[$name]=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' \
            "$LOGS/$name.out" | awk -v rate="$RATE" '{ print $1 * rate / 100 }')
    done
    LIMIT[insert]=$(awk -v rate="${LIMIT[insert]}" \
        'BEGIN { print rate < 100 ? rate : 100 }')
    LIMIT[churn]=4
}

# Sizes of tables, each with its indexes: of the extension; of topics; of all
# the system catalogs.
sizes() {
    server_psql -At -F ' ' <<'SQL'
SELECT extract(epoch FROM clock_timestamp())::bigint,
    CASE n.nspname
        WHEN 'minikafka_data' THEN 'topic:' || coalesce((SELECT t.relname
            FROM minikafka.topic JOIN pg_class AS t ON t.oid = topic.rel
            WHERE topic_id = split_part(substr(c.relname, 2), '_', 1)::integer),
            '?')
        WHEN 'pg_catalog' THEN 'pg_catalog'
        ELSE c.relname
    END AS name,
    coalesce(sum(pg_total_relation_size(c.oid)), 0)
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname IN ('minikafka', 'minikafka_data', 'pg_catalog')
    AND c.relkind = 'r'
GROUP BY name;
SQL
}

# wait_until TIME: in seconds since the epoch
wait_until() {
    local seconds=$(($1 - $(date +%s)))
    if [ "$seconds" -gt 0 ]; then sleep "$seconds"; fi
}

# Runs the load, takes samples of sizes, and holds the transaction open.
soak() {
    local name rate
    RUN=soak
    BEGUN=$(date +%s)
    for name in "${!WORK[@]}"; do
        rate=()
        if [ -n "${LIMIT[$name]:-}" ]; then rate=(-R "${LIMIT[$name]}"); fi
        begin "$name" "$((PART * 10))" "${rate[@]}" -l \
            --log-prefix="$LOGS/$name.log"
    done
    (
        for ((i = 0; i * SAMPLE * 2 < PART * 10; i++)); do
            wait_until "$((BEGUN + i * SAMPLE * 2))"
            sizes
        done
    ) >"$SERVER_DIR/sizes" &
    PIDS[sizes]=$!
    wait_until "$((BEGUN + PART * 5))"
    server_psql -q >/dev/null <<SQL
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM bench.plain;
SELECT pg_sleep($PART * 2.5);
SQL
    for name in "${!WORK[@]}"; do finish "$name"; done
    wait "${PIDS[sizes]}"
}

# ---------------------------------------------------------------------------
# The results

# samples NAME: prints for each sample its part, the transactions per second, and
# the 99th percentile of their times in milliseconds.  The time that a
# transaction waits for a free client is left out; it lowers the rate instead.
samples() {
    cat "$LOGS/$1.log".* | awk -v begun="$BEGUN" -v len="$SAMPLE" '
        { printf "%d %d\n", ($5 + $6 / 1000000 - begun) / len, $3 - $7 }' |
        sort -k 1,1n -k 2,2n | awk -v len="$SAMPLE" -v part="$PART" '
        # in an empty sample, a transaction took at least as long as the sample
        function put(p99) {
            printf "%d %.1f %.2f\n", s * len / part + 1, n / len, p99
            n = 0
            s++
        }
        function end() { put(n ? a[int((n * 99 + 99) / 100)] / 1000 : len * 1000) }
        $1 * len < part * 10 { while (s < $1) end(); a[++n] = $2 }
        END { while (s * len < part * 10) end() }'
}

# compare NAME COLUMN WHAT LIMIT SIGN: the ratio must be at least (SIGN 1) or at
# most LIMIT.  The plain INSERT comes first, and leaves its ratios for the others.
compare() {
    sort -k 1,1n -k "$2,$2g" "$SERVER_DIR/$1.samples" |
        awk -v column="$2" -v work="$1, $3" -v limit="$4" -v sign="$5" \
            -v beside="$SERVER_DIR/insert.$2" '
        { a[$1, ++n[$1]] = $column }
        function at(part, share) { return a[part, int((n[part] - 1) * share) + 1] }
        function show(part) {
            return sprintf("%7.1f (%.1f..%.1f)", at(part, 0.5),
                at(part, 0.25), at(part, 0.75))
        }
        END {
            start = at(2, 0.5); worst = start; end = at(10, 0.5)
            for (i = 3; i <= 5; i++)
                if (sign * at(i, 0.5) < sign * worst) worst = at(i, 0.5)
            verdict = limit == "-" ? "-" : \
                sign * end >= sign * limit * start ? "met" : \
                sign * end >= sign * limit * worst ? "spread" : "missed"
            if ((getline plain < beside) <= 0) {
                plain = end / start
                print plain >beside
            }
            plain = column == 3 ? sprintf("%.2f", end / start / plain) : ""
            printf "%-22s %-24s %-24s %5.2f %7s %5s %s\n", work, show(2),
                show(10), end / start, plain, limit, verdict
            line = sprintf("%-22s", "  in each part")
            for (i = 1; i <= 10; i++) line = line sprintf(" %.1f", at(i, 0.5))
            print line
        }'
}

figures() {
    local name
    printf '%-22s %-24s %-24s %5s %7s %5s\n' work 'start (quartiles)' \
        'end (quartiles)' ratio plain limit
    for name in "${MEASURED[@]}"; do
        samples "$name" >"$SERVER_DIR/$name.samples"
        if [ "$name" = insert ]; then
            compare "$name" 2 'a second' - 1
            compare "$name" 3 'p99 in ms' - -1
            continue
        fi
        compare "$name" 2 'a second' 0.95 1
        compare "$name" 3 'p99 in ms' 1.05 -1
    done
}

# A line for each table: the median of its sizes in some parts
growth() {
    printf '%-22s %9s %9s %9s %9s %9s  %s\n' 'kB in part' 2 3 5 9 10 ''
    awk -v begun="$BEGUN" -v part="$PART" '{
        printf "%s %d %.0f\n", $2, ($1 - begun) / part + 1, $3 / 1024
    }' "$SERVER_DIR/sizes" | sort -k 1,1 -k 2,2n -k 3,3n | awk '
        function grown(from, to) { return to > from * 1.1 && to > from + 1024 }
        function at(part) { return a[part, int((n[part] + 1) / 2)] + 0 }
        function end() {
            if (name == "") return
            printf "%-22s %9d %9d %9d %9d %9d  %s\n", name, at(2), at(3),
                at(5), at(9), at(10), grown(at(3), at(5)) ||
                grown(at(9), at(10)) ? "grown" : ""
            delete n
        }
        $1 != name { end(); name = $1 }
        { a[$2, ++n[$2]] = $3 }
        END { end() }'
}

# ---------------------------------------------------------------------------

case $MINUTES in
    '' | *[!0-9]* | 0) server_die "how many minutes?" ;;
esac

# shellcheck disable=SC2119 # the arguments are not for these
{
    server_packages
    server_copy
    server_build
}
LOGS=$SERVER_DIR/tmp
declare -A PIDS LIMIT

settings=(
    'fsync = on' "shared_buffers = $SHARED_BUFFERS" 'max_wal_size = 64GB'
    "checkpoint_timeout = $((PART > 60 ? PART / 2 : 30))s"
    "autovacuum_naptime = $((MINUTES < 60 ? MINUTES : 60))s"
    "minikafka.offsets_retention = ${PART}s"
    "minikafka.producer_expiry = ${PART}s"
    "minikafka.inbox_retention = ${PART}s"
)
if [ "$PRELOAD" != 0 ]; then
    settings+=("shared_preload_libraries = 'minikafka'"
        "minikafka.database = 'postgres'"
        "minikafka.maintenance_interval = ${INTERVAL}s")
fi
server_start "${settings[@]}"
server_psql -q >/dev/null <<SQL
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
SELECT minikafka.create_topic('by_age', 4, segment_records => $((PART * 50)));
SELECT minikafka.create_topic('by_size', 2, segment_records => $((PART * 50)));
SELECT minikafka.create_topic('compacted', 2, segment_records => $((PART * 50)),
    cleanup_policy => 'compact');
SELECT minikafka.join_group(group_id, ARRAY[topic], 'm' || i,
    session_timeout => '1 day', max_poll_interval => '1 day')
FROM (VALUES ('reading', 'by_age', 3), ('accepting', 'by_size', 2),
    ('woken', 'compacted', 2)) AS groups (group_id, topic, members),
    generate_series(0, members - 1) AS i;
SQL
calibrate
server_psql -q >/dev/null <<SQL
SELECT minikafka.set_topic_option('by_age', 'retention', '${PART} s');
-- what comes in as long
SELECT minikafka.set_topic_option('by_size', 'retention_bytes',
    (${LIMIT[numbered]} * $PART * 300 / 2)::bigint::text);
SELECT minikafka.set_topic_option('compacted', 'delete_retention', '${PART} s');
SQL
if [ "$PRELOAD" = 0 ]; then
    (
        while server_psql -q -c 'CALL minikafka.maintain()'; do
            sleep "$INTERVAL"
        done
    ) >/dev/null 2>&1 &
fi

echo "PostgreSQL $PG_MAJOR, $(nproc) cores; $MINUTES minutes, at $RATE % of what" \
    "it can do; retention of $PART s, maintenance every $INTERVAL s"
soak
figures | tee "$SERVER_DIR/report"
echo
growth | tee -a "$SERVER_DIR/report"
echo
problems=$(server_psql -At -c "SELECT t.topic, p.*
    FROM minikafka.topics AS t, minikafka.check_topic(t.topic) AS p
    WHERE p.severity = 'error'")
log=$(grep -E ' (ERROR|WARNING|FATAL|PANIC):' "$SERVER_LOG" || true)
if [ -n "$problems$log" ]; then
    echo "$problems"
    echo "$(wc -l <<<"$log") errors and warnings, the last of them:"
    tail -n 5 <<<"$log"
    exit 1
fi
if grep -qE ' (missed|grown)$' "$SERVER_DIR/report"; then exit 1; fi
