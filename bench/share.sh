# shellcheck shell=bash
#
# The rows of bench/run.sh about share groups.  Sourced by it.
#
# What is compared with them is a table that is a queue, from which workers take
# rows by DELETE ... FOR UPDATE SKIP LOCKED ... RETURNING.  It keeps no order in a
# key; a share group does.  Each run of a contender begins with the same number of
# waiting records, in 8 partitions and with 10,000 keys.  The records are counted,
# so that a call that found none does not count.

SHARE_KEY='int4send(k % 10000)'

# ---------------------------------------------------------------------------
# What waits

# share_load TOPIC KEY RECORDS: sends them in transactions of at most 100,000; KEY
# is an expression of k, which counts them from 0
share_load() {
    local first
    for ((first = 0; first < $3; first += 100000)); do
        server_psql -q -c "SELECT minikafka.send_many_bytes('$1',
            array_agg('$VALUE'::bytea ORDER BY k), array_agg($2 ORDER BY k))
            FROM generate_series($first, least($first + 100000, $3) - 1) AS k" \
            >/dev/null
    done
    # so that autovacuum does not do it in the middle of a measurement
    server_psql -q -c "VACUUM ANALYZE minikafka_topics.$1"
}

# share_group TOPIC: group "workers" begins anew, at the start of the log
share_group() {
    server_psql -q -c "SELECT minikafka.delete_group('workers')
        WHERE EXISTS (SELECT FROM minikafka.groups
            WHERE group_id = 'workers')" \
        -c "SELECT minikafka.create_share_group('workers', '{$1}')" >/dev/null
}

# share_queue RECORDS: as many rows in bench.queue
share_queue() {
    server_psql -q >/dev/null <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS bench.queue;
CREATE TABLE bench.queue (LIKE bench.plain INCLUDING ALL);
INSERT INTO bench.queue (id, partition, key, value)
SELECT k, k % 8, $SHARE_KEY, '$VALUE'
FROM generate_series(1, $1) AS k;
VACUUM ANALYZE bench.queue;
SQL
}

# share_pgmq RECORDS: as many messages in a queue of pgmq
share_pgmq() {
    server_psql -q >/dev/null <<SQL
SET client_min_messages = warning;
SELECT pgmq.drop_queue('waiting')
WHERE EXISTS (SELECT FROM pgmq.meta WHERE queue_name = 'waiting');
SELECT pgmq.create('waiting');
SELECT count(*) FROM pgmq.send_batch('waiting',
    ARRAY(SELECT to_jsonb('$VALUE'::text) FROM generate_series(1, $1)));
VACUUM ANALYZE pgmq.q_waiting;
SQL
}

# How many records were taken, up to a constant
SHARE_DONE="SELECT coalesce(sum(last_offset - first_offset + 1), 0)
    FROM minikafka.share_done JOIN minikafka.consumer_group USING (group_no)
    WHERE group_id = 'workers'"
QUEUE_DONE='SELECT -count(*) FROM bench.queue'
PGMQ_DONE='SELECT -count(*) FROM pgmq.q_waiting'

