#!/usr/bin/env python3
"""The driver of the post-trade pipeline: python3 pipeline.py, after setup.sql.

It sends two days of executions, with repeats, conflicts, late amendments and
wrong securities, and runs the stages until no record is left to read.  On the
first day the reference data is away for a while, and the workers that enrich
are ended again and again in the middle of their work.  The trading system,
each stage, and operations connect as different roles.  Each batch is one
transaction: the position in the topic or the answers, the changes of tables, and
the records that the stage sends.
"""

import collections
import datetime
import json
import random
import threading
import time

import psycopg2

import enrichment

# group (and role), topic, function that does the work, events that it understands
STAGES = [
    ("booking", "enriched", "book",
     {("execution.reported", 1), ("execution.amended", 1)}),
    ("clearing", "instructions", "clear",
     {("clearing.instructed", 1)}),
    ("settling", "settlements", "settle",
     {("settlement.settled", 1), ("settlement.failed", 1)}),
]
CONFLICT = "MK100"  # the event id was accepted with another payload
POLL_AGAIN = {"MK022", "MK101", "40001", "40P01"}
JOIN_AGAIN = "MK025"
CONTRACT = "23514"  # the record violates a CHECK of the topic

TRADES = 300
ISINS = ["US0378331005", "US5949181045", "DE0007164600", "GB0002634946"]
WRONG_ISIN = "US0378331006"  # its check digit is not 6
UNKNOWN_ISIN = "CH0038863350"  # valid, but the reference data does not have it yet
START = datetime.datetime.now(datetime.timezone.utc)


# The trading system: the executions.

def event(event_id, event_type, effective_at, trade_id, reason_code, version=1, **data):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"event_id": event_id, "event_type": event_type, "schema_version": version,
            "trade_id": trade_id, "effective_at": effective_at.isoformat(),
            "observed_at": now.isoformat(), "source": "trading",
            "reason_code": reason_code, "data": data}


def at(milliseconds):
    return START + datetime.timedelta(milliseconds=milliseconds)


def execution(number, quantity, version=1, isin=None):
    return event(f"X{number}", "execution.reported", at(number), f"T{number}", "NEWT",
                 version, **contents(number, quantity, isin))


def amendment(number, revision, effective_at, quantity, isin=None):
    return event(f"X{number}/{revision}", "execution.amended", effective_at,
                 f"T{number}", "CORR", **contents(number, quantity, isin))


def contents(number, quantity, isin):
    return {"account": f"account {number % 3}", "isin": isin or ISINS[number % 4],
            "quantity": quantity if number % 4 else -quantity}


def first_day():
    wrong = {50: WRONG_ISIN, 60: WRONG_ISIN, 61: UNKNOWN_ISIN}
    events = []
    for n in range(TRADES):
        events.append(execution(n, 100 + n, isin=wrong.get(n)))
        if n % 10 == 4:  # amended at once: the order of the two must be kept
            events.append(amendment(n, 2, at(n + 0.5), 200 + n))
    events += events[10:20]  # sent twice: the sender did not see its COMMIT
    events.append(execution(3, 999))  # a conflict
    events.append(execution(TRADES, 1, version=2))
    events.append(amendment(7, 2, at(700), 70))
    events.append(amendment(61, 2, at(710), 1, UNKNOWN_ISIN))
    # This one is right: it is booked before the trade that it amends.
    events.append(amendment(60, 2, at(720), 99, ISINS[0]))
    return events


def second_day():
    now = datetime.datetime.now(datetime.timezone.utc)
    return [
        # T8 and T15 are settled already.
        amendment(8, 2, now, 80),
        amendment(15, 2, now, 200),
        # Late: it happened before X7/2, which is recorded already.
        amendment(7, 1, at(600), 77),
    ]


def send(connection, events):
    for e in events:
        with connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT minikafka.send('executions', %s, key => %s)",
                (json.dumps(e), e["trade_id"]))


def send_wrong(connection):
    """Sends events that break the contract: none gets into the log."""
    refused = 0
    for field, value in [("reason_code", None), ("schema_version", "1"),
                         ("effective_at", "yesterday"), ("trade_id", "")]:
        e = execution(TRADES + 1, 1)
        if value is None:
            del e[field]
        else:
            e[field] = value
        try:
            send(connection, [e])
        except psycopg2.Error as error:
            if error.pgcode != CONTRACT:
                raise
            refused += 1
    print(f"  the contract refused {refused} events")


# The stages

def handle(cursor, stage, record):
    """Processes a record; returns the outcome."""
    group, _, function, contract = stage
    value = bytes(record[-1])
    e = json.loads(value)
    if (e["event_type"], e["schema_version"]) not in contract:
        return quarantine(cursor, group, "unknown type or version", record)
    cursor.execute("SAVEPOINT event")
    try:
        cursor.execute("SELECT minikafka.inbox_accept(%s, %s, %s)",
                       (group, e["event_id"], value))
    except psycopg2.Error as error:
        if error.pgcode != CONFLICT:
            raise
        cursor.execute("ROLLBACK TO SAVEPOINT event")
        return quarantine(cursor, group, "event id with another payload", record)
    if not cursor.fetchone()[0]:
        return "repeated"
    cursor.execute(f"SELECT {function}(%s)", (value.decode(),))
    return "accepted"


