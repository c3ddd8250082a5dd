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
# age (examples/shorten.sql).
#
# Then fifty workers of a share group (examples/share/worker.sql) do the jobs of
# eight partitions, which take from 10 ms to 1 s (examples/jobs.sql).  One of them is
# killed in the middle of a job.  Each job must be done once, and those of an
# airport in order (examples/jobs_report.sql).  Three jobs cannot be done: they
# become dead letters, and an operator deals with them (examples/share/desk.sql).
#
# If a check fails, the exit status is not 0.
#
#   KEEP=1              keep the temporary folder
#   PG_CONFIG=/path     use that PostgreSQL

# shellcheck disable=SC2119 # the functions' arguments are optional
set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

PRODUCERS=4
WORKERS=50

say() {
    printf '%3d s  %s\n' "$((SECONDS - began))" "$*"
}

value() {
    server_psql -qAt -c "$1"
}

PROGRESS="SELECT format('%s flights written, %s events sent, %s read',
    (SELECT count(*) FROM flight),
    (SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'flights'),
    (SELECT coalesce(sum(flights), 0) FROM airport_delay))"

progress() {
    say "$(value "$PROGRESS")"
}

# wait_for QUERY: waits until the query returns t
wait_for() {
    local until=$((SECONDS + 60)) shown=$SECONDS
    until [ "$(value "$1")" = t ]; do
        if ((SECONDS > until)); then
            cat "$SERVER_DIR"/*-*.log >&2
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

# share_psql ARGUMENT ...: with the files of examples/share, in whose folder they run
share_psql() {
    as_user sh -c 'cd examples/share && exec "$@"' sh \
        "$PG_BINDIR/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

# Workers 1 to WORKERS of the share group; each runs until it is killed.
start_workers() {
    # shellcheck disable=SC2016 # for the inner shell
    PGUSER=payer as_user sh -c 'for worker in $(seq "$1"); do
            PGAPPNAME=worker-$worker "$2" -X -q -c "CALL pay_claims(1)" &
        done
        wait' sh "$WORKERS" "$PG_BINDIR/psql" >"$SERVER_DIR/workers-all.log" 2>&1 &
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

say "$WORKERS workers share the jobs of 8 partitions"
value "CREATE DATABASE jobs"
export PGDATABASE=jobs
PROGRESS="SELECT format('%s of %s jobs done, %s dead letters, %s workers at work', done, jobs, dead_letters,
    (SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep')) FROM result"
for file in setup worker; do
    share_psql -f "$file.sql" >/dev/null
done
server_psql -q -f examples/jobs.sql
# They begin together: the group hands out nothing until all are there.
value "SELECT minikafka.set_group_option('payments', 'paused', 'true')" >/dev/null
start_workers
wait_for "SELECT count(*) = $WORKERS FROM pg_stat_activity WHERE application_name LIKE 'worker-%'"
value "SELECT minikafka.set_group_option('payments', 'paused', 'false')" >/dev/null
wait_for "SELECT count(*) > 4 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
say "$(value "SELECT application_name || ' is killed in the middle of a job'
    FROM (SELECT * FROM pg_stat_activity WHERE wait_event = 'PgSleep' LIMIT 1) a
    WHERE pg_terminate_backend(pid)")"
wait_for "SELECT done + dead_letters = jobs FROM result"
progress
server_psql -q -f examples/jobs_report.sql
say "three jobs have failed three times each: an operator deals with them"
share_psql -f desk.sql
wait_for "SELECT count(*) = 2 FROM payment WHERE flight IN (0, 5001)"
say "all checks passed: each event was counted once, each job was done once and in order"
