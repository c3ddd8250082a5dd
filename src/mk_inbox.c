/*
 * mk_inbox.c
 *		Idempotent consumers: events that were accepted.
 *
 * An event is a row, and the unique index decides which of two sessions is the
 * first: INSERT ... ON CONFLICT DO NOTHING waits for the other one to end.  So
 * writing is plain SQL, run as the owner of the tables after the caller's
 * rights were checked.  Reading uses no SQL: a query in a SERIALIZABLE
 * transaction would conflict with transactions about other events.
 */
#include "postgres.h"

#include "access/stratnum.h"
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
#include "mk_number.h"
#include "mk_role.h"
#include "mk_rows.h"

typedef enum MkStatement
{
	MK_MAKE_CONSUMER,
	MK_GIVE_CONSUMER,
	MK_ACCEPT,
	MK_NUM_STATEMENTS
} MkStatement;

/* A statement, and its plan once it has run. */
typedef struct MkPrepared
{
	const char *sql;
	int nargs;
	Oid types[4];
	SPIPlanPtr plan;
} MkPrepared;

static MkPrepared mk_statements[MK_NUM_STATEMENTS] = {
	[MK_MAKE_CONSUMER] = {.sql = "INSERT INTO minikafka.inbox_consumer "
								 "OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3) "
								 "ON CONFLICT (consumer) DO NOTHING",
						  .nargs = 3,
						  .types = {TEXTOID, INT4OID, NAMEOID}},
	[MK_GIVE_CONSUMER] = {.sql =
							  "UPDATE minikafka.inbox_consumer SET owner = $2 "
							  "WHERE consumer OPERATOR(pg_catalog.=) $1 "
							  "AND owner OPERATOR(pg_catalog.=) $3",
						  .nargs = 3,
						  .types = {TEXTOID, NAMEOID, NAMEOID}},
	[MK_ACCEPT] = {.sql = "INSERT INTO minikafka.inbox "
						  "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
				   .nargs = 4,
				   .types = {INT4OID, TEXTOID, BYTEAOID, TIMESTAMPTZOID}},
};

/* Runs a statement; true if it inserted or updated a row. */
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

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_consumer_consumer = 1,
	Anum_consumer_consumer_no,
	Anum_consumer_owner,
	Natts_consumer = Anum_consumer_owner
};
StaticAssertDecl(Natts_consumer == MK_NATTS_INBOX_CONSUMER,
				 "all columns are listed");

enum
{
	Anum_inbox_consumer_no = 1,
	Anum_inbox_event_id,
	Anum_inbox_payload_sha256,
	Anum_inbox_accepted_at,
	Natts_inbox = Anum_inbox_accepted_at
};
StaticAssertDecl(Natts_inbox == MK_NATTS_INBOX, "all columns are listed");

/* The number and the owner of a consumer; false if there is none. */
static bool
mk_find_consumer(const char *consumer, int32 *number, NameData *owner)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_consumer_consumer, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(consumer));
	mk_rows_begin_keys(&rows, MK_REL_INBOX_CONSUMER, MK_REL_INBOX_CONSUMER_PKEY,
					   NULL, 1, &key);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
	{
		*number = DatumGetInt32(
			mk_rows_column(&rows, tuple, Anum_consumer_consumer_no));
		*owner =
			*DatumGetName(mk_rows_column(&rows, tuple, Anum_consumer_owner));
	}
	mk_rows_end(&rows);
	return tuple != NULL;
}

/*
 * The consumer's number.  If there is no such consumer, it is made, and
 * belongs to the user.  42501 for another role's consumer.
 */
static int32
mk_inbox_consumer(const char *consumer, Oid user)
{
	int32 number;
	NameData owner;

	if (!mk_find_consumer(consumer, &number, &owner))
	{
		Datum values[3];

		namestrcpy(&owner, GetUserNameFromId(user, false));
		values[0] = CStringGetTextDatum(consumer);
		values[1] = Int32GetDatum(mk_number_next(MK_REL_CONSUMER_NO_SEQ));
		values[2] = NameGetDatum(&owner);
		(void) mk_run(MK_MAKE_CONSUMER, values, NULL);

		/* one that another session has made meanwhile is not always visible */
		if (!mk_find_consumer(consumer, &number, &owner))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("inbox consumer \"%s\" was made by another "
							"transaction",
							consumer),
					 errhint("Run the transaction again.")));
	}
	mk_role_check_owner(NameStr(owner), user, "inbox consumer", consumer);
	return number;
}

/* The digest of the event's payload; false if none is known. */
static bool
mk_find_digest(Datum consumer_no, Datum event_id, uint8 *digest)
{
	ScanKeyData keys[2];
	MkRows rows;
	HeapTuple tuple;
	Datum known = (Datum) 0;
	bool isnull = true;

	ScanKeyInit(&keys[0], Anum_inbox_consumer_no, BTEqualStrategyNumber,
				F_INT4EQ, consumer_no);
	ScanKeyInit(&keys[1], Anum_inbox_event_id, BTEqualStrategyNumber, F_TEXTEQ,
				event_id);
	mk_rows_begin_keys(&rows, MK_REL_INBOX, MK_REL_INBOX_PKEY, NULL,
					   lengthof(keys), keys);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		known =
			mk_rows_nullable(&rows, tuple, Anum_inbox_payload_sha256, &isnull);
	if (!isnull)
		memcpy(digest, VARDATA_ANY(DatumGetByteaPP(known)),
			   PG_SHA256_DIGEST_LENGTH);
	mk_rows_end(&rows);
	return !isnull;
}

