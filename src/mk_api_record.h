/*
 * mk_api_record.h
 *		Records as rows of a result.
 */
#ifndef MK_API_RECORD_H
#define MK_API_RECORD_H

#include "mk_scan.h"

/* How keys and values are returned */
typedef enum MkForm
{
	MK_FORM_BYTEA,
	MK_FORM_TEXT,
	MK_FORM_JSON
} MkForm;

/* The first columns of a record's row, after the topic and the partition */
#define MK_API_RECORD_COLUMNS 5

/*
 * Sets these columns: offset, time, key, value, headers.  Returns NULL, or, if the
 * key or the value cannot be decoded, a sentence that says why.
 */
extern const char *mk_api_record_columns(const MkLogRecord *record, MkForm form,
										 Datum *values, bool *nulls);

#endif /* MK_API_RECORD_H */
