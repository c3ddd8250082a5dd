/*
 * mk_contract.c
 *		What the records of a topic must be: NOT NULL and CHECK of its table, and
 *		its option "value_format".
 *
 * Rows are written without the executor, which would check constraints, and
 * other code of the server relies on them: compiled code does not test whether
 * a NOT NULL column is null.  So a record is checked when it is sent; and
 * again when its transaction commits, before the commit takes any lock, if the
 * contract has changed by then (mk_send.c).  When a segment is locked for
 * writing, the contract must still be the one that was checked: from then on
 * it cannot change, since a change takes an exclusive lock on all segments.
 *
 * The contract is read from the catalogs, not from the relcache entry of the
 * topic's table: building that entry may need a lock that a commit must not
 * wait for.  It is read again whenever the topic is, and gets a new version
 * number if it differs.
 *
 * CHECKs run as the owner of the topic.  They are compiled once in a
 * transaction, so that a replaced function takes effect from the next
 * transaction on, and nothing outlives an error.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_constraint.h"
#include "executor/executor.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_array.h"
#include "mk_compat.h"
#include "mk_contract.h"
#include "mk_json.h"
#include "mk_owner.h"
#include "mk_utf8.h"

/* The columns that may be null. */
#define MK_FIRST_NULLABLE Anum_record_key

/* The contract as the catalogs have it. */
typedef struct MkTerms
{
	Oid owner; /* runs the CHECKs */
	bool not_null[Natts_record];
	MkValueFormat value_format;
	int nchecks;
	char **names;
	char **expressions; /* as in pg_constraint.conbin */
} MkTerms;

/* The terms of a topic, as last read. */
typedef struct MkKnownTerms
{
	Oid relid; /* hash key: the topic's table */
	uint64 load_count; /* of the topic, see MkTopic */
	uint64 version;
	MemoryContext context; /* NULL if nothing has been read */
	MkTerms *terms;
} MkKnownTerms;

/* A CHECK of the topic, ready to run. */
typedef struct MkTopicCheck
{
	const char *name;
	const char *failure; /* the message if it cannot be evaluated */
	bool needs_row; /* it uses the offset, the time or the table of the row */
	ExprState *state;
} MkTopicCheck;

struct MkContract
{
	uint64 version;
	const MkTopic *topic;
	MemoryContext context;
	MkTerms *terms;
	MkTopicCheck *checks;
	bool needs_rows; /* one of the checks needs the row */
	bool failed; /* a check raised an error */
	ExprContext *econtext;
	TupleTableSlot *slot;
};

static HTAB *mk_known_terms = NULL;
static uint64 mk_last_version = 0;

