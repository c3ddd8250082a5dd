"""How long a commit takes to reach a session that waits.

    wake.py ROUNDS COUNT FOLDER

The contenders, which take turns, COUNT times in a round:

    poll     a record, which the other session waits for in poll()
    notify   a NOTIFY with a payload, nothing else
    row      an INSERT and a NOTIFY; who is notified reads the row

The time is that from before the sender's COMMIT to when the other has what was
sent; both read the same monotonic clock.  A commit with nothing but NOTIFY
never waits for the disk, the others do where synchronous_commit says so.

Writes a number of microseconds a round to the files poll.median, poll.p99,
notify.median, and so on, in FOLDER.
"""

import os
import select
import signal
import struct
import sys
import time

import psycopg2

VALUE = "0123456789" * 20
# so that who was woken waits again when the next one comes
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
    """Runs work in a process: its id, and where its reports can be read."""
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
            sys.exit(f"{name}: who waited has failed")
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
    # in the first one all is done for the first time
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
    # their sessions wait on, and do not notice
    cursor.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'wake.py waits'"
    )
    connection.commit()


main()
