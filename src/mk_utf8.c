/*
 * mk_utf8.c
 *		Text of the database as bytes of a record, which are UTF-8, and back.
 *
 * The errors of PostgreSQL's own conversions show the bytes that they cannot
 * convert, so this file raises none of them.
 */
#include "postgres.h"

#include "catalog/pg_conversion.h"
#include "catalog/pg_namespace_d.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "mk_compat.h"
#include "mk_utf8.h"

/*
 * Converts from one encoding to another; NULL if that is impossible.  Uses the
 * conversion in pg_catalog: the default one would depend on the search_path.
 */
static struct varlena *
mk_utf8_convert(struct varlena *source, int from, int to)
{
	Oid proc = FindDefaultConversion(PG_CATALOG_NAMESPACE, from, to);
	int length = VARSIZE_ANY_EXHDR(source);
	struct varlena *result;
	Size room;

	if (!OidIsValid(proc))
		return NULL;
	room = (Size) length * MAX_CONVERSION_GROWTH + 1;
	result = palloc_extended(VARHDRSZ + room, MCXT_ALLOC_HUGE);
	if (pg_do_encoding_conversion_buf(
			proc, from, to, (unsigned char *) VARDATA_ANY(source), length,
			(unsigned char *) VARDATA(result), (int) Min(room, PG_INT32_MAX),
			true) != length)
		return NULL;
	SET_VARSIZE(result, VARHDRSZ + strlen(VARDATA(result)));
	return result;
}

struct varlena *
mk_utf8_from_text(struct varlena *text)
{
	int encoding = GetDatabaseEncoding();
	int length = VARSIZE_ANY_EXHDR(text);
	struct varlena *result;

	/* text and bytea have the same layout */
	if (encoding == PG_UTF8 || length == 0)
		return text;
	if (encoding != PG_SQL_ASCII)
		result = mk_utf8_convert(text, encoding, PG_UTF8);
	else
		result = pg_verify_mbstr(PG_UTF8, VARDATA_ANY(text), length, true)
			? text
			: NULL;
	if (result == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("text of encoding \"%s\" cannot be stored as UTF-8",
						GetDatabaseEncodingName()),
				 errhint("Send bytes that are no text as bytea.")));
	return result;
}

struct varlena *
mk_utf8_to_text(struct varlena *bytes)
{
	int encoding = GetDatabaseEncoding();
	int length = VARSIZE_ANY_EXHDR(bytes);

	if (!pg_verify_mbstr(PG_UTF8, VARDATA_ANY(bytes), length, true))
		return NULL;
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || length == 0)
		return bytes;
	return mk_utf8_convert(bytes, PG_UTF8, encoding);
}

const char *
mk_utf8_problem(void)
{
	return GetDatabaseEncoding() == PG_UTF8
		? "It is not valid UTF-8."
		: psprintf(
			  "It is not valid UTF-8, or encoding %s lacks a character of it.",
			  GetDatabaseEncodingName());
}
