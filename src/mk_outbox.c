/*
 * mk_outbox.c
 *		The outbox trigger: rows of a table as records.
 *
 * The trigger's arguments are looked up in the table once for each statement.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "mk_guc.h"
#include "mk_headers.h"
#include "mk_outbox.h"
#include "mk_send.h"
#include "mk_topic.h"
#include "mk_utf8.h"

/* A column of the key. */
typedef struct MkKeyColumn
{
	AttrNumber attno;
	FmgrInfo output;
} MkKeyColumn;

typedef enum MkOp
{
	MK_OP_INSERT,
	MK_OP_UPDATE,
	MK_OP_DELETE,
	MK_NUM_OPS
} MkOp;

static const char *const mk_op_names[MK_NUM_OPS] = {
	[MK_OP_INSERT] = "INSERT",
	[MK_OP_UPDATE] = "UPDATE",
	[MK_OP_DELETE] = "DELETE",
};

/* What the trigger's arguments mean for its table. */
typedef struct MkOutbox
{
	const char *topic;
	bool key_varies; /* the key's text depends on settings */
	int nkeys;
	MkKeyColumn *keys;
	int nkept;
	AttrNumber *kept; /* the columns that are sent; NULL: all */
	TupleDesc kept_desc; /* a row of those */
	Datum headers[MK_NUM_OPS]; /* jsonb */
} MkOutbox;

/* ---------------------------------------------------------------------------
 * The arguments
 */

/*
 * The table that the trigger was created on.  A trigger that fires on a
 * partition is a clone of the one on the partitioned table.
 */
static Oid
mk_trigger_table(const TriggerData *trigger)
{
	Oid oid = trigger->tg_trigger->tgoid;
	Oid relid = RelationGetRelid(trigger->tg_relation);
	Relation rel;

	if (!trigger->tg_trigger->tgisclone)
		return relid;
	rel = table_open(TriggerRelationId, AccessShareLock);
	while (OidIsValid(oid))
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple tuple;

		ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(oid));
		scan = systable_beginscan(rel, TriggerOidIndexId, true, NULL, 1, &key);
		tuple = systable_getnext(scan);
		oid = InvalidOid;
		if (tuple != NULL)
		{
			relid = ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
			oid = ((Form_pg_trigger) GETSTRUCT(tuple))->tgparentid;
		}
		systable_endscan(scan);
	}
	table_close(rel, AccessShareLock);
	return relid;
}

/* The headers of all records of an operation: its name, table and schema. */
static Datum
mk_outbox_headers(MkOp op, Oid relid)
{
	StringInfoData buf;
	Datum jsonb;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"op\": \"%s\", \"table\": ", mk_op_names[op]);
	escape_json(&buf, get_rel_name(relid));
	appendStringInfoString(&buf, ", \"schema\": ");
	escape_json(&buf, get_namespace_name(get_rel_namespace(relid)));
	appendStringInfoChar(&buf, '}');
	jsonb = DirectFunctionCall1(jsonb_in, CStringGetDatum(buf.data));
	return JsonbPGetDatum(mk_headers_normalize(DatumGetJsonbP(jsonb)));
}

/* The number of a column that an argument names; 42703 if there is none. */
static AttrNumber
mk_outbox_column(const TriggerData *trigger, const char *name)
{
	AttrNumber attno =
		SPI_fnumber(RelationGetDescr(trigger->tg_relation), name);

	if (attno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist", name,
						RelationGetRelationName(trigger->tg_relation)),
				 errdetail("Trigger \"%s\" names it for "
						   "minikafka.outbox().",
						   trigger->tg_trigger->tgname)));
	return attno;
}

/* Whether the text of a type does not depend on settings. */
static bool
mk_text_is_fixed(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

/*
 * Whether the column is a virtual generated one, which there is from
 * PostgreSQL 18 on.  It has no value when triggers fire.
 */
static bool
mk_is_virtual(Form_pg_attribute att)
{
	return att->attgenerated == 'v';
}

/* Adds a column to the key. */
static void
mk_outbox_add_key(MkOutbox *o, const TriggerData *trigger, const char *name)
{
	AttrNumber attno = mk_outbox_column(trigger, name);
	Form_pg_attribute att =
		TupleDescAttr(RelationGetDescr(trigger->tg_relation), attno - 1);
	Oid output;
	bool is_varlena;

	if (mk_is_virtual(att))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of table \"%s\" cannot be a key", name,
						RelationGetRelationName(trigger->tg_relation)),
				 errdetail("It is a virtual generated column, which is not "
						   "computed for triggers.")));
	o->keys = o->nkeys == 0
		? palloc(sizeof(MkKeyColumn))
		: repalloc(o->keys, (o->nkeys + 1) * sizeof(MkKeyColumn));
	o->keys[o->nkeys].attno = attno;
	getTypeOutputInfo(att->atttypid, &output, &is_varlena);
	o->key_varies |= !mk_text_is_fixed(att->atttypid);
	fmgr_info(output, &o->keys[o->nkeys].output);
	o->nkeys++;
}

/* Sets which columns are sent, and their row type. */
static void
mk_outbox_keep(MkOutbox *o, TupleDesc desc, const bool *left_out)
{
	o->kept = palloc(desc->natts * sizeof(AttrNumber));
	for (int i = 0; i < desc->natts; i++)
		if (!left_out[i] && !TupleDescAttr(desc, i)->attisdropped)
			o->kept[o->nkept++] = i + 1;
	o->kept_desc = CreateTemplateTupleDesc(o->nkept);
	for (int i = 0; i < o->nkept; i++)
		TupleDescCopyEntry(o->kept_desc, i + 1, desc, o->kept[i]);
	BlessTupleDesc(o->kept_desc);
}

