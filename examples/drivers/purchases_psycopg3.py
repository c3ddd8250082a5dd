#!/usr/bin/env python3
"""A producer and a consumer with psycopg 3.

    python3 purchases_psycopg3.py produce COUNT
    python3 purchases_psycopg3.py consume GROUP INSTANCE COUNT
"""

import sys
import time

import psycopg
from psycopg.types.json import Jsonb

TOPIC = "purchases"

# The transaction is rolled back.  The next poll returns the same records, or
# those of the partitions that the member has by then.
POLL_AGAIN = {
    "MK022",  # a partition has moved to another member
    "MK101",  # another session has polled for this member
    "40001", "40P01", "55P03",  # serialization failure, deadlock, lock_timeout
}
JOIN_AGAIN = "MK025"  # the member was removed: a timeout has passed
STOP = "MK082"  # another process has taken over the instance id


def produce(connection, count):
    for i in range(count):
        # The row and its event: both or none.
        with connection.transaction():
            purchase = {"customer": f"customer {i % 10}", "amount": i % 7 + 1}
            purchase["id"] = connection.execute(
                "INSERT INTO purchase (customer, amount)"
                " VALUES (%(customer)s, %(amount)s) RETURNING id",
                purchase).fetchone()[0]
            connection.execute(
                "SELECT minikafka.send(%s, %s, key => %s)",
                (TOPIC, Jsonb(purchase), purchase["customer"]))


def join(connection, group, instance):
    return connection.execute(
        "SELECT minikafka.join_group(%s, %s, instance_id => %s)",
        (group, [TOPIC], instance)).fetchone()[0]


def do_batch(connection, group, member):
    """Polls, works and commits in one transaction; returns the group's count."""
    with connection.transaction():
        records = connection.execute(
            "SELECT key, value FROM minikafka.poll_json(%s, %s, max_records => 20, max_wait => '1s')",
            (group, member)).fetchall()
        # All members take the rows in one order, so that they cannot deadlock.
        for customer, purchase in sorted(records, key=lambda record: record[0]):
            connection.execute(
                """INSERT INTO customer_total AS t VALUES (%s, %s, 1, %s)
                   ON CONFLICT (group_id, customer) DO UPDATE SET
                       purchases = t.purchases + 1, amount = t.amount + excluded.amount""",
                (group, customer, purchase["amount"]))
        connection.execute("SELECT minikafka.commit(%s, %s)", (group, member))
        return connection.execute(
            "SELECT coalesce(sum(purchases), 0) FROM customer_total WHERE group_id = %s",
            (group,)).fetchone()[0]


def consume(connection, group, instance, count):
    member = join(connection, group, instance)
    counted = 0
    while counted < count:
        try:
            counted = do_batch(connection, group, member)
        except psycopg.Error as error:
            if connection.closed:
                raise  # the connection is lost: a supervisor starts the program again
            if error.sqlstate == JOIN_AGAIN:
                member = join(connection, group, instance)
            elif error.sqlstate == STOP:
                sys.exit(f"another process has taken over as {instance}")
            elif error.sqlstate not in POLL_AGAIN:
                print(error, file=sys.stderr)
                time.sleep(1)  # the work has failed
            print(f"{error.sqlstate}: goes on", file=sys.stderr)
    connection.execute("SELECT minikafka.leave_group(%s, %s)", (group, member))


def main():
    # Each statement outside of transaction() commits at once.
    with psycopg.connect(autocommit=True) as connection:
        if sys.argv[1] == "produce":
            produce(connection, int(sys.argv[2]))
        else:
            consume(connection, sys.argv[2], sys.argv[3], int(sys.argv[4]))


if __name__ == "__main__":
    main()