def quarantine(cursor, group, reason, record):
    cursor.execute("SELECT quarantine(%s, %s, %s, %s, %s, %s, %s)",
                   (group, reason, *record))
    return "quarantined" if cursor.fetchone()[0] else "quarantined before"


def do_batch(connection, stage, member):
    with connection, connection.cursor() as cursor:  # a transaction
        cursor.execute(
            'SELECT topic, partition, "offset", key, value'
            " FROM minikafka.poll(%s, %s, max_records => 10)", (stage[0], member))
        done = collections.Counter(
            handle(cursor, stage, record) for record in cursor.fetchall())
        cursor.execute("SELECT minikafka.commit(%s, %s)", (stage[0], member))
    return done


def join(connection, stage):
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT minikafka.join_group(%s, %s, instance_id => '1')",
                       (stage[0], [stage[1]]))
        return cursor.fetchone()[0]


def leave(connection, stage, member):
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT minikafka.leave_group(%s, %s)", (stage[0], member))


def run(connection, stage, members):
    """Reads until no record is left; returns the outcomes."""
    group = stage[0]
    total = collections.Counter()
    while True:
        try:
            if group not in members:
                members[group] = join(connection, stage)
            done = do_batch(connection, stage, members[group])
        except psycopg2.Error as error:
            if error.pgcode == JOIN_AGAIN:
                del members[group]
            elif error.pgcode not in POLL_AGAIN:
                raise
            continue
        if not done:
            return total
        total += done


def run_all(connections, workers=None):
    """Runs all stages until they are idle."""
    workers = workers or enrichment.Workers()
    members = {}
    totals = {stage[0]: collections.Counter() for stage in STAGES}
    while True:
        working = workers.working()
        done = 0
        for stage in STAGES:
            outcomes = run(connections[stage[0]], stage, members)
            totals[stage[0]] += outcomes
            done += sum(outcomes.values())
        # A failed settlement is instructed again, so another stage may be next.
        if not done:
            if not working:
                break
            time.sleep(0.02)
    for stage in STAGES:
        leave(connections[stage[0]], stage, members[stage[0]])
    report("enrichment", workers.finish())
    for group, total in totals.items():
        report(group, total)


def report(stage, total):
    if total:
        print(f"  {stage}: " + ", ".join(
            f"{count} {what}" for what, count in sorted(total.items())))


# Operations

def do(connection, command, *arguments):
    with connection, connection.cursor() as cursor:
        cursor.execute(command, arguments)
        return cursor.fetchall() if cursor.description else None


def trouble(connections):
    """Runs while the reference data is away, and while workers are ended."""
    operations = connections["operations"]
    do(operations, "UPDATE reference_service SET available = false")
    workers = enrichment.Workers()
    while workers.working() and workers.total["failed"] < 200:
        time.sleep(0.01)
    do(operations, "UPDATE reference_service SET available = true")
    ended = []
    killer = threading.Thread(target=end_workers, args=(workers, ended))
    killer.start()
    run_all(connections, workers)
    killer.join()
    print(f"  {len(ended)} times, a worker was ended in the middle of its work")


def end_workers(workers, ended):
    """Ends workers that have records and are not done with them."""
    superuser = psycopg2.connect("")
    superuser.autocommit = True
    while workers.working():
        with superuser.cursor() as cursor:
            # The last call was an answer: all is ready for the COMMIT.
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND usename = 'enriching' AND state = 'idle in transaction'"
                " AND (query LIKE '%acknowledge%' OR query LIKE '%SELECT enrich(%')")
            pids = [pid for pid, in cursor.fetchall()]
            if pids and len(ended) < 20:
                pid = random.choice(pids)
                cursor.execute("SELECT pg_terminate_backend(%s)", (pid,))
                ended += [pid] * cursor.fetchone()[0]
        time.sleep(0.02)
    superuser.close()


def redrive(operations):
    """Mends what made executions dead letters, and sends these back."""
    do(operations, "INSERT INTO isin_correction VALUES (%s, %s)", WRONG_ISIN, ISINS[0])
    do(operations, "INSERT INTO security VALUES (%s, 'Nestle', 'CHF')", UNKNOWN_ISIN)
    for _ in range(2):  # each letter goes back once
        [(count,)] = do(operations, "SELECT minikafka.redrive('executions.dead')")
        print(f"  {count} dead letters sent back")


def replay(connections):
    do(connections["operations"],
       "SELECT minikafka.reset_offsets('enrichment', 'executions', 'earliest')")
    for group, topic, _, _ in STAGES:
        do(connections[group],
           "SELECT minikafka.reset_offsets(%s, %s, 'earliest')", group, topic)


def main():
    connections = {role: psycopg2.connect(user=role)
                   for role in ["trading", "operations"] + [stage[0] for stage in STAGES]}
    print("the first day: the reference data is away, and workers die")
    send(connections["trading"], first_day())
    send_wrong(connections["trading"])
    trouble(connections)
    print("the second day: amendments, one of them late")
    send(connections["trading"], second_day())
    run_all(connections)
    print("the reference data is mended")
    redrive(connections["operations"])
    run_all(connections)
    print("a replay from the beginning")
    replay(connections)
    run_all(connections)
    for connection in connections.values():
        connection.close()


if __name__ == "__main__":
    main()
