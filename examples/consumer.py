#!/usr/bin/env python3
"""The consumer of consumer.sql as a program, with psycopg2: python3 consumer.py

It connects by the environment variables of libpq (PGHOST, PGDATABASE, ...) and
runs until it is interrupted.  Several processes share the partitions.  It needs
the tables and topics of setup.sql.  An error of the work ends it; the programs in
drivers/ go on.
"""

import psycopg2

GROUP, TOPIC = "airport-delay", "flights"

# The transaction is rolled back.  The next poll returns the same records, or
# those of the partitions that the member has by then.
POLL_AGAIN = {
    "MK022",  # a partition has moved to another member
    "MK101",  # another session has polled for this member
    "40001", "40P01",  # serialization failure, deadlock
}
JOIN_AGAIN = "MK025"  # a timeout has passed


def join(connection):
    with connection, connection.cursor() as cursor:  # a transaction
        cursor.execute("SELECT minikafka.join_group(%s, %s)", (GROUP, [TOPIC]))
        return cursor.fetchone()[0]


def leave(connection, member):
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT minikafka.leave_group(%s, %s)", (GROUP, member))


def do_batch(connection, member):
    """Polls, works and commits in one transaction."""
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, value FROM minikafka.poll_json(%s, %s, max_records => 20, max_wait => '5s')",
            (GROUP, member))
        # All members take the rows in one order, so that they cannot deadlock.
        for airport, flight in sorted(cursor.fetchall(), key=lambda row: row[0]):
            cursor.execute(
                """INSERT INTO airport_delay AS a VALUES (%s, 1, %s)
                   ON CONFLICT (airport) DO UPDATE SET flights = a.flights + 1,
                       total_delay = a.total_delay + excluded.total_delay""",
                (airport, flight["delay"]))
        cursor.execute("SELECT minikafka.commit(%s, %s)", (GROUP, member))


def main():
    connection = psycopg2.connect("")
    member = join(connection)
    try:
        while True:
            try:
                do_batch(connection, member)
            except psycopg2.Error as error:
                if error.pgcode == JOIN_AGAIN:
                    member = join(connection)
                elif error.pgcode not in POLL_AGAIN:
                    raise
    except KeyboardInterrupt:
        leave(connection, member)


if __name__ == "__main__":
    main()
