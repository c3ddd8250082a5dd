#!/usr/bin/env bash
#
# bash examples/demo.sh: builds minikafka, starts a private server in a
# temporary folder, and runs producers and consumers on it:
#
# Four sessions write flights to table "flight", each with an event in the
# same transaction (examples/producer.sql).  Four members of a group share the
# partitions, and build table "airport_delay" from the events
# (examples/consumer.sql).  One of them is killed in the middle of a batch, one
# waits for too long in a batch (examples/kill.sql), and one joins late.  At the
# end the table must equal the result of GROUP BY over "flight"
# (examples/report.sql).  Then both topics are made shorter: one by key, one by
# age (examples/shorten.sql).  If a check fails, the exit status is not 0.
#
#   KEEP=1              keep the temporary folder
#   PG_CONFIG=/path     use that PostgreSQL

# shellcheck disable=SC2119 # the functions' arguments are optional
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

# wait_for QUERY: waits until the query returns t
wait_for() {
    local until=$((SECONDS + 60)) shown=$SECONDS
    until [ "$(value "$1")" = t ]; do
        if ((SECONDS > until)); then
            cat "$SERVER_DIR"/member-*.log >&2
            server_die "the condition did not become true: $1"
        fi
        if ((SECONDS > shown)); then
            progress
            shown=$SECONDS
        fi
        sleep 0.1
    done
}

join() {
    PGUSER=statistics server_psql -qAt >/dev/null \
        -c "SELECT minikafka.join_group('airport-delay',
        '{flights}', member_id => '$1',
        session_timeout => '2s', max_poll_interval => '3s')"
}

# consumer MEMBER: runs until it is killed; messages go to descriptor 3
consumer() {
    local member=$1 error
    while :; do
        error=$(PGUSER=statistics PGAPPNAME=$member server_psql -q -v VERBOSITY=verbose \
            -c "CALL consume('$member')" 2>&1) || true
        echo "$error"
        case $error in
            *'ERROR:  MK022:'* | *'ERROR:  MK101:'*)
                say "$member: its batch is rolled back; it polls again" >&3
                ;;
            *'ERROR:  MK025:'*)
                say "$member: its batch is rolled back; it joins again" >&3
                join "$member"
                ;;
            *) return ;;
        esac
    done
}

# start_consumers MEMBER ...: starts them and waits until they share the partitions
start_consumers() {
    local member
    for member; do
        join "$member"
        # opened here: the consumer may still run when the folder is removed
        consumer "$member" 3>&1 >"$SERVER_DIR/$member.log" 2>&1 &
    done
    wait_for "SELECT state = 'Stable' AND members = 4 FROM minikafka.groups"
    server_psql -f examples/members.sql
}

# start_producers SINCE UNTIL: starts them; their process ids go to "producers"
start_producers() {
    local worker
    producers=()
    for ((worker = 0; worker < PRODUCERS; worker++)); do
        PGUSER=airline server_psql -q -c "CALL produce($worker, $PRODUCERS, '$1', '$2')" &
        producers+=($!)
    done
}

# If a producer fails, the demo fails.
wait_for_producers() {
    local pid
    for pid in "${producers[@]}"; do
        wait "$pid"
    done
}

began=$SECONDS
server_packages
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
say "four members share the partitions; $PRODUCERS producers, until 14 February"
start_consumers member-1 member-2 member-3 member-4
start_producers 2001-01-01 2001-02-15
wait_for_producers
wait_for "$ALL_READ"
progress

say "until 14 March; one member is killed, one waits for too long"
server_psql -q -f examples/kill.sql 2>&1 |
    while IFS= read -r line; do
        case $line in
            *NOTICE:*) say "${line#*NOTICE:  }" ;;
            *) echo "$line" ;;
        esac
    done &
killer=$!
wait_for "SELECT count(*) > 0 FROM pg_locks
    WHERE relation = 'airport_delay'::regclass AND mode = 'RowShareLock'"
start_producers 2001-02-15 2001-03-15
wait "$killer"
wait_for_producers
progress

say "a member joins late; until the end of March"
start_consumers member-5
start_producers 2001-03-15 2001-04-01
wait_for_producers
wait_for "$ALL_READ"
progress

server_psql -q -f examples/report.sql
say "compaction and retention make the topics shorter"
server_psql -q -f examples/shorten.sql
say "all checks passed: each event was counted once"