void
mk_contract_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(MkKnownTerms);
	ctl.hcxt = TopMemoryContext;
	mk_known_terms = hash_create("minikafka contracts", 16, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* ---------------------------------------------------------------------------
 * Reading
 */

/* Reads the enforced CHECKs of the topic's table. */
static void
mk_terms_read_checks(MkTerms *terms, Oid relid)
{
	Relation rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, ConstraintRelidTypidNameIndexId, true, NULL,
							  1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		Datum expression;
		bool isnull;

		if (form->contype != CONSTRAINT_CHECK ||
			!mk_constraint_is_enforced(form))
			continue;
		expression = heap_getattr(tuple, Anum_pg_constraint_conbin,
								  RelationGetDescr(rel), &isnull);
		if (isnull)
			elog(ERROR, "null conbin for constraint %u", form->oid);
		terms->names = mk_array_grow(CurrentMemoryContext, terms->names,
									 terms->nchecks, sizeof(char *));
		terms->expressions =
			mk_array_grow(CurrentMemoryContext, terms->expressions,
						  terms->nchecks, sizeof(char *));
		terms->names[terms->nchecks] = pstrdup(NameStr(form->conname));
		terms->expressions[terms->nchecks++] = TextDatumGetCString(expression);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static MkTerms *
mk_terms_read(const MkTopic *topic)
{
	MkTerms *terms = palloc0(sizeof(MkTerms));
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(topic->relid));

	if (HeapTupleIsValid(tuple))
	{
		terms->owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	for (int i = MK_FIRST_NULLABLE; i <= Natts_record; i++)
		terms->not_null[i - 1] = mk_catalog_is_not_null(topic->relid, i);
	terms->value_format = topic->value_format;
	mk_terms_read_checks(terms, topic->relid);
	return terms;
}

static bool
mk_terms_equal(const MkTerms *a, const MkTerms *b)
{
	if (a->owner != b->owner || a->value_format != b->value_format ||
		a->nchecks != b->nchecks ||
		memcmp(a->not_null, b->not_null, sizeof(a->not_null)) != 0)
		return false;
	for (int i = 0; i < a->nchecks; i++)
		if (strcmp(a->names[i], b->names[i]) != 0 ||
			strcmp(a->expressions[i], b->expressions[i]) != 0)
			return false;
	return true;
}

/* Returns the current terms of a topic, NULL if there are none. */
static MkKnownTerms *
mk_terms_now(const MkTopic *topic)
{
	MkKnownTerms *known;
	MemoryContext context;
	MemoryContext old;
	MkTerms *terms;
	uint64 load_count;
	bool found;

	if (!topic->valid && mk_catalog_topic(topic->relid) == NULL)
		return NULL; /* dropped, which other code reports */
	if (!topic->has_contract)
		return NULL;
	known = hash_search(mk_known_terms, &topic->relid, HASH_ENTER, &found);
	if (!found)
	{
		known->load_count = 0;
		known->context = NULL;
	}
	if (likely(known->load_count == topic->load_count))
		return known;

	/* counts as read if the reading succeeds and the topic does not change */
	load_count = topic->load_count;
	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka terms",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	terms = mk_terms_read(topic);
	MemoryContextSwitchTo(old);
	known->load_count = load_count;
	if (known->context != NULL && mk_terms_equal(terms, known->terms))
	{
		MemoryContextDelete(context);
		return known;
	}
	if (known->context != NULL)
		MemoryContextDelete(known->context);
	MemoryContextSetParent(context, TopMemoryContext);
	known->context = context;
	known->terms = terms;
	known->version = ++mk_last_version;
	return known;
}

/* ---------------------------------------------------------------------------
 * Compiling
 */

/* Whether an expression needs more than mk_contract_check has. */
static bool
mk_contract_needs_row(Node *expression)
{
	Bitmapset *columns = NULL;
	int i = -1;

	pull_varattnos(expression, 1, &columns);
	while ((i = bms_next_member(columns, i)) >= 0)
	{
		AttrNumber column = i + FirstLowInvalidHeapAttributeNumber;

		if (column < Anum_record_partition || column > Natts_record)
			return true;
	}
	return false;
}

/* A CHECK and its expression, for the function that runs as the owner. */
typedef struct MkCompiling
{
	MkTopicCheck *check;
	Node *expression;
} MkCompiling;

/* Runs as the owner, since planning evaluates constant subexpressions. */
static void
mk_contract_compile_check(void *arg)
{
	MkCompiling *c = arg;

	c->check->state =
		ExecInitExpr(expression_planner((Expr *) c->expression), NULL);
}

static MkContract *
mk_contract_compile(const MkTopic *topic, const MkKnownTerms *known)
{
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka contract", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MkContract *c = palloc0(sizeof(MkContract));
	MkTerms *terms = palloc(sizeof(MkTerms));
	MkCompiling *compiling;

	/* a copy, which invalidations do not change */
	*terms = *known->terms;
	c->version = known->version;
	c->topic = topic;
	c->context = context;
	c->terms = terms;
	c->checks = palloc0(terms->nchecks * sizeof(MkTopicCheck));
	c->econtext = CreateStandaloneExprContext();
	c->slot = MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsVirtual);
	compiling = palloc(terms->nchecks * sizeof(MkCompiling));
	for (int i = 0; i < terms->nchecks; i++)
	{
		MkTopicCheck *check = &c->checks[i];

		check->name = pstrdup(terms->names[i]);
		check->failure =
			psprintf("constraint \"%s\" of topic \"%s\" could not be evaluated",
					 check->name, NameStr(topic->name));
		compiling[i].check = check;
		compiling[i].expression = stringToNode(terms->expressions[i]);
		check->needs_row = mk_contract_needs_row(compiling[i].expression);
		c->needs_rows |= check->needs_row;
	}
	terms->names = NULL;
	terms->expressions = NULL;
	for (int i = 0; i < terms->nchecks; i++)
		mk_owner_call(terms->owner, mk_contract_compile_check, &compiling[i],
					  c->checks[i].failure);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopTransactionContext);
	return c;
}