/* Looks the arguments up; all memory is in the current context. */
static MkOutbox *
mk_outbox_prepare(const TriggerData *trigger)
{
	MkOutbox *o = palloc0(sizeof(MkOutbox));
	const Trigger *t = trigger->tg_trigger;
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool *left_out = palloc0(desc->natts * sizeof(bool));
	bool any_left_out = false;
	Oid table = mk_trigger_table(trigger);

	for (int i = 0; i < desc->natts; i++)
		any_left_out |= left_out[i] = mk_is_virtual(TupleDescAttr(desc, i));
	for (int i = 1; i < t->tgnargs; i++)
	{
		if (t->tgargs[i][0] == '-')
		{
			left_out[mk_outbox_column(trigger, t->tgargs[i] + 1) - 1] = true;
			any_left_out = true;
		}
		else
			mk_outbox_add_key(o, trigger, t->tgargs[i]);
	}
	if (o->nkeys == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("trigger \"%s\" on table \"%s\" names no topic and key "
					"column",
					t->tgname, RelationGetRelationName(trigger->tg_relation)),
			 errhint("Use EXECUTE FUNCTION minikafka.outbox('topic', "
					 "'column').")));
	o->topic = t->tgargs[0];
	if (any_left_out)
		mk_outbox_keep(o, desc, left_out);
	for (int op = 0; op < MK_NUM_OPS; op++)
		o->headers[op] = mk_outbox_headers(op, table);
	return o;
}

/* ---------------------------------------------------------------------------
 * Rows
 */

/* The key columns' text, joined by colons. */
static struct varlena *
mk_outbox_key(MkOutbox *o, const TriggerData *trigger, HeapTuple row)
{
	StringInfoData buf;
	int nest_level = 0;

	/* a row has the same key in every session */
	if (o->key_varies)
	{
		nest_level = NewGUCNestLevel();
		mk_guc_set_text_format();
	}
	initStringInfo(&buf);
	for (int i = 0; i < o->nkeys; i++)
	{
		bool isnull;
		Datum value =
			heap_getattr(row, o->keys[i].attno,
						 RelationGetDescr(trigger->tg_relation), &isnull);

		if (isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("null in key column \"%s\" of table \"%s\"",
							get_attname(RelationGetRelid(trigger->tg_relation),
										o->keys[i].attno, false),
							RelationGetRelationName(trigger->tg_relation)),
					 errdetail("Trigger \"%s\" sends the row under this key.",
							   trigger->tg_trigger->tgname)));
		if (i > 0)
			appendStringInfoChar(&buf, ':');
		appendStringInfoString(&buf,
							   OutputFunctionCall(&o->keys[i].output, value));
	}
	if (o->key_varies)
		AtEOXact_GUC(false, nest_level);
	return mk_utf8_from_text(cstring_to_text_with_len(buf.data, buf.len));
}

static bool
mk_same_key(const struct varlena *a, const struct varlena *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* The row as JSON. */
static Datum
mk_outbox_value(MkOutbox *o, const TriggerData *trigger, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	Datum composite;

	if (o->kept == NULL)
		composite = heap_copy_tuple_as_datum(row, desc);
	else
	{
		Datum *values = palloc(o->nkept * sizeof(Datum));
		bool *nulls = palloc(o->nkept * sizeof(bool));

		for (int i = 0; i < o->nkept; i++)
			values[i] = heap_getattr(row, o->kept[i], desc, &nulls[i]);
		composite =
			HeapTupleGetDatum(heap_form_tuple(o->kept_desc, values, nulls));
	}
	return PointerGetDatum(mk_utf8_from_text(
		DatumGetTextPP(DirectFunctionCall1(row_to_json, composite))));
}

/* Sends a row, or the tombstone of its key. */
static void
mk_outbox_record(MkOutbox *o, const TriggerData *trigger, MkOp op,
				 struct varlena *key, HeapTuple row)
{
	MkTopic *topic = mk_topic_get(o->topic, strlen(o->topic), ACL_INSERT);
	MkRecord record = {.key = PointerGetDatum(key),
					   .value_isnull = row == NULL,
					   .headers = o->headers[op]};

	if (row != NULL)
		record.value = mk_outbox_value(o, trigger, row);
	mk_topic_check_record(topic, &record);
	mk_send_record(topic, mk_topic_choose_partition(topic, &record), &record,
				   NULL, 0);
}

void
mk_outbox_send(TriggerData *trigger, FmgrInfo *flinfo)
{
	MkOutbox *o = flinfo->fn_extra;
	TriggerEvent event = trigger->tg_event;
	HeapTuple row = trigger->tg_trigtuple; /* of an UPDATE, the old one */
	struct varlena *key;
	struct varlena *new_key;

	if (!TRIGGER_FIRED_AFTER(event) || !TRIGGER_FIRED_FOR_ROW(event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired AFTER, FOR EACH ROW",
						"minikafka.outbox")));
	if (o == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(flinfo->fn_mcxt);

		flinfo->fn_extra = o = mk_outbox_prepare(trigger);
		MemoryContextSwitchTo(old);
	}

	key = mk_outbox_key(o, trigger, row);
	if (TRIGGER_FIRED_BY_INSERT(event))
		mk_outbox_record(o, trigger, MK_OP_INSERT, key, row);
	else if (TRIGGER_FIRED_BY_DELETE(event))
		mk_outbox_record(o, trigger, MK_OP_DELETE, key, NULL);
	else
	{
		new_key = mk_outbox_key(o, trigger, trigger->tg_newtuple);
		if (!mk_same_key(key, new_key))
			mk_outbox_record(o, trigger, MK_OP_UPDATE, key, NULL);
		mk_outbox_record(o, trigger, MK_OP_UPDATE, new_key,
						 trigger->tg_newtuple);
	}
}
