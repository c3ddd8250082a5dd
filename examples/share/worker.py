#!/usr/bin/env python3
"""The worker of worker.sql as a program, with psycopg 3: python3 worker.py

It connects by the environment variables of libpq (PGHOST, PGDATABASE, ...) and
runs until it is interrupted.  Start as many as you like.
"""

import psycopg

GROUP = "payments"


def acknowledge(connection, receipt, answer="accept", error=None):
    return connection.execute(
        "SELECT minikafka.acknowledge(%s, %s, %s, %s)",
        (GROUP, receipt, answer, error)).fetchone()[0]


def pay(connection, airport, claim):
    """The work: may fail."""
    connection.execute(
        "INSERT INTO payment (flight, airport, amount) VALUES (%s, %s, %s)",
        (claim["flight"], airport, 50 * (int(claim["delay"]) // 60)))


def do_batch(connection):
    """Acquires, works and acknowledges in one transaction."""
    with connection.transaction():
        jobs = connection.execute(
            "SELECT key, value, receipt FROM minikafka.acquire_json(%s, 10, max_wait => '1s')",
            (GROUP,)).fetchall()
        for airport, claim, receipt in jobs:
            try:
                # A savepoint: if the work fails, it is undone, and so is the answer.
                with connection.transaction():
                    # Released: an earlier job of this airport has failed, so this
                    # one comes again after it.
                    if acknowledge(connection, receipt) != "released":
                        pay(connection, airport, claim)
            except Exception as error:
                if connection.broken:
                    raise  # a supervisor starts the program again
                # It comes again after a while, or has failed too often.
                acknowledge(connection, receipt, "fail", str(error))


def main():
    with psycopg.connect(autocommit=True) as connection:
        while True:
            do_batch(connection)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass  # the transaction is rolled back, and its jobs are free