# take CONTENDER DONE SCRIPT WORKERS PGBENCH_OPTION ...: records a second.  The
# bytes of WAL for each record go to the contender's file with ".wal".
take() {
    local contender=$1 query=$2 output before lsn after
    shift 2
    before=$(server_psql -At -c "$query")
    lsn=$(server_psql -At -c 'SELECT pg_current_wal_insert_lsn()')
    output=$(pgbench_output "$@")
    after=$(server_psql -At -F ' ' -c "SELECT ($query) - ($before),
        pg_current_wal_insert_lsn() - '$lsn'")
    awk -v taken="${after% *}" -v bytes="${after#* }" \
        -v wal="$RESULTS/$contender.wal" '
        /^number of transactions actually processed:/ {
            split($6, transactions, "/") }
        /^tps =/ { tps = $3 }
        END {
            if (taken == 0) exit 1
            print taken * tps / transactions[1]
            print bytes / taken >>wal
        }' <<<"$output" || server_die "$contender has taken nothing"
}

# ---------------------------------------------------------------------------
# One record a transaction, and 100

share_take() {
    share_group shared
    take ours "$SHARE_DONE" share "$1" -D group=workers -D records="$2" \
        "${@:3}"
}

share_take_skip() {
    share_queue "$2"
    take skip "$QUEUE_DONE" "$3" "$1" "${@:4}"
}

# share_take_pgmq CONTENDER RECORDS SCRIPT WORKERS PGBENCH_OPTION ...
share_take_pgmq() {
    share_pgmq "$2"
    take "$1" "$PGMQ_DONE" "$3" "$4" "${@:5}"
}

share_install_pgmq() {
    if [ -z "$PGMQ_SQL" ]; then
        echo 'without pgmq, because PGMQ_SQL is not set' >&2
    elif [ -z "$(server_psql -At -c "SELECT 1 FROM pg_namespace
            WHERE nspname = 'pgmq'")" ]; then
        server_psql -q -f - <"$PGMQ_SQL" >/dev/null
    fi
}

# Each run lasts four times as long as those of other rows: what was deleted slows
# SKIP LOCKED down until autovacuum comes, after a minute.
row_share() {
    local mode workers target all work
    topic shared 8
    share_load shared "$SHARE_KEY" "$SHARED"
    share_install_pgmq
    for mode in off on; do
        for workers in 1 8 32; do
            target=1.0
            if [ "$mode" = off ]; then
                target=1.2
            elif [ "$workers" = 1 ]; then
                target=0.9
            fi
            all=("ours share_take $workers 1 -T $((SECONDS_PER_ROUND * 4))"
                "skip share_take_skip $workers $SHARED share_skip
                    -T $((SECONDS_PER_ROUND * 4))")
            if [ -n "$PGMQ_SQL" ]; then
                all+=("pop share_take_pgmq pop $SHARED share_pop $workers
                        -T $((SECONDS_PER_ROUND * 4))"
                    "read share_take_pgmq read $SHARED share_read $workers
                        -T $((SECONDS_PER_ROUND * 4))")
            fi
            export PGOPTIONS="-c synchronous_commit=$mode"
            compete "${all[@]}"
            unset PGOPTIONS
            work="acquire 1, $workers workers, fsync wait $mode"
            report "$work" 'SKIP LOCKED' "$target" ours skip
            if [ -n "$PGMQ_SQL" ]; then
                report "$work" 'pgmq.pop()' - ours pop
                report "$work" 'pgmq.read()' 2.0 ours read
            fi
            report_bytes '  bytes of WAL for each record' 'SKIP LOCKED' - \
                ours.wal skip.wal
        done
    done
}

# Each run takes at most half of what waits, so no worker is short of records.
share_batch() {
    local mode workers count all work
    for mode in off on; do
        for workers in 1 8 32; do
            count=$((WAITING / 200 / workers))
            all=("ours share_take $workers 100 -t $count"
                "skip share_take_skip $workers $WAITING share_skip_many
                    -t $count -D records=100")
            if [ -n "$PGMQ_SQL" ]; then
                all+=("read share_take_pgmq read $WAITING share_read_many
                    $workers -t $count -D records=100")
            fi
            export PGOPTIONS="-c synchronous_commit=$mode"
            compete "${all[@]}"
            unset PGOPTIONS
            work="acquire 100, $workers workers, fsync wait $mode"
            report "$work" 'SKIP LOCKED' 1.5 ours skip
            if [ -n "$PGMQ_SQL" ]; then
                report "$work" 'pgmq.read()' 2.0 ours read
            fi
            report_bytes '  bytes of WAL for each record' 'SKIP LOCKED' - \
                ours.wal skip.wal
        done
    done
}

row_share_batch() {
    share_install_pgmq
    server_psql -q -c "SELECT minikafka.drop_topic('shared')
        FROM minikafka.topics WHERE topic = 'shared'" >/dev/null
    topic shared 8
    share_load shared "$SHARE_KEY" "$WAITING"
    server_stop
    start 'max_locks_per_transaction = 256'
    share_batch
    server_stop
    start
    server_psql -q -c "SELECT minikafka.drop_topic('shared')" >/dev/null
}

# ---------------------------------------------------------------------------
# What does not go on

# share_free TOPIC WORKERS: nothing is stuck
share_free() {
    share_group "$1"
    take "$1" "$SHARE_DONE" share "$2" -D group=workers -D records=1 \
        -T "$SECONDS_PER_ROUND"
}

# share_held WORKERS: a session holds the first record of a key, which has
# thousands behind it
share_held() {
    local holder query="SELECT FROM pg_stat_activity
        WHERE query LIKE 'DO%acquire%' AND pid <> pg_backend_pid()"
    share_group stuck
    as_user "$PG_BINDIR/psql" -X -q >/dev/null 2>&1 <<'SQL' &
DO $$
DECLARE
    r record;
BEGIN
    LOOP
        SELECT * INTO r FROM minikafka.acquire('workers');
        EXIT WHEN r.key = int4send(-1);
        PERFORM minikafka.acknowledge('workers', r.receipt, 'release');
        COMMIT;
    END LOOP;
    PERFORM pg_sleep(100000);
END $$;
SQL
    holder=$!
    until [ -n "$(server_psql -At -c "SELECT 1 WHERE EXISTS ($query
            AND wait_event = 'PgSleep')")" ]; do
        kill -0 "$holder" || server_die "the holder of a record has failed"
    done
    take stuck "$SHARE_DONE" share "$1" -D group=workers -D records=1 \
        -T "$SECONDS_PER_ROUND"
    server_psql -q -c "SELECT pg_terminate_backend(pid) FROM (${query/FROM/pid
        FROM}) AS holder" >/dev/null
    wait "$holder" || true
}

# share_backoff RECORDS WORKERS: as many records wait to be tried again
share_backoff() {
    share_group free
    server_psql -q >/dev/null <<SQL
DO \$\$
DECLARE
    waiting integer := 0;
BEGIN
    WHILE waiting < $1 LOOP
        SELECT waiting + count(*) FILTER (WHERE answer = 'retry') INTO waiting
        FROM (SELECT minikafka.acknowledge('workers', receipt, 'fail',
                'failed', '1 day') AS answer
            FROM minikafka.acquire('workers', least(20, $1 - waiting))
            OFFSET 0) AS failed;
        COMMIT;
    END LOOP;
END \$\$;
SQL
    take backoff "$SHARE_DONE" share "$2" -D group=workers -D records=1 \
        -T "$SECONDS_PER_ROUND"
}

row_share_stuck() {
    local workers=8
    topic free 8
    share_load free "$SHARE_KEY" "$SHARED"
    # a twentieth more, of one key
    topic stuck 8
    share_load stuck "CASE WHEN k % 21 = 0 THEN int4send(-1) ELSE $SHARE_KEY END" \
        $((SHARED * 21 / 20))
    export PGOPTIONS='-c synchronous_commit=off'
    compete "stuck share_held $workers" "free share_free free $workers"
    report "acquire 1, $((SHARED / 20)) behind a stuck key" 'none stuck' 0.9 \
        stuck free
    compete "backoff share_backoff 2000 $workers" \
        "free share_free free $workers"
    report 'acquire 1, 2,000 records in backoff' 'none in backoff' 0.9 \
        backoff free
    unset PGOPTIONS
}

# ---------------------------------------------------------------------------
# Age and size

# share_pinned_take, share_pinned_skip: go on where the last run was
share_pinned_take() {
    take ours "$SHARE_DONE" share 8 -D group=workers -D records=1 \
        -T "$SECONDS_PER_ROUND"
}

share_pinned_skip() {
    take skip "$QUEUE_DONE" share_skip 8 -T "$SECONDS_PER_ROUND"
}

# Processes PINNED records, of share groups in a transaction each.
share_process() {
    PGOPTIONS='-c synchronous_commit=off' as_user "$PG_BINDIR/pgbench" -n \
        -M prepared -f bench/share.sql -c 8 -j 2 -t "$((PINNED / 8))" \
        -D group=workers -D records=1 >/dev/null 2>&1
    server_psql -q -c 'CALL minikafka.maintain()' >/dev/null
    # the same dead rows as one by one, which would take hours
    server_psql -q -c "DELETE FROM bench.queue WHERE id <= (SELECT min(id)
        FROM bench.queue) + $PINNED"
}

row_share_pinned() {
    local when holder contender
    make_control
    for when in '' in_control; do
        $when topic processed 8
        $when share_load processed "$SHARE_KEY" $((PINNED * 3))
        $when share_group processed
        $when share_queue $((PINNED * 3))
    done
    export PGOPTIONS='-c synchronous_commit=off'
    for when in before after; do
        if [ "$when" = after ]; then
            hold_snapshot
            share_process
            in_control share_process
        fi
        compete 'ours share_pinned_take' \
            'ours_control in_control share_pinned_take' \
            'skip share_pinned_skip' \
            'skip_control in_control share_pinned_skip'
        if [ "$when" = before ]; then
            mkdir "$SERVER_DIR/before"
            cp "$RESULTS"/* "$SERVER_DIR/before"
            continue
        fi
        report 'acquire 1, 8 workers, snapshot' 'no snapshot' 0.95 \
            ours ours_control
        report 'SKIP LOCKED, 8 workers, snapshot' 'no snapshot' - \
            skip skip_control
        # what has changed on the machine meanwhile shows in all of them
        for contender in ours ours_control skip skip_control; do
            cp "$SERVER_DIR/before/$contender" "$RESULTS/$contender.before"
        done
        report '  acquire under the snapshot' 'itself before' - \
            ours ours.before
        report '  acquire without it' 'itself before' - \
            ours_control ours_control.before
        report '  SKIP LOCKED under the snapshot' 'itself before' - \
            skip skip.before
        report '  SKIP LOCKED without it' 'itself before' - \
            skip_control skip_control.before
    done
    unset PGOPTIONS
    release_snapshot
}

# share_state: group "workers" has taken COLD records one by one, but for 2,000,
# with a checkpoint after each 1,000, as the workers themselves leave it.  A key is
# the offset; its murmur2 is the slot.
SHARE_SLOT="minikafka.murmur2(convert_to(o::text, 'UTF8'))"

share_state() {
    server_psql -q >/dev/null <<SQL
CREATE TEMP TABLE state AS SELECT group_no, topic_id
FROM minikafka.consumer_group, minikafka.topic
WHERE group_id = 'workers' AND rel = 'minikafka_topics.cold'::regclass;
INSERT INTO minikafka.share_done
    (group_no, topic_id, partition, era, last_offset, first_offset)
SELECT group_no, topic_id, 0, 0, o, o
FROM state, generate_series(0, $COLD - 1) AS o
WHERE o % ($COLD / 2000) <> 0;
INSERT INTO minikafka.share_checkpoint (group_no, topic_id, partition, number,
    era, high, exceptions, slots, made_at)
SELECT group_no, topic_id, 0, n, 0, n * 1000, pending.offsets, pending.slots,
    now()
FROM state, generate_series(1, $COLD / 1000 - 1) AS n,
    LATERAL (SELECT array_agg(o) AS offsets, array_agg($SHARE_SLOT) AS slots
        FROM generate_series(0, n * 1000 - 1, $COLD / 2000) AS o) AS pending;
VACUUM ANALYZE minikafka.share_done, minikafka.share_checkpoint;
CHECKPOINT;
SQL
}

# share_wait: the 2,000 wait to be tried again, so the first record that can be
# handed out comes after all of them
share_wait() {
    server_psql -q >/dev/null <<SQL
INSERT INTO minikafka.share_delivery (group_no, topic_id, partition, era,
    record_offset, number, acquisition, state, deliveries, slot, until, at, error)
SELECT group_no, topic_id, 0, 0, o, 1, 0, 'failed', 1, $SHARE_SLOT,
    now() + interval '1 day', now(), 'failed'
FROM minikafka.consumer_group, minikafka.topic,
    generate_series(0, $COLD - 1, $COLD / 2000) AS o
WHERE group_id = 'workers' AND rel = 'minikafka_topics.cold'::regclass;
SELECT minikafka.set_group_option('workers', 'max_in_flight', '10000');
VACUUM ANALYZE minikafka.share_delivery;
SQL
}

# share_first OFFSET: milliseconds of the first call of a new session, which gets
# the record with that offset
share_first() {
    local output
    output=$(server_psql -q -At <<'SQL'
BEGIN;
\timing on
SELECT "offset" FROM minikafka.acquire('workers');
\timing off
ROLLBACK;
SQL
    )
    if [ "${output%%$'\n'*}" != "$1" ]; then
        server_die "the first call got another record than $1: $output"
    fi
    sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' <<<"$output"
}

row_share_cold() {
    local count
    count=$(numfmt --to=si "$COLD")
    topic cold 1
    share_load cold "convert_to(k::text, 'UTF8')" $((COLD + 1))
    share_group cold
    share_state
    compete 'first share_first 0'
    spread "ms of a first acquire, $count done" 'less than' 30 first
    share_wait
    compete "first share_first $COLD"
    spread '  2,000 records in backoff' 'less than' 30 first
}

# ---------------------------------------------------------------------------
# Workers

# share_busy WORKERS SECONDS: records a second, where each takes 10 ms to SECONDS;
# and in the file "ideal" what it would be if the time between works were none
share_busy() {
    share_group busy
    pgbench_output share_busy "$1" -r -T $((SECONDS_PER_ROUND * 5 * $2)) \
        -D group=workers -D most=$(($2 * 1000)) |
        awk -v workers="$1" -v ideal="$RESULTS/ideal" '
        /^ *[0-9]+\.[0-9]+ / { all += $1 }
        /pg_sleep/ { work += $1 }
        END {
            print workers * 1000 / all
            print workers * 1000 / work >>ideal
        }'
}

# With few keys the work is short, for a key waits for the work before it.
row_share_busy() {
    local keys seconds
    for keys in 60 1000; do
        if [ "$keys" = 60 ]; then seconds=1; else seconds=5; fi
        server_psql -q -c "SELECT minikafka.drop_topic('busy')
            FROM minikafka.topics WHERE topic = 'busy'" >/dev/null
        topic busy 8
        share_load busy "int4send(k % $keys)" $((SECONDS_PER_ROUND * 2000))
        compete "ours share_busy 50 $seconds"
        report "50 workers, work of 10 ms to $seconds s, $keys keys" \
            'always at work' 0.95 ours ideal
    done
}
