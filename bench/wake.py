"""Measures how long a commit takes to reach a waiting session.

    wake.py ROUNDS COUNT FOLDER

The contenders take turns, COUNT times in a round:

    poll     a record, for which the other session waits in poll()
    notify   a NOTIFY with a payload, and nothing else
    row      an INSERT and a NOTIFY; the session that is notified reads the row

The time runs from before the sender's COMMIT until the other session has the
contents.  Both read the same monotonic clock.  A commit that only notifies
never waits for the disk; the others do, depending on synchronous_commit.

For each round, appends a number of microseconds to the files poll.median,
poll.p99, notify.median, and so on, in FOLDER.
"""

import os
import select
import signal
import struct
import sys
import time

import psycopg2

VALUE = "0123456789" * 20
# lets the session that was woken wait again before the next round
PAUSE = 0.002

SEND = {
    "poll": "SELECT minikafka.send('woken', %s)",
    "notify": "SELECT pg_notify('woken', %s)",
    "row": "INSERT INTO bench.woken (value) VALUES (%s); NOTIFY woken_row",
}


def connect(name="wake.py"):
    return psycopg2.connect("", application_name=name)


def poll(connection, report):
    cursor = connection.cursor()
    while True:
        cursor.execute(
            "SELECT value FROM minikafka.poll_text('woken', 'm', 1,"
            " max_wait => '1 minute')"
        )
        rows = cursor.fetchall()
        report(rows[0][0] if rows else "")
        connection.commit()


def listen(connection, report, channel, read):
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("LISTEN " + channel)
    report("0")
    while True:
        select.select([connection], [], [])
        connection.poll()
        while connection.notifies:
            report(read(cursor, connection.notifies.pop(0)))


def notify(connection, report):
    listen(connection, report, "woken", lambda _, n: n.payload)


def row(connection, report):
    last = 0

    def read(cursor, _):
        nonlocal last
        cursor.execute(
            "SELECT id, value FROM bench.woken WHERE id > %s"
            " ORDER BY id LIMIT 1",
            (last,),
        )
        last, value = cursor.fetchone()
        return value

    listen(connection, report, "woken_row", read)


def start(work):
    """Runs work in a process; returns its id and a descriptor of its reports."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)

        def report(value):
            now = time.monotonic_ns()
            number = int((value or "-1").split()[0])
            os.write(theirs, struct.pack("qq", now, number))

        try:
            work(connect("wake.py waits"), report)
        except Exception as error:
            print(f"{work.__name__}: {error}", file=sys.stderr)
        os._exit(1)
    os.close(theirs)
    return pid, ours


def main():
    rounds, count = int(sys.argv[1]), int(sys.argv[2])
    folder = sys.argv[3]
    waiting = {work.__name__: start(work) for work in (poll, notify, row)}
    connection = connect()
    cursor = connection.cursor()
    number = 0

    def wait(name):
        report = os.read(waiting[name][1], 16)
        if len(report) < 16:
            sys.exit(f"{name}: the waiting session has failed")
        return struct.unpack("qq", report)

    def measure(name):
        nonlocal number
        number += 1
        time.sleep(PAUSE)
        cursor.execute(SEND[name], (f"{number} {VALUE}",))
        begun = time.monotonic_ns()
        connection.commit()
        ended, received = wait(name)
        if received != number:
            sys.exit(f"{name}: sent {number}, received {received}")
        return (ended - begun) / 1000

    wait("notify")
    wait("row")
    # The first round warms up, and is not counted.
    for i in range(rounds + 1):
        times = {name: [] for name in waiting}
        for _ in range(count if i > 0 else 100):
            for name, results in times.items():
                results.append(measure(name))
        for name, results in times.items():
            results.sort()
            for what, at in (("median", 0.5), ("p99", 0.99)):
                if i > 0:
                    with open(f"{folder}/{name}.{what}", "a") as f:
                        print(results[int(count * at)], file=f)

    for pid, _ in waiting.values():
        os.kill(pid, signal.SIGKILL)
    # Their sessions still wait, and do not notice that their clients are gone.
    cursor.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'wake.py waits'"
    )
    connection.commit()


main()
