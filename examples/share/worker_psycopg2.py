#!/usr/bin/env python3
"""The worker of worker.sql as a program, with psycopg 2: python3 worker_psycopg2.py

It connects by the environment variables of libpq (PGHOST, PGDATABASE, ...) and
runs until it is interrupted.  Start as many as you like.
"""

import psycopg2

GROUP = "payments"


def acknowledge(cursor, receipt, answer="accept", error=None):
    cursor.execute(
        "SELECT minikafka.acknowledge(%s, %s, %s, %s)", (GROUP, receipt, answer, error))
    return cursor.fetchone()[0]


def pay(cursor, airport, claim):
    """The work: may fail."""
    cursor.execute(
        "INSERT INTO payment (flight, airport, amount) VALUES (%s, %s, %s)",
        (claim["flight"], airport, 50 * (int(claim["delay"]) // 60)))


def do_job(cursor, airport, claim, receipt):
    cursor.execute("SAVEPOINT job")
    try:
        # Released: an earlier job of this airport has failed, so this one comes
        # again after it.
        if acknowledge(cursor, receipt) != "released":
            pay(cursor, airport, claim)
    except Exception as error:
        if cursor.connection.closed:
            raise  # a supervisor starts the program again
        # The work is undone, and so is the answer.  The job comes again after a
        # while, or has failed too often.
        cursor.execute("ROLLBACK TO job")
        acknowledge(cursor, receipt, "fail", str(error))
    cursor.execute("RELEASE job")


def do_batch(connection):
    """Acquires, works and acknowledges in one transaction."""
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, value, receipt FROM minikafka.acquire_json(%s, 10, max_wait => '1s')",
            (GROUP,))
        for airport, claim, receipt in cursor.fetchall():
            do_job(cursor, airport, claim, receipt)


def main():
    connection = psycopg2.connect("")  # not autocommit
    while True:
        do_batch(connection)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass  # the transaction is rolled back, and its jobs are free
