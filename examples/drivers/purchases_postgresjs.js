#!/usr/bin/env node
// A producer and a consumer with postgres.js.
//
//     node purchases_postgresjs.js produce COUNT
//     node purchases_postgresjs.js consume GROUP INSTANCE COUNT

const { setTimeout: sleep } = require('timers/promises')
const postgres = require('postgres')

const TOPIC = 'purchases'

// The transaction is rolled back.  The next poll returns the same records, or
// those of the partitions that the member has by then.
const POLL_AGAIN = [
  'MK022', // a partition has moved to another member
  'MK101', // another session has polled for this member
  '40001', '40P01', '55P03' // serialization failure, deadlock, lock_timeout
]
const JOIN_AGAIN = 'MK025' // the member was removed: a timeout has passed
const STOP = 'MK082' // another process has taken over the instance id
const LOST = /^(08|57P0)/ // the server has closed the connection

const sql = postgres({ onnotice: notice => console.error(notice.message) })

async function produce (count) {
  for (let i = 0; i < count; i++) {
    // The row and its event: both or none.
    await sql.begin(async sql => {
      const purchase = { customer: `customer ${i % 10}`, amount: i % 7 + 1 }
      const [row] = await sql`
        INSERT INTO purchase (customer, amount)
        VALUES (${purchase.customer}, ${purchase.amount}) RETURNING id`
      purchase.id = Number(row.id)
      await sql`
        SELECT minikafka.send(${TOPIC}, ${sql.json(purchase)}, key => ${purchase.customer})`
    })
  }
}

async function join (group, instance) {
  const [{ member }] = await sql`
    SELECT minikafka.join_group(${group}, ${[TOPIC]}, instance_id => ${instance}) AS member`
  return member
}

// Polls, works and commits in one transaction; returns the group's count.
async function doBatch (group, member) {
  return sql.begin(async sql => {
    const records = await sql`
      SELECT key, value FROM minikafka.poll_json(${group}, ${member}, max_records => 20, max_wait => '1s')`
    // All members take the rows in one order, so that they cannot deadlock.
    records.sort((a, b) => (a.key > b.key) - (a.key < b.key))
    for (const { key, value } of records) {
      await sql`
        INSERT INTO customer_total AS t VALUES (${group}, ${key}, 1, ${value.amount})
        ON CONFLICT (group_id, customer) DO UPDATE SET
          purchases = t.purchases + 1, amount = t.amount + excluded.amount`
    }
    await sql`SELECT minikafka.commit(${group}, ${member})`
    const [{ count }] = await sql`
      SELECT coalesce(sum(purchases), 0) AS count FROM customer_total WHERE group_id = ${group}`
    return Number(count)
  })
}

async function consume (group, instance, count) {
  let member = await join(group, instance)
  let counted = 0
  while (counted < count) {
    try {
      counted = await doBatch(group, member)
    } catch (error) {
      if (!(error instanceof postgres.PostgresError) || LOST.test(error.code)) {
        throw error // the connection is lost: a supervisor starts the program again
      } else if (error.code === JOIN_AGAIN) {
        member = await join(group, instance)
      } else if (error.code === STOP) {
        throw new Error(`another process has taken over as ${instance}`)
      } else if (!POLL_AGAIN.includes(error.code)) {
        console.error(error.message)
        await sleep(1000) // the work has failed
      }
      console.error(`${error.code}: goes on`)
    }
  }
  await sql`SELECT minikafka.leave_group(${group}, ${member})`
}

async function main ([command, ...args]) {
  try {
    if (command === 'produce') {
      await produce(Number(args[0]))
    } else {
      await consume(args[0], args[1], Number(args[2]))
    }
  } finally {
    await sql.end()
  }
}

main(process.argv.slice(2)).catch(error => {
  console.error(error.message)
  process.exitCode = 1
})
