/*
 * mk_api_record.c
 *		Records as rows of a result.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_api_record.h"
#include "mk_json.h"
#include "mk_utf8.h"

/*
 * Decodes a key or a value in place.  Returns NULL, or if it cannot be decoded, a
 * sentence that says why.
 */
static const char *
mk_decode(Datum *datum, bool isnull, MkForm form)
{
	struct varlena *bytes;
	const char *why = NULL;

	if (isnull || form == MK_FORM_BYTEA)
		return NULL;
	bytes = PG_DETOAST_DATUM_PACKED(*datum);
	if (form == MK_FORM_JSON)
	{
		*datum = JsonbPGetDatum(mk_json_decode(bytes, &why));
		return why;
	}
	*datum = PointerGetDatum(mk_utf8_to_text(bytes));
	return DatumGetPointer(*datum) == NULL ? mk_utf8_problem() : NULL;
}

/* What reading gives for a record without headers: an empty object. */
static Datum
mk_no_headers(void)
{
	static Datum empty = 0;

	if (empty == 0)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		empty = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
		MemoryContextSwitchTo(old);
	}
	return empty;
}

const char *
mk_api_record_columns(const MkLogRecord *r, MkForm form, Datum *values,
					  bool *nulls)
{
	MkForm key_form = form == MK_FORM_JSON ? MK_FORM_TEXT : form;
	const char *why;

	values[0] = Int64GetDatum(r->offset);
	values[1] = TimestampTzGetDatum(r->ts);
	values[2] = r->record.key;
	nulls[2] = r->record.key_isnull;
	values[3] = r->record.value;
	nulls[3] = r->record.value_isnull;
	values[4] = r->record.headers_isnull ? mk_no_headers() : r->record.headers;
	nulls[0] = nulls[1] = nulls[4] = false;
	why = mk_decode(&values[2], nulls[2], key_form);
	return why != NULL ? why : mk_decode(&values[3], nulls[3], form);
}
