#!/usr/bin/env python3
"""The driver of the post-trade pipeline: python3 pipeline.py, after setup.sql.

It sends two days of executions, with repeats, conflicts and late amendments, and
runs the stages until no record is left to read.  The trading system and each
stage connect as different roles.  Each batch is one transaction: the position in
the topic, the changes of tables, and the records that the stage sends.
"""

import collections
import datetime
import json

import psycopg2

# group (and role), topic, function that does the work, events that it understands
STAGES = [
    ("booking", "executions", "book",
     {("execution.reported", 1), ("execution.amended", 1)}),
    ("clearing", "instructions", "clear",
     {("clearing.instructed", 1)}),
    ("settling", "settlements", "settle",
     {("settlement.settled", 1), ("settlement.failed", 1)}),
]
CONFLICT = "MK100"  # the event id was accepted with another payload
POLL_AGAIN = {"MK022", "MK101", "40001", "40P01"}
JOIN_AGAIN = "MK025"

DAY = datetime.datetime(2024, 3, 1, 9, 0, tzinfo=datetime.timezone.utc)


# The trading system: the executions.

def event(event_id, event_type, minute, version=1, **data):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"event_id": event_id, "type": event_type, "version": version,
            "happened_at": (DAY + datetime.timedelta(minutes=minute)).isoformat(),
            "recorded_at": now.isoformat(), "data": data}


def trade(number, quantity):
    return {"trade": f"T{number}", "account": f"account {number % 3}",
            "instrument": ["ACME", "GLOBEX"][number % 2],
            "quantity": quantity if number % 4 else -quantity}


def first_day():
    events = [event(f"X{n}", "execution.reported", n, **trade(n, 100 + n))
              for n in range(40)]
    events += events[10:20]  # sent twice: the sender did not see its COMMIT
    events.append(event("X3", "execution.reported", 3, **trade(3, 999)))  # a conflict
    events.append(event("X40", "execution.reported", 40, version=2, **trade(40, 1)))
    events.append(event("X7/2", "execution.amended", 90, **trade(7, 70)))
    return events


def second_day():
    return [
        # T8 and T15 are settled already.
        event("X8/2", "execution.amended", 120, **trade(8, 80)),
        event("X15/2", "execution.amended", 121, **trade(15, 200)),
        # Late: it happened before X7/2, which is recorded already.
        event("X7/1", "execution.amended", 60, **trade(7, 77)),
    ]


def send(connection, events):
    for e in events:
        with connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT minikafka.send('executions', %s, key => %s)",
                (json.dumps(e), e["data"]["trade"]))


# The stages

def handle(cursor, stage, record):
    """Processes a record; returns the outcome."""
    group, _, function, contract = stage
    value = bytes(record[-1])
    e = json.loads(value)
    if (e["type"], e["version"]) not in contract:
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


def run(connection, stage):
    """Reads until no record is left; returns whether there were any."""
    member = join(connection, stage)
    total = collections.Counter()
    while True:
        try:
            done = do_batch(connection, stage, member)
        except psycopg2.Error as error:
            if error.pgcode == JOIN_AGAIN:
                member = join(connection, stage)
            elif error.pgcode not in POLL_AGAIN:
                raise
            continue
        if not done:
            break
        total += done
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT minikafka.leave_group(%s, %s)", (stage[0], member))
    if total:
        print(f"  {stage[0]}: " + ", ".join(
            f"{count} {what}" for what, count in sorted(total.items())))
    return bool(total)


def run_all(connections):
    # A failed settlement is instructed again, so repeat until all are idle.
    while any([run(connections[stage[0]], stage) for stage in STAGES]):
        pass


def replay(connections):
    for group, topic, _, _ in STAGES:
        with connections[group] as connection, connection.cursor() as cursor:
            cursor.execute("SELECT minikafka.reset_offsets(%s, %s, 'earliest')", (group, topic))


def main():
    connections = {role: psycopg2.connect(user=role)
                   for role in ["trading"] + [stage[0] for stage in STAGES]}
    print("the first day")
    send(connections["trading"], first_day())
    run_all(connections)
    print("the second day: amendments, one of them late")
    send(connections["trading"], second_day())
    run_all(connections)
    print("a replay from the beginning")
    replay(connections)
    run_all(connections)
    for connection in connections.values():
        connection.close()


if __name__ == "__main__":
    main()
