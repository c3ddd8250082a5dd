#!/usr/bin/env python3
"""A worker whose work is outside of the database: it sends e-mails.

    MAILBOX=dbname=mailbox python3 mail.py

It connects by the environment variables of libpq, and to the mail service of
mailbox.sql by MAILBOX.  It runs until it is interrupted.  Start as many as you
like.

A rollback does not take an e-mail back, and no transaction should be open while
a mail service is slow.  So the worker acquires a notice for some seconds, and
commits.  If it dies, or takes longer, another worker gets the notice.  Then two
may be at work on it, of which the service must refuse the former: each acquisition
has a greater fencing token.
"""

import contextlib
import os
import threading

import psycopg

GROUP = "mailers"
LOCK = float(os.environ.get("LOCK", "30"))  # seconds

# The lock has passed, and another worker has the notice: from minikafka, and from
# the mail service, which compares the tokens
LOST = {"MK121", "55000"}


def acquire(connection):
    # A transaction of its own, which counts the delivery before the work begins.
    return connection.execute(
        """SELECT topic, partition, "offset", value, receipt, fencing_token
           FROM minikafka.acquire_json(%s, max_wait => '1s', lock_duration => %s::interval)""",
        (GROUP, f"{LOCK}s")).fetchone()


def acknowledge(connection, receipt, answer="accept", error=None):
    connection.execute(
        "SELECT minikafka.acknowledge(%s, %s, %s, %s)", (GROUP, receipt, answer, error))


@contextlib.contextmanager
def renewed(receipt):
    """Renews the lock while the work lasts, however long a step of it takes: in a
    thread, with a connection of its own.  The list has the error by which that has
    ended, if any."""
    done = threading.Event()
    errors = []

    def renew():
        try:
            with psycopg.connect(autocommit=True) as connection:
                while not done.wait(LOCK / 3):
                    connection.execute(
                        "SELECT minikafka.renew(%s, %s, %s::interval)",
                        (GROUP, receipt, f"{LOCK}s"))
        except psycopg.Error as error:
            errors.append(error)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield errors
    finally:
        done.set()
        thread.join()


def send_mails(mailbox, job, notice, token, errors):
    for passenger in range(notice["passengers"]):
        if errors:
            raise errors[0]  # the lock may be lost: stop
        mailbox.execute(
            "SELECT deliver(%s, %s, %s, %s)",
            (job, token, f"passenger {passenger}", f"Flight to {notice['to']} is late."))


def do_notice(connection, mailbox):
    row = acquire(connection)
    if row is None:
        return
    topic, partition, offset, notice, receipt, token = row
    job = f"{topic}/{partition}/{offset}"
    try:
        with renewed(receipt) as errors:
            send_mails(mailbox, job, notice, token, errors)
        acknowledge(connection, receipt)
    except psycopg.Error as error:
        if connection.broken or mailbox.broken:
            raise  # a supervisor starts the program again
        if error.sqlstate in LOST:
            print(f"{job}: too late: {error.sqlstate}", flush=True)
        else:
            acknowledge(connection, receipt, "fail", str(error))


def main():
    with psycopg.connect(autocommit=True) as connection, \
            psycopg.connect(os.environ["MAILBOX"], autocommit=True) as mailbox:
        while True:
            do_notice(connection, mailbox)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass  # another worker gets the notice when the lock has passed