void
mk_contract_get(MkTopic *topic, MkContract **contract)
{
	MkContract *before = *contract;
	const MkKnownTerms *known = mk_terms_now(topic);

	if (before != NULL && known != NULL && before->version == known->version &&
		!before->failed)
		return;
	*contract = NULL;
	if (before != NULL)
		MemoryContextDelete(before->context);
	if (known != NULL)
		*contract = mk_contract_compile(topic, known);
}

uint64
mk_contract_version(const MkContract *contract)
{
	return contract == NULL ? 0 : contract->version;
}

/* ---------------------------------------------------------------------------
 * Checking records
 */

/* Reports which table an error is about, as core does for constraints. */
static int
mk_errtopic(const MkTopic *topic, int field, const char *name)
{
	err_generic_string(PG_DIAG_SCHEMA_NAME, "minikafka_topics");
	err_generic_string(PG_DIAG_TABLE_NAME, NameStr(topic->name));
	err_generic_string(field, name);
	return 0; /* the value does not matter */
}

/* Raises 23502 if the column is NULL and must not be. */
static void
mk_contract_check_null(const MkContract *c, AttrNumber column, bool isnull)
{
	const char *name;

	if (likely(!isnull || !c->terms->not_null[column - 1]))
		return;
	name = NameStr(TupleDescAttr(mk_record_desc(), column - 1)->attname);
	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("null value in column \"%s\" of topic \"%s\" violates "
					"not-null constraint",
					name, NameStr(c->topic->name)),
			 errhint("Give each record %s.",
					 column == Anum_record_headers   ? "headers"
						 : column == Anum_record_key ? "a key"
													 : "a value"),
			 mk_errtopic(c->topic, PG_DIAG_COLUMN_NAME, name)));
}

/* Raises 22021 or 22P02 if the value is not as "value_format" says. */
static void
mk_contract_check_format(MkContract *c, const MkRecord *record)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(record->value);
	bool is_json = c->terms->value_format == MK_VALUE_JSON;
	const char *why = NULL;
	MemoryContext old;

	if (record->value_isnull || c->terms->value_format == MK_VALUE_BYTES)
		return;
	ResetExprContext(c->econtext);
	old = MemoryContextSwitchTo(c->econtext->ecxt_per_tuple_memory);
	if (is_json)
		(void) mk_json_decode(value, &why);
	else if (mk_utf8_to_text(value) == NULL)
		why = mk_utf8_problem();
	MemoryContextSwitchTo(old);
	if (why != NULL)
		ereport(ERROR,
				(errcode(is_json ? ERRCODE_INVALID_TEXT_REPRESENTATION
								 : ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 is_json ? errmsg("value for topic \"%s\" is not valid JSON",
								  NameStr(c->topic->name))
						 : errmsg("value for topic \"%s\" is not valid text",
								  NameStr(c->topic->name)),
				 errdetail_internal("%s", why),
				 errhint("The topic's \"value_format\" is \"%s\"; its owner "
						 "can change it with minikafka.set_topic_option().",
						 is_json ? "json" : "text"),
				 mk_errtopic(c->topic, PG_DIAG_COLUMN_NAME, "value")));
}

/* A CHECK and its result, for the function that runs as the owner. */
typedef struct MkEvaluation
{
	const MkTopicCheck *check;
	ExprContext *econtext;
	bool holds;
} MkEvaluation;

static void
mk_contract_evaluate(void *arg)
{
	MkEvaluation *e = arg;

	e->holds = ExecCheck(e->check->state, e->econtext);
	ReScanExprContext(e->econtext);
}

/* Evaluates the CHECKs that need the row, or those that do not. */
static void
mk_contract_check_slot(MkContract *c, TupleTableSlot *slot, bool needs_row)
{
	c->econtext->ecxt_scantuple = slot;
	for (int i = 0; i < c->terms->nchecks; i++)
	{
		MkEvaluation e = {.check = &c->checks[i], .econtext = c->econtext};

		if (e.check->needs_row != needs_row)
			continue;
		c->failed = true;
		mk_owner_call(c->terms->owner, mk_contract_evaluate, &e,
					  e.check->failure);
		c->failed = false;
		if (!e.holds)
			ereport(
				ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("record for topic \"%s\" violates check constraint "
						"\"%s\"",
						NameStr(c->topic->name), e.check->name),
				 errhint("Table minikafka_topics.%s has the constraint; its "
						 "owner can change it with ALTER TABLE.",
						 quote_identifier(NameStr(c->topic->name))),
				 mk_errtopic(c->topic, PG_DIAG_CONSTRAINT_NAME,
							 e.check->name)));
	}
}

