/*
 * mk_record.h
 *		A record, as it is sent and stored.
 */
#ifndef MK_RECORD_H
#define MK_RECORD_H

#include "access/tupdesc.h"

/* The columns of a segment, and of all tables above it */
enum
{
	Anum_record_offset = 1,
	Anum_record_ts,
	Anum_record_partition,
	Anum_record_key,
	Anum_record_value,
	Anum_record_headers,
	Natts_record = Anum_record_headers
};

typedef struct MkRecord
{
	Datum key; /* bytea */
	Datum value; /* bytea */
	Datum headers; /* jsonb */
	bool key_isnull;
	bool value_isnull;
	bool headers_isnull;
} MkRecord;

/*
 * A descriptor of a segment's columns, which is not reference-counted and
 * lives as long as the backend.
 */
extern TupleDesc mk_record_desc(void);

#endif /* MK_RECORD_H */
