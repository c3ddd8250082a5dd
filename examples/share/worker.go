// The worker of worker.sql as a program, with pgx 4: go run worker.go
//
// It connects by the environment variables of libpq (PGHOST, PGDATABASE, ...) and
// runs until it is interrupted.  Start as many as you like.
package main

import (
	"context"
	"log"
	"strconv"

	"github.com/jackc/pgx/v4"
)

const group = "payments"

type Job struct {
	airport string
	flight  int32
	delay   string
	receipt string
}

func acknowledge(ctx context.Context, tx pgx.Tx, receipt, answer string, failure *string) (result string, err error) {
	err = tx.QueryRow(ctx, "SELECT minikafka.acknowledge($1, $2, $3, $4)",
		group, receipt, answer, failure).Scan(&result)
	return result, err
}

// The work: may fail.
func pay(ctx context.Context, tx pgx.Tx, job Job) error {
	delay, err := strconv.Atoi(job.delay)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO payment (flight, airport, amount) VALUES ($1, $2, $3)",
		job.flight, job.airport, 50*(delay/60))
	return err
}

func doJob(ctx context.Context, tx pgx.Tx, job Job) error {
	// A savepoint: if the work fails, it is undone, and so is the answer.
	err := tx.BeginFunc(ctx, func(savepoint pgx.Tx) error {
		result, err := acknowledge(ctx, savepoint, job.receipt, "accept", nil)
		// Released: an earlier job of this airport has failed, so this one comes
		// again after it.
		if err != nil || result == "released" {
			return err
		}
		return pay(ctx, savepoint, job)
	})
	if err == nil {
		return nil
	}
	// It comes again after a while, or has failed too often.  If the connection is
	// lost, this fails.
	failure := err.Error()
	_, err = acknowledge(ctx, tx, job.receipt, "fail", &failure)
	return err
}

// Acquires, works and acknowledges in one transaction.
func doBatch(ctx context.Context, conn *pgx.Conn) error {
	return conn.BeginFunc(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx,
			`SELECT key, (value->>'flight')::int, value->>'delay', receipt
			 FROM minikafka.acquire_json($1, 10, max_wait => '1s')`, group)
		if err != nil {
			return err
		}
		var jobs []Job
		for rows.Next() {
			var job Job
			if err := rows.Scan(&job.airport, &job.flight, &job.delay, &job.receipt); err != nil {
				return err
			}
			jobs = append(jobs, job)
		}
		if rows.Err() != nil {
			return rows.Err()
		}
		for _, job := range jobs {
			if err := doJob(ctx, tx, job); err != nil {
				return err
			}
		}
		return nil
	})
}

// An error ends the program, and with it the transaction, whose jobs are free then.
// A supervisor starts it again.
func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	for err == nil {
		err = doBatch(ctx, conn)
	}
	log.Fatal(err)
}
