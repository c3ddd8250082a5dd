#!/usr/bin/env python3
"""A producer and a consumer with asyncpg.

    python3 purchases_asyncpg.py produce COUNT
    python3 purchases_asyncpg.py consume GROUP INSTANCE COUNT
"""

import asyncio
import datetime
import json
import sys

import asyncpg

TOPIC = "purchases"
WAIT = datetime.timedelta(seconds=1)  # an interval, also after a cast, is no string

# The transaction is rolled back.  The next poll returns the same records, or
# those of the partitions that the member has by then.
POLL_AGAIN = {
    "MK022",  # a partition has moved to another member
    "MK101",  # another session has polled for this member
    "40001", "40P01", "55P03",  # serialization failure, deadlock, lock_timeout
}
JOIN_AGAIN = "MK025"  # the member was removed: a timeout has passed
STOP = "MK082"  # another process has taken over the instance id


async def produce(connection, count):
    for i in range(count):
        # The row and its event: both or none.
        async with connection.transaction():
            purchase = {"customer": f"customer {i % 10}", "amount": i % 7 + 1}
            purchase["id"] = await connection.fetchval(
                "INSERT INTO purchase (customer, amount) VALUES ($1, $2) RETURNING id",
                purchase["customer"], purchase["amount"])
            await connection.execute(
                "SELECT minikafka.send($1, $2::jsonb, key => $3)",
                TOPIC, json.dumps(purchase), purchase["customer"])


async def join(connection, group, instance):
    return await connection.fetchval(
        "SELECT minikafka.join_group($1, $2, instance_id => $3)",
        group, [TOPIC], instance)


async def do_batch(connection, group, member):
    """Polls, works and commits in one transaction; returns the group's count."""
    async with connection.transaction():
        records = await connection.fetch(
            "SELECT key, value FROM minikafka.poll_json($1, $2, max_records => 20, max_wait => $3)",
            group, member, WAIT)
        # All members take the rows in one order, so that they cannot deadlock.
        for customer, value in sorted(records, key=lambda record: record["key"]):
            purchase = json.loads(value)  # jsonb comes as a string
            await connection.execute(
                """INSERT INTO customer_total AS t VALUES ($1, $2, 1, $3)
                   ON CONFLICT (group_id, customer) DO UPDATE SET
                       purchases = t.purchases + 1, amount = t.amount + excluded.amount""",
                group, customer, purchase["amount"])
        await connection.execute("SELECT minikafka.commit($1, $2)", group, member)
        return await connection.fetchval(
            "SELECT coalesce(sum(purchases), 0) FROM customer_total WHERE group_id = $1", group)


async def consume(connection, group, instance, count):
    member = await join(connection, group, instance)
    counted = 0
    while counted < count:
        try:
            counted = await do_batch(connection, group, member)
        except asyncpg.PostgresError as error:
            if connection.is_closed():
                raise  # the connection is lost: a supervisor starts the program again
            if error.sqlstate == JOIN_AGAIN:
                member = await join(connection, group, instance)
            elif error.sqlstate == STOP:
                sys.exit(f"another process has taken over as {instance}")
            elif error.sqlstate not in POLL_AGAIN:
                print(error, file=sys.stderr)
                await asyncio.sleep(1)  # the work has failed
            print(f"{error.sqlstate}: goes on", file=sys.stderr)
    await connection.execute("SELECT minikafka.leave_group($1, $2)", group, member)


async def main():
    connection = await asyncpg.connect()
    try:
        if sys.argv[1] == "produce":
            await produce(connection, int(sys.argv[2]))
        else:
            await consume(connection, sys.argv[2], sys.argv[3], int(sys.argv[4]))
    finally:
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
