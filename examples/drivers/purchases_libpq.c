/*
 * A producer and a consumer with libpq.
 *
 *	cc -I$(pg_config --includedir) purchases_libpq.c -lpq -o purchases_libpq
 *	./purchases_libpq produce COUNT
 *	./purchases_libpq consume GROUP INSTANCE COUNT
 */
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOPIC "purchases"

static PGconn *conn;
static char state[6]; /* the SQLSTATE of the last error */

/*
 * Runs a statement with n parameters, all of them text; NULL after an error.
 * The parameters have no types: the server infers them.
 */
static PGresult *
query(const char *sql, int n, ...)
{
	const char *values[4];
	PGresult *result;
	va_list args;

	va_start(args, n);
	for (int i = 0; i < n; i++)
		values[i] = va_arg(args, const char *);
	va_end(args);
	result = PQexecParams(conn, sql, n, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(result) == PGRES_COMMAND_OK ||
		PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;

	const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	snprintf(state, sizeof(state), "%s", code ? code : "08006");
	PQclear(result);
	return NULL;
}

/* The same, for a statement whose result is of no interest */
static int
run(const char *sql, int n, const char *a, const char *b, const char *c)
{
	PGresult *result = query(sql, n, a, b, c);

	PQclear(result);
	return result != NULL;
}

static void
fail(void)
{
	fprintf(stderr, "%s", PQerrorMessage(conn));
	exit(1);
}

static void
produce(int count)
{
	for (int i = 0; i < count; i++)
	{
		char customer[20];
		char amount[20];
		PGresult *row;

		snprintf(customer, sizeof(customer), "customer %d", i % 10);
		snprintf(amount, sizeof(amount), "%d", i % 7 + 1);
		/* The row and its event: both or none. */
		if (!run("BEGIN", 0, NULL, NULL, NULL) ||
			!(row = query("INSERT INTO purchase AS p (customer, amount)"
						  " VALUES ($1, $2) RETURNING to_jsonb(p)",
						  2, customer, amount)) ||
			!run("SELECT minikafka.send($1, $2::jsonb, key => $3)", 3, TOPIC,
				 PQgetvalue(row, 0, 0), customer) ||
			!run("COMMIT", 0, NULL, NULL, NULL))
			fail();
		PQclear(row);
	}
}

/* The member id */
static char *
join(const char *group, const char *instance)
{
	PGresult *row = query("SELECT minikafka.join_group($1, '{" TOPIC
						  "}', instance_id => $2)",
						  2, group, instance);
	char *member;

	if (row == NULL)
		fail();
	member = strdup(PQgetvalue(row, 0, 0));
	PQclear(row);
	return member;
}

/*
 * Polls, works and commits in one transaction; returns the group's count, -1
 * after an error.
 */
static long
do_batch(const char *group, const char *member)
{
	PGresult *records;
	PGresult *row;
	long counted = -1;

	if (!run("BEGIN", 0, NULL, NULL, NULL))
		return -1;
	/* All members take the rows in one order, so that they cannot deadlock. */
	records = query("SELECT key, value->>'amount' FROM minikafka.poll_json($1,"
					" $2, max_records => 20, max_wait => '1s') ORDER BY key",
					2, group, member);
	for (int i = 0; records != NULL && i < PQntuples(records); i++)
		if (!run("INSERT INTO customer_total AS t VALUES ($1, $2, 1, $3)"
				 " ON CONFLICT (group_id, customer) DO UPDATE SET purchases ="
				 " t.purchases + 1, amount = t.amount + excluded.amount",
				 3, group, PQgetvalue(records, i, 0),
				 PQgetvalue(records, i, 1)))
		{
			PQclear(records);
			records = NULL;
		}
	if (records != NULL &&
		run("SELECT minikafka.commit($1, $2)", 2, group, member, NULL) &&
		(row = query("SELECT coalesce(sum(purchases), 0) FROM customer_total"
					 " WHERE group_id = $1",
					 1, group)) != NULL)
	{
		if (run("COMMIT", 0, NULL, NULL, NULL))
			counted = atol(PQgetvalue(row, 0, 0));
		PQclear(row);
	}
	PQclear(records);
	return counted;
}

static void
consume(const char *group, const char *instance, long count)
{
	char *member = join(group, instance);

	for (long counted = 0; counted < count;)
	{
		if ((counted = do_batch(group, member)) >= 0)
			continue;
		fprintf(stderr, "%s", PQerrorMessage(conn));
		/* After an error in COMMIT this is a warning. */
		PQclear(PQexec(conn, "ROLLBACK"));
		if (PQstatus(conn) != CONNECTION_OK)
			exit(1); /* it is lost: a supervisor starts the program again */
		if (strcmp(state, "MK025") == 0)
		{
			/* the member was removed: a timeout has passed */
			free(member);
			member = join(group, instance);
		}
		else if (strcmp(state, "MK082") == 0)
		{
			fprintf(stderr, "another process has taken over as %s\n", instance);
			exit(1);
		}
		/*
		 * A partition has moved, another session has polled for this member,
		 * serialization failure, deadlock, lock_timeout: polls again at once.
		 */
		else if (strcmp(state, "MK022") != 0 && strcmp(state, "MK101") != 0 &&
				 strcmp(state, "40001") != 0 && strcmp(state, "40P01") != 0 &&
				 strcmp(state, "55P03") != 0)
			sleep(1); /* the work has failed */
		fprintf(stderr, "%s: goes on\n", state);
	}
	if (!run("SELECT minikafka.leave_group($1, $2)", 2, group, member, NULL))
		fail();
	free(member);
}

int
main(int argc, char **argv)
{
	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
		fail();
	if (argc == 3)
		produce(atoi(argv[2]));
	else
		consume(argv[2], argv[3], atol(argv[4]));
	PQfinish(conn);
	return 0;
}