void
mk_contract_check(MkContract *c, int32 partition, const MkRecord *record)
{
	TupleTableSlot *slot = c->slot;

	mk_contract_check_null(c, Anum_record_key, record->key_isnull);
	mk_contract_check_null(c, Anum_record_value, record->value_isnull);
	mk_contract_check_null(c, Anum_record_headers, record->headers_isnull);
	mk_contract_check_format(c, record);
	if (c->terms->nchecks == 0)
		return;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, 0, Natts_record * sizeof(bool));
	slot->tts_isnull[Anum_record_offset - 1] = true;
	slot->tts_isnull[Anum_record_ts - 1] = true;
	slot->tts_values[Anum_record_partition - 1] = Int32GetDatum(partition);
	slot->tts_values[Anum_record_key - 1] = record->key;
	slot->tts_isnull[Anum_record_key - 1] = record->key_isnull;
	slot->tts_values[Anum_record_value - 1] = record->value;
	slot->tts_isnull[Anum_record_value - 1] = record->value_isnull;
	slot->tts_values[Anum_record_headers - 1] = record->headers;
	slot->tts_isnull[Anum_record_headers - 1] = record->headers_isnull;
	ExecStoreVirtualTuple(slot);
	mk_contract_check_slot(c, slot, false);
	ExecClearTuple(slot);
}

/* Of all CHECKs, only these run under the sequencing lock. */
void
mk_contract_check_rows(MkContract *c, Relation segment, TupleTableSlot **slots,
					   int n)
{
	if (!c->needs_rows)
		return;
	for (int i = 0; i < n; i++)
	{
		slots[i]->tts_tableOid = RelationGetRelid(segment);
		mk_contract_check_slot(c, slots[i], true);
	}
}

/* ---------------------------------------------------------------------------
 * Segments
 */

/* Whether there is a CHECK of this name. */
static bool
mk_terms_have(const MkTerms *terms, const char *name)
{
	for (int i = 0; terms != NULL && i < terms->nchecks; i++)
		if (strcmp(terms->names[i], name) == 0)
			return true;
	return false;
}

/*
 * See mk_contract_segment_problem.  A CHECK that a segment inherits from the
 * topic's table has the same name and the same expression: inheritance ensures
 * that.
 */
static const char *
mk_terms_segment_problem(const MkTerms *terms, Relation segment)
{
	TupleDesc desc = RelationGetDescr(segment);
	const TupleConstr *constr = desc->constr;

	for (int i = 0; i < Min(desc->natts, Natts_record); i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attgenerated != '\0')
			return psprintf("Its column \"%s\" is generated.",
							NameStr(att->attname));
		if (i + 1 >= MK_FIRST_NULLABLE && att->attnotnull &&
			(terms == NULL || !terms->not_null[i]))
			return psprintf("Its column \"%s\" is NOT NULL, and the topic's is "
							"not.",
							NameStr(att->attname));
	}
	for (int i = 0; constr != NULL && i < constr->num_check; i++)
		if (mk_check_is_enforced(&constr->check[i]) &&
			!mk_terms_have(terms, constr->check[i].ccname))
			return psprintf("It has constraint \"%s\", which the topic's table "
							"does not have.",
							constr->check[i].ccname);
	return NULL;
}

const char *
mk_contract_segment_problem(const MkTopic *topic, Relation segment)
{
	const MkKnownTerms *known = mk_terms_now(topic);

	return mk_terms_segment_problem(known == NULL ? NULL : known->terms,
									segment);
}

void
mk_contract_check_segment(const MkContract *contract, const MkTopic *topic,
						  Relation segment)
{
	const MkKnownTerms *known = mk_terms_now(topic);
	const char *problem;

	if (known != NULL && known->version != mk_contract_version(contract))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the constraints of topic \"%s\" were changed while "
						"the transaction was committing",
						NameStr(topic->name)),
				 errhint("Run the transaction again.")));
	problem =
		mk_terms_segment_problem(known == NULL ? NULL : known->terms, segment);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of topic \"%s\" was altered",
						RelationGetRelationName(segment), NameStr(topic->name)),
				 errdetail_internal("%s", problem),
				 errhint("Undo the change with ALTER TABLE; "
						 "minikafka.check_topic() shows what else is wrong.")));
}
