/*
 * mk_record.c
 *		A record, as it is sent and stored.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "utils/memutils.h"

#include "mk_record.h"

/* Builds the descriptor once; "made" is set when it is complete. */
TupleDesc
mk_record_desc(void)
{
	static TupleDesc made = NULL;

	if (made == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		TupleDesc desc = CreateTemplateTupleDesc(Natts_record);

		TupleDescInitEntry(desc, Anum_record_offset, "offset", INT8OID, -1, 0);
		TupleDescInitEntry(desc, Anum_record_ts, "ts", TIMESTAMPTZOID, -1, 0);
		TupleDescInitEntry(desc, Anum_record_partition, "partition", INT4OID,
						   -1, 0);
		TupleDescInitEntry(desc, Anum_record_key, "key", BYTEAOID, -1, 0);
		TupleDescInitEntry(desc, Anum_record_value, "value", BYTEAOID, -1, 0);
		TupleDescInitEntry(desc, Anum_record_headers, "headers", JSONBOID, -1,
						   0);
		MemoryContextSwitchTo(old);
		made = desc;
	}
	return made;
}
