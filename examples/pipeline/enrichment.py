"""Enrichment: workers of a share group, which get executions one by one.

If the reference data is away, the execution fails: it comes again after the
group's backoff, and its trade waits with it, while other trades go on.  An
execution of a wrong or unknown security is rejected: it becomes a dead letter.
"""

import collections
import json
import threading
import time

import psycopg2

UNDERSTOOD = {("execution.reported", 1), ("execution.amended", 1)}
AWAY = "08006"
REJECTED = {"22023": "wrong ISIN", "P0002": "unknown security"}
CONFLICT = "MK100"  # the event id was accepted with another payload
AGAIN = {"MK022", "MK121", "40001", "40P01"}
ENDED = {None, "57P01"}  # without code: the connection is gone
REDRIVEN = "__dlq.redriven.topic"


class Workers:
    """Some workers, which end when nothing is left to enrich."""

    def __init__(self, count=4):
        self.total = collections.Counter()
        self.error = None
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.work) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def working(self):
        return any(thread.is_alive() for thread in self.threads)

    def finish(self):
        for thread in self.threads:
            thread.join()
        if self.error:
            raise self.error
        return self.total

    def work(self):
        connection = None
        while self.error is None:
            try:
                if connection is None:
                    connection = psycopg2.connect(user="enriching")
                done = do_batch(connection)
            except psycopg2.Error as error:
                if error.pgcode in ENDED:
                    connection = None  # what it held is free again at once
                elif error.pgcode not in AGAIN:
                    self.error = error
                continue
            if not done:
                break
            with self.lock:  # what is committed
                self.total += done
        if connection:
            connection.close()


def do_batch(connection):
    with connection, connection.cursor() as cursor:  # a transaction
        # It waits for longer than any execution waits for its next delivery.
        cursor.execute(
            'SELECT receipt, delivery_count, headers, topic, partition, "offset", key, value'
            " FROM minikafka.acquire('enrichment', 5, max_wait => '1 s')")
        done = collections.Counter(
            handle(cursor, *record[:3], record[3:]) for record in cursor.fetchall())
        if done:
            time.sleep(0.01)  # as if there were more to do
    return done


def answer(cursor, *arguments):
    cursor.execute("SELECT minikafka.acknowledge('enrichment', "
                   + ", ".join(["%s"] * len(arguments)) + ")", arguments)
    return cursor.fetchone()[0]


def handle(cursor, receipt, delivery, headers, record):
    """Processes an execution and answers for it; returns the outcome."""
    cursor.execute("SAVEPOINT execution")
    # An earlier one of its trade may have failed: then this one comes later.
    if answer(cursor, receipt) == "released":
        return "released"
    try:
        return enrich(cursor, delivery, headers, record)
    except psycopg2.Error as error:
        if error.pgcode != AWAY and error.pgcode != CONFLICT and error.pgcode not in REJECTED:
            raise
        # This undoes the work, and the answer.
        cursor.execute("ROLLBACK TO SAVEPOINT execution")
        if error.pgcode == CONFLICT:
            answer(cursor, receipt)
            return quarantine(cursor, "event id with another payload", record)
        if error.pgcode == AWAY:
            answer(cursor, receipt, "fail", error.diag.message_primary)
            return "failed"
        answer(cursor, receipt, "reject", error.diag.message_primary)
        return "rejected: " + REJECTED[error.pgcode]


def enrich(cursor, delivery, headers, record):
    value = bytes(record[-1])
    e = json.loads(value)
    if (e["event_type"], e["schema_version"]) not in UNDERSTOOD:
        return quarantine(cursor, "unknown type or version", record)
    cursor.execute("SELECT minikafka.inbox_accept('enrichment', %s, %s)", (e["event_id"], value))
    if not cursor.fetchone()[0]:
        return "repeated"
    cursor.execute("SELECT enrich(%s, %s)", (value.decode(), json.dumps({
        "partition": record[1], "offset": record[2],
        "deliveries": delivery, "redriven": REDRIVEN in headers})))
    return "enriched"


def quarantine(cursor, reason, record):
    cursor.execute("SELECT quarantine('enrichment', %s, %s, %s, %s, %s, %s)",
                   (reason, *record))
    return "quarantined" if cursor.fetchone()[0] else "quarantined before"
