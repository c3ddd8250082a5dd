#!/usr/bin/env python3
"""Many web processes that keep no state between requests: python3 web.py

Each request has an idempotency key.  A client that repeats a request gives the
same key.  Any process can take any request, and answers it with answer().

main() simulates clients and processes.  Each process has its own connection.
Each request comes three times, some processes die before COMMIT, and one key
comes again with a different request.  The output counts the answers.  Run it
as role shop, after setup.sql.
"""

import collections
import json
import random
from concurrent import futures

import psycopg2


def purchase(cursor, key, request):
    # Waits while another process works on the same key.  The first one gets
    # true; if its transaction is rolled back, the key is free again.
    cursor.execute(
        "SELECT minikafka.inbox_accept('purchase requests', %s, %s)",
        (key, json.dumps(request, sort_keys=True).encode()))
    if not cursor.fetchone()[0]:
        return "200 as before"
    cursor.execute(
        "INSERT INTO purchase (customer, amount) VALUES (%(customer)s, %(amount)s)",
        request)
    cursor.execute(
        "SELECT minikafka.send('purchases', %s::jsonb, key => %s)",
        (json.dumps(request), request["customer"]))
    return "201 created"


def answer(connection, key, request, before_commit=lambda: None):
    try:
        with connection, connection.cursor() as cursor:  # a transaction
            result = purchase(cursor, key, request)
            before_commit()
            return result
    except psycopg2.Error as error:
        if error.pgcode == "MK100":  # the key was used for another request
            return "409 conflict"
        raise


class Died(Exception):
    pass


def die():
    raise Died


def process(attempt):
    connection = psycopg2.connect("")
    try:
        return answer(connection, *attempt)
    except Died:
        return "no answer"
    finally:
        connection.close()


def main():
    requests = [(f"key {i}", {"customer": f"web customer {i % 5}", "amount": i})
                for i in range(60)]
    attempts = requests * 3 + [(*request, die) for request in requests[::4]]
    random.Random(1).shuffle(attempts)

    with futures.ThreadPoolExecutor(8) as processes:
        answers = list(processes.map(process, attempts))
    answers.append(process(("key 0", {"customer": "another customer", "amount": 1})))
    for text, count in sorted(collections.Counter(answers).items()):
        print(f"{count} {text}")


if __name__ == "__main__":
    main()
