#!/usr/bin/env node
// The worker of worker.sql as a program, with node-postgres: node worker.js
//
// It connects by the environment variables of libpq (PGHOST, PGDATABASE, ...) and
// runs until it is interrupted.  Start as many as you like.

const { Client } = require('pg')

const GROUP = 'payments'
const client = new Client()

async function acknowledge (receipt, answer = 'accept', error = null) {
  const { rows } = await client.query(
    'SELECT minikafka.acknowledge($1, $2, $3, $4) AS result', [GROUP, receipt, answer, error])
  return rows[0].result
}

// The work: may fail.
async function pay (airport, { flight, delay }) {
  if (!Number.isInteger(delay)) {
    throw new Error(`delay "${delay}" is no number`)
  }
  await client.query(
    'INSERT INTO payment (flight, airport, amount) VALUES ($1, $2, $3)',
    [flight, airport, 50 * Math.floor(delay / 60)])
}

async function doJob ({ key, value, receipt }) {
  await client.query('SAVEPOINT job')
  try {
    // Released: an earlier job of this airport has failed, so this one comes again
    // after it.
    if (await acknowledge(receipt) !== 'released') {
      await pay(key, value)
    }
    await client.query('RELEASE job')
  } catch (error) {
    // The work is undone, and so is the answer.  The job comes again after a
    // while, or has failed too often.  If the connection is lost, this fails.
    await client.query('ROLLBACK TO job')
    await acknowledge(receipt, 'fail', error.message)
  }
}

// Acquires, works and acknowledges in one transaction.
async function doBatch () {
  await client.query('BEGIN')
  const { rows: jobs } = await client.query(
    "SELECT key, value, receipt FROM minikafka.acquire_json($1, 10, max_wait => '1s')", [GROUP])
  for (const job of jobs) {
    await doJob(job)
  }
  await client.query('COMMIT')
}

// An error here ends the program, and with it the transaction, whose jobs are free
// then.  A supervisor starts it again.
async function main () {
  await client.connect()
  for (;;) {
    await doBatch()
  }
}

client.on('error', () => {}) // the connection is lost: the next query fails
main().catch(error => {
  console.error(error.message)
  process.exit(1)
})
