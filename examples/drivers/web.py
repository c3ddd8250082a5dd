#!/usr/bin/env python3
"""Many web processes that keep nothing between requests: python3 web.py

Each request has an idempotency key, which its client gives again when it
repeats it.  answer() is what a process does with it, whichever it is.

main() plays clients and processes, each of which has a connection of its own:
each request comes three times, some processes die before COMMIT, and one key
comes again with another request.  Prints how many requests had which answer.
Needs the tables of setup.sql, and connects as role shop.
"""

import collections
import json
import random
from concurrent import futures

import psycopg2


def purchase(cursor, key, request):
    # Waits while another process has the key in hand.  Whoever is first gets
    # true; if that one fails, the key is free again.
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
    answers.append(process(("key 0", {"customer": "somebody else", "amount": 1})))
    for text, count in sorted(collections.Counter(answers).items()):
        print(f"{count} {text}")


if __name__ == "__main__":
    main()
