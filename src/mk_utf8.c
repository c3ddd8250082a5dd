/*
 * mk_utf8.c
 *		Text of the database as bytes of a record, which are UTF-8, and back.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "mk_compat.h"
#include "mk_utf8.h"

struct varlena *
mk_utf8_from_text(struct varlena *text)
{
	char *data;
	char *utf8;

	/* text and bytea are of one shape */
	if (GetDatabaseEncoding() == PG_UTF8)
		return text;
	data = VARDATA_ANY(text);
	utf8 = pg_server_to_any(data, VARSIZE_ANY_EXHDR(text), PG_UTF8);
	return utf8 == data ? text : cstring_to_text(utf8);
}

struct varlena *
mk_utf8_to_text(struct varlena *bytes)
{
	char *data = VARDATA_ANY(bytes);
	int length = VARSIZE_ANY_EXHDR(bytes);
	int encoding = GetDatabaseEncoding();
	Oid proc;
	text *result;
	int converted;
	Size room;

	if (!pg_verify_mbstr(PG_UTF8, data, length, true))
		return NULL;
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || length == 0)
		return bytes;

	proc = FindDefaultConversionProc(PG_UTF8, encoding);
	if (!OidIsValid(proc))
		return NULL;
	room = (Size) length * MAX_CONVERSION_GROWTH + 1;
	result = palloc_extended(VARHDRSZ + room, MCXT_ALLOC_HUGE);
	converted = pg_do_encoding_conversion_buf(
		proc, PG_UTF8, encoding, (unsigned char *) data, length,
		(unsigned char *) VARDATA(result), (int) Min(room, PG_INT32_MAX), true);
	if (converted != length)
		return NULL;
	SET_VARSIZE(result, VARHDRSZ + strlen(VARDATA(result)));
	return result;
}
