// A producer and a consumer with pgx 4.
//
//	go run purchases_pgx.go produce COUNT
//	go run purchases_pgx.go consume GROUP INSTANCE COUNT
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

const topic = "purchases"

// The transaction is rolled back.  The next poll returns the same records, or
// those of the partitions that the member has by then.
var pollAgain = map[string]bool{
	"MK022": true,                // a partition has moved to another member
	"MK101": true,                // another session has polled for this member
	"40001": true, "40P01": true, // serialization failure, deadlock
	"55P03": true,                // lock_timeout
}

const (
	joinAgain = "MK025" // the member was removed: a timeout has passed
	stop      = "MK082" // another process has taken over the instance id
)

type Purchase struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
	Amount   int    `json:"amount"`
}

func produce(ctx context.Context, conn *pgx.Conn, count int) error {
	for i := 0; i < count; i++ {
		// The row and its event: both or none.
		err := conn.BeginFunc(ctx, func(tx pgx.Tx) error {
			purchase := Purchase{Customer: fmt.Sprintf("customer %d", i%10), Amount: i%7 + 1}
			err := tx.QueryRow(ctx,
				"INSERT INTO purchase (customer, amount) VALUES ($1, $2) RETURNING id",
				purchase.Customer, purchase.Amount).Scan(&purchase.ID)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "SELECT minikafka.send($1, $2::jsonb, key => $3)",
				topic, purchase, purchase.Customer)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func join(ctx context.Context, conn *pgx.Conn, group, instance string) (member string, err error) {
	err = conn.QueryRow(ctx, "SELECT minikafka.join_group($1, $2, instance_id => $3)",
		group, []string{topic}, instance).Scan(&member)
	return member, err
}

// Polls, works and commits in one transaction; returns the group's count.
func doBatch(ctx context.Context, conn *pgx.Conn, group, member string) (int64, error) {
	var counted int64
	err := conn.BeginFunc(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx,
			"SELECT value FROM minikafka.poll_json($1, $2, max_records => 20, max_wait => '1s')",
			group, member)
		if err != nil {
			return err
		}
		// The rows are read to their end before the next statement.
		var records []Purchase
		for rows.Next() {
			var purchase Purchase
			if err = rows.Scan(&purchase); err != nil {
				return err
			}
			records = append(records, purchase)
		}
		if err = rows.Err(); err != nil {
			return err
		}
		// All members take the rows in one order, so that they cannot deadlock.
		sort.Slice(records, func(i, j int) bool { return records[i].Customer < records[j].Customer })
		for _, purchase := range records {
			_, err = tx.Exec(ctx,
				`INSERT INTO customer_total AS t VALUES ($1, $2, 1, $3)
				 ON CONFLICT (group_id, customer) DO UPDATE SET
					purchases = t.purchases + 1, amount = t.amount + excluded.amount`,
				group, purchase.Customer, purchase.Amount)
			if err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, "SELECT minikafka.commit($1, $2)", group, member); err != nil {
			return err
		}
		return tx.QueryRow(ctx,
			"SELECT coalesce(sum(purchases), 0)::bigint FROM customer_total WHERE group_id = $1", group).Scan(&counted)
	})
	if err != nil {
		return 0, err // the count was rolled back too
	}
	return counted, nil
}

func consume(ctx context.Context, conn *pgx.Conn, group, instance string, count int64) error {
	member, err := join(ctx, conn, group, instance)
	for counted := int64(0); err == nil && counted < count; {
		var pgErr *pgconn.PgError
		counted, err = doBatch(ctx, conn, group, member)
		if errors.As(err, &pgErr) {
			switch {
			case conn.IsClosed():
				return err // the connection is lost: a supervisor starts the program again
			case pgErr.Code == joinAgain:
				member, err = join(ctx, conn, group, instance)
			case pgErr.Code == stop:
				return fmt.Errorf("another process has taken over as %s", instance)
			case pollAgain[pgErr.Code]:
				err = nil
			default:
				fmt.Fprintln(os.Stderr, err)
				time.Sleep(time.Second) // the work has failed
				err = nil
			}
			fmt.Fprintln(os.Stderr, pgErr.Code+": goes on")
		}
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT minikafka.leave_group($1, $2)", group, member)
	return err
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)
	if os.Args[1] == "produce" {
		count, _ := strconv.Atoi(os.Args[2])
		err = produce(ctx, conn, count)
	} else {
		count, _ := strconv.ParseInt(os.Args[4], 10, 64)
		err = consume(ctx, conn, os.Args[2], os.Args[3], count)
	}
	if err != nil {
		log.Fatal(err)
	}
}
