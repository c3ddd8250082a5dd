/*
 * mk_inbox.c
 *		Idempotent consumers: events that were accepted.
 *
 * An event is a row, and the unique index decides which of two sessions is the
 * first: INSERT ... ON CONFLICT DO NOTHING waits for the other to end.  So this
 * is plain SQL, run as the owner of the tables; the rights are checked before.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_guc.h"
#include "mk_inbox.h"
#include "mk_relation.h"
#include "mk_role.h"

typedef enum MkStatement
{
	MK_FIND_CONSUMER,
	MK_MAKE_CONSUMER,
	MK_ACCEPT,
	MK_FIND_EVENT,
	MK_NUM_STATEMENTS
} MkStatement;

typedef struct MkPrepared
{
	const char *sql;
	int nargs;
	Oid types[4];
	SPIPlanPtr plan;
} MkPrepared;

static MkPrepared mk_statements[MK_NUM_STATEMENTS] = {
	[MK_FIND_CONSUMER] = {.sql = "SELECT consumer_no, owner "
								 "FROM minikafka.inbox_consumer "
								 "WHERE consumer OPERATOR(pg_catalog.=) $1",
						  .nargs = 1,
						  .types = {TEXTOID}},
	[MK_MAKE_CONSUMER] = {.sql = "INSERT INTO minikafka.inbox_consumer "
								 "OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3) "
								 "ON CONFLICT (consumer) DO NOTHING",
						  .nargs = 3,
						  .types = {TEXTOID, INT4OID, NAMEOID}},
	[MK_ACCEPT] = {.sql = "INSERT INTO minikafka.inbox "
						  "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
				   .nargs = 4,
				   .types = {INT4OID, TEXTOID, BYTEAOID, TIMESTAMPTZOID}},
	[MK_FIND_EVENT] = {.sql = "SELECT payload_sha256 FROM minikafka.inbox "
							  "WHERE consumer_no OPERATOR(pg_catalog.=) $1 "
							  "AND event_id OPERATOR(pg_catalog.=) $2",
					   .nargs = 2,
					   .types = {INT4OID, TEXTOID}},
};

/* Runs one; true if it found, or made, a row. */
static bool
mk_run(MkStatement which, Datum *values, const char *nulls)
{
	MkPrepared *s = &mk_statements[which];
	int result;

	if (s->plan == NULL)
	{
		s->plan = SPI_prepare(s->sql, s->nargs, s->types);
		if (s->plan == NULL || SPI_keepplan(s->plan) != 0)
			elog(ERROR, "could not prepare \"%s\": %s", s->sql,
				 SPI_result_code_string(SPI_result));
	}
	result = SPI_execute_plan(s->plan, values, nulls, false, 1);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", s->sql,
			 SPI_result_code_string(result));
	return SPI_processed > 0;
}

static Datum
mk_found(int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column,
						 isnull);
}

/* The consumer's number; it is made for the user if there is none. */
static int32
mk_inbox_consumer(const char *consumer, Oid user)
{
	Datum name = CStringGetTextDatum(consumer);
	bool isnull;

	if (!mk_run(MK_FIND_CONSUMER, &name, NULL))
	{
		NameData owner;
		Datum values[3];

		namestrcpy(&owner, GetUserNameFromId(user, false));
		values[0] = name;
		values[1] = Int32GetDatum(mk_relation_next(MK_REL_CONSUMER_NO_SEQ));
		values[2] = NameGetDatum(&owner);
		(void) mk_run(MK_MAKE_CONSUMER, values, NULL);

		/* another session may have made it: it is there, or comes too late */
		if (!mk_run(MK_FIND_CONSUMER, &name, NULL))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("inbox consumer \"%s\" was made by another "
							"transaction",
							consumer),
					 errhint("Run the transaction again.")));
	}
	mk_role_check_owner(NameStr(*DatumGetName(mk_found(2, &isnull))), user,
						"inbox consumer", consumer);
	return DatumGetInt32(mk_found(1, &isnull));
}

static Datum
mk_sha256(const struct varlena *payload)
{
	bytea *digest = palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	SET_VARSIZE(digest, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, (const uint8 *) VARDATA_ANY(payload),
							 VARSIZE_ANY_EXHDR(payload)) < 0 ||
		pg_cryptohash_final(context, (uint8 *) VARDATA(digest),
							PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute SHA-256");
	pg_cryptohash_free(context);
	return PointerGetDatum(digest);
}

static bool
mk_inbox_accept_as_owner(const char *consumer, const char *event_id,
						 struct varlena *payload, Oid user)
{
	Datum values[4];
	char nulls[] = {' ', ' ', payload == NULL ? 'n' : ' ', ' '};
	Datum before;
	bool isnull;

	values[0] = Int32GetDatum(mk_inbox_consumer(consumer, user));
	values[1] = CStringGetTextDatum(event_id);
	values[2] = payload == NULL ? (Datum) 0 : mk_sha256(payload);
	values[3] = TimestampTzGetDatum(mk_clock_now());
	if (mk_run(MK_ACCEPT, values, nulls))
		return true;

	if (payload == NULL || !mk_run(MK_FIND_EVENT, values, NULL))
		return false;
	before = mk_found(1, &isnull);
	if (!isnull &&
		memcmp(VARDATA_ANY(DatumGetByteaPP(before)),
			   VARDATA(DatumGetPointer(values[2])),
			   PG_SHA256_DIGEST_LENGTH) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_MK_CONFLICTING_EVENT),
				 errmsg("event \"%s\" was accepted by consumer \"%s\" with "
						"another payload",
						event_id, consumer),
				 errhint("Put this one aside for somebody to look at.")));
	return false;
}

bool
mk_inbox_accept(const char *consumer, const char *event_id,
				struct varlena *payload)
{
	Oid user;
	int context;
	int nest_level = NewGUCNestLevel();
	Relation rel = table_open(mk_relation_oid(MK_REL_INBOX), AccessShareLock);
	bool first;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE);
	table_close(rel, AccessShareLock);
	mk_guc_restrict_search_path();
	SPI_connect();
	first = mk_inbox_accept_as_owner(consumer, event_id, payload, user);
	SPI_finish();
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);
	return first;
}

/* ---------------------------------------------------------------------------
 * Forgetting
 */

/* Column number, as in sql/parts/10_catalog.sql */
#define Anum_inbox_accepted_at 4

/* How many rows are removed at once. */
#define MK_CLEAN_ROWS 20000

bool
mk_inbox_clean(void)
{
	TimestampTz oldest =
		mk_clock_now() - mk_guc_inbox_retention * USECS_PER_SEC;
	int removed = 0;
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_inbox_accepted_at, BTLessStrategyNumber,
				F_TIMESTAMPTZ_LT, TimestampTzGetDatum(oldest));
	mk_rows_begin_keys(&rows, MK_REL_INBOX, MK_REL_INBOX_ACCEPTED_IDX, NULL, 1,
					   &key);
	while (removed < MK_CLEAN_ROWS &&
		   (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (mk_rows_discard(&rows, tuple))
			removed++;
	}
	mk_rows_end(&rows);
	return removed == MK_CLEAN_ROWS;
}
