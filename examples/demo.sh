#!/usr/bin/env bash
#
# bash examples/demo.sh: builds minikafka, starts a private server in a
# temporary folder, and runs an outbox and an inbox on it:
#
# Four sessions write flights to table "flight", each with an event in the
# same transaction (examples/producer.sql).  Three consumers, one a partition,
# build table "airport_delay" from the events (examples/consumer.sql).  One of
# them is killed in the middle and started again (examples/kill.sql).  At the
# end the table must equal what GROUP BY over "flight" gives
# (examples/report.sql); else the exit status is not 0.
#
#   KEEP=1              keep the temporary folder
#   PG_CONFIG=/path     use that PostgreSQL

# shellcheck disable=SC2119 # the functions' arguments are options
set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

PRODUCERS=4

say() {
    printf '%3d s  %s\n' "$((SECONDS - began))" "$*"
}

value() {
    server_psql -qAt -c "$1"
}

progress() {
    say "$(value "SELECT format('%s flights written, %s events sent, %s read',
        (SELECT count(*) FROM flight),
        (SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'flights'),
        (SELECT coalesce(sum(flights), 0) FROM airport_delay))")"
}

# wait_for QUERY: until it says t
wait_for() {
    local until=$((SECONDS + 60)) shown=$SECONDS
    until [ "$(value "$1")" = t ]; do
        if ((SECONDS > until)); then
            cat "$SERVER_DIR"/consumer.*.log >&2
            server_die "this did not come true: $1"
        fi
        if ((SECONDS > shown)); then
            progress
            shown=$SECONDS
        fi
        sleep 0.1
    done
}

start_consumer() {
    server_psql -q -c "CALL consume($1)" >>"$SERVER_DIR/consumer.$1.log" 2>&1 &
}

# start_producers SINCE UNTIL: sets producers
start_producers() {
    local worker
    producers=()
    for ((worker = 0; worker < PRODUCERS; worker++)); do
        server_psql -q -c "CALL produce($worker, $PRODUCERS, '$1', '$2')" &
        producers+=($!)
    done
}

# A producer that fails ends the demo.
wait_for_producers() {
    local pid
    for pid in "${producers[@]}"; do
        wait "$pid"
    done
}

began=$SECONDS
server_packages
echo "building, and starting PostgreSQL $PG_MAJOR"
server_copy
server_build
server_start
for file in setup producer consumer; do
    server_psql -q -f "examples/$file.sql" >/dev/null
done
ALL_READ="SELECT sum(end_offset) =
        (SELECT coalesce(sum(flights), 0) FROM airport_delay)
    FROM minikafka.partitions WHERE topic = 'flights'"

began=$SECONDS
say "three consumers and $PRODUCERS producers, until 14 February"
for partition in 0 1 2; do
    start_consumer "$partition"
done
start_producers 2001-01-01 2001-02-15
wait_for_producers
wait_for "$ALL_READ"
progress

say "from 15 February on; one consumer will be killed"
server_psql -qAt -f examples/kill.sql >"$SERVER_DIR/kill.log" &
killer=$!
wait_for "SELECT count(*) > 0 FROM pg_locks
    WHERE relation = 'airport_delay'::regclass AND mode = 'RowShareLock'"
start_producers 2001-02-15 2001-04-01
wait "$killer"
say "$(tail -n 1 "$SERVER_DIR/kill.log")"
say "it is started again"
start_consumer "$(value "SELECT minikafka.partition_for_key('flights', 'ORD')")"
wait_for_producers
wait_for "$ALL_READ"
progress

server_psql -q -f examples/report.sql
say "it comes out even"