/* The SHA-256 of the payload, as a bytea. */
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

/* mk_inbox_accept for the user, run as the owner of the tables. */
static bool
mk_inbox_accept_as_owner(const char *consumer, const char *event_id,
						 struct varlena *payload, Oid user)
{
	Datum values[4];
	char nulls[] = {' ', ' ', payload == NULL ? 'n' : ' ', ' '};
	uint8 before[PG_SHA256_DIGEST_LENGTH];

	values[0] = Int32GetDatum(mk_inbox_consumer(consumer, user));
	values[1] = CStringGetTextDatum(event_id);
	values[2] = payload == NULL ? (Datum) 0 : mk_sha256(payload);
	values[3] = TimestampTzGetDatum(mk_clock_now());
	if (mk_run(MK_ACCEPT, values, nulls))
		return true;

	if (payload != NULL && mk_find_digest(values[0], values[1], before) &&
		memcmp(before, VARDATA(DatumGetPointer(values[2])),
			   PG_SHA256_DIGEST_LENGTH) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_MK_CONFLICTING_EVENT),
				 errmsg("event \"%s\" was accepted by consumer \"%s\" with "
						"another payload",
						event_id, consumer),
				 errhint("Set this event aside for inspection.")));
	return false;
}

/* mk_inbox_set_owner for the user, run as the owner of the tables. */
static void
mk_inbox_set_owner_as_owner(const char *consumer, const char *owner, Oid user)
{
	Datum values[3];
	NameData names[2];
	int32 number;

	if (!mk_find_consumer(consumer, &number, &names[0]))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("inbox consumer \"%s\" does not exist", consumer),
				 errhint("Its first minikafka.inbox_accept() makes it.")));
	mk_role_check_give(NameStr(names[0]), owner, user, "inbox consumer",
					   consumer);
	namestrcpy(&names[1], owner);
	values[0] = CStringGetTextDatum(consumer);
	values[1] = NameGetDatum(&names[1]);
	values[2] = NameGetDatum(&names[0]);
	if (!mk_run(MK_GIVE_CONSUMER, values, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("inbox consumer \"%s\" was given to another role by "
						"another transaction",
						consumer),
				 errhint("Run the transaction again.")));
}

/*
 * The caller, to go back to after statements have run as the owner of the
 * tables.
 */
typedef struct MkAsOwner
{
	Oid user;
	int context;
	int nest_level;
} MkAsOwner;

/*
 * Becomes the owner of the tables, with a safe search_path, and connects to
 * SPI.
 */
static void
mk_inbox_begin(MkAsOwner *as)
{
	Relation rel = table_open(mk_relation_oid(MK_REL_INBOX), AccessShareLock);

	as->nest_level = NewGUCNestLevel();
	GetUserIdAndSecContext(&as->user, &as->context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   as->context | SECURITY_LOCAL_USERID_CHANGE);
	table_close(rel, AccessShareLock);
	mk_guc_restrict_search_path();
	SPI_connect();
}

static void
mk_inbox_end(const MkAsOwner *as)
{
	SPI_finish();
	AtEOXact_GUC(false, as->nest_level);
	SetUserIdAndSecContext(as->user, as->context);
}

bool
mk_inbox_accept(const char *consumer, const char *event_id,
				struct varlena *payload)
{
	MkAsOwner as;
	bool first;

	mk_inbox_begin(&as);
	first = mk_inbox_accept_as_owner(consumer, event_id, payload, as.user);
	mk_inbox_end(&as);
	return first;
}

void
mk_inbox_set_owner(const char *consumer, const char *owner)
{
	MkAsOwner as;

	mk_inbox_begin(&as);
	mk_inbox_set_owner_as_owner(consumer, owner, as.user);
	mk_inbox_end(&as);
}

List *
mk_inbox_look(List *missing)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_INBOX_CONSUMER, MK_REL_INBOX_CONSUMER_PKEY,
				  NULL, 0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		missing = mk_role_look(missing,
							   NameStr(*DatumGetName(mk_rows_column(
								   &rows, tuple, Anum_consumer_owner))),
							   "inbox consumer",
							   TextDatumGetCString(mk_rows_column(
								   &rows, tuple, Anum_consumer_consumer)),
							   false);
	mk_rows_end(&rows);
	return missing;
}

/* ---------------------------------------------------------------------------
 * Forgetting
 */

/* At most so many rows are removed in one step. */
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
		if (mk_rows_try_delete(&rows, tuple))
			removed++;
	}
	mk_rows_end(&rows);
	return removed == MK_CLEAN_ROWS;
}
