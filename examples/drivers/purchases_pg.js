#!/usr/bin/env node
// A producer and a consumer with node-postgres.
//
//     node purchases_pg.js produce COUNT
//     node purchases_pg.js consume GROUP INSTANCE COUNT

const { setTimeout: sleep } = require('timers/promises')
const { Client } = require('pg')

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

const client = new Client()
let lost = false
// Without this a connection that is lost ends the program with an uncaught error.
client.on('error', () => { lost = true })
client.on('notice', notice => console.error(notice.message))

async function transaction (work) {
  await client.query('BEGIN')
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

async function produce (count) {
  for (let i = 0; i < count; i++) {
    // The row and its event: both or none.
    await transaction(async () => {
      const purchase = { customer: `customer ${i % 10}`, amount: i % 7 + 1 }
      const { rows } = await client.query(
        'INSERT INTO purchase (customer, amount) VALUES ($1, $2) RETURNING id',
        [purchase.customer, purchase.amount])
      purchase.id = Number(rows[0].id)
      await client.query(
        'SELECT minikafka.send($1, $2::jsonb, key => $3)',
        [TOPIC, JSON.stringify(purchase), purchase.customer])
    })
  }
}

async function join (group, instance) {
  const { rows } = await client.query(
    'SELECT minikafka.join_group($1, $2, instance_id => $3) AS member',
    [group, [TOPIC], instance])
  return rows[0].member
}

// Polls, works and commits in one transaction; returns the group's count.
async function doBatch (group, member) {
  return transaction(async () => {
    const { rows: records } = await client.query(
      "SELECT key, value FROM minikafka.poll_json($1, $2, max_records => 20, max_wait => '1s')",
      [group, member])
    // All members take the rows in one order, so that they cannot deadlock.
    records.sort((a, b) => (a.key > b.key) - (a.key < b.key))
    for (const { key, value } of records) {
      await client.query(
        `INSERT INTO customer_total AS t VALUES ($1, $2, 1, $3)
         ON CONFLICT (group_id, customer) DO UPDATE SET
           purchases = t.purchases + 1, amount = t.amount + excluded.amount`,
        [group, key, value.amount])
    }
    await client.query('SELECT minikafka.commit($1, $2)', [group, member])
    const { rows } = await client.query(
      'SELECT coalesce(sum(purchases), 0) AS count FROM customer_total WHERE group_id = $1',
      [group])
    return Number(rows[0].count)
  })
}

async function consume (group, instance, count) {
  let member = await join(group, instance)
  let counted = 0
  while (counted < count) {
    try {
      counted = await doBatch(group, member)
    } catch (error) {
      if (lost || !error.code) {
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
  await client.query('SELECT minikafka.leave_group($1, $2)', [group, member])
}

async function main ([command, ...args]) {
  await client.connect()
  try {
    if (command === 'produce') {
      await produce(Number(args[0]))
    } else {
      await consume(args[0], args[1], Number(args[2]))
    }
  } finally {
    await client.end()
  }
}

main(process.argv.slice(2)).catch(error => {
  console.error(error.message)
  process.exitCode = 1
})
