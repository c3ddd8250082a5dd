/*
 * mk_json.c
 *		Bytes of a record as jsonb.
 *
 * Only jsonb's input function knows what jsonb can hold.  It refuses text that
 * is not JSON, and JSON with the character \u0000, with numbers or strings
 * that are too large, or that nests too deeply.  So this file calls that
 * function and catches its error.  It needs no subtransaction for that, since
 * the function holds nothing but memory when it fails.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "mk_compat.h"
#include "mk_json.h"
#include "mk_utf8.h"

/* Whether an error of jsonb_in means that it refuses the text. */
static bool
mk_is_no_jsonb(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_DATA_EXCEPTION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * Why jsonb_in has refused the text; its own message may show some of the
 * text.
 */
static const char *
mk_json_problem(char *json, int sqlstate)
{
	JsonLexContext *lex;
	JsonSemAction nothing = nullSemAction;

	if (sqlstate == ERRCODE_STATEMENT_TOO_COMPLEX)
		return "It nests too deeply.";
	if (ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_PROGRAM_LIMIT_EXCEEDED)
		return "It has more or longer parts than jsonb can hold.";

	if (sqlstate == ERRCODE_UNTRANSLATABLE_CHARACTER)
		return "It has a Unicode escape that jsonb cannot hold.";

	lex = mk_json_lex_context(json, strlen(json), GetDatabaseEncoding());
	if (pg_parse_json(lex, &nothing) == JSON_SUCCESS)
		return "It has a number that jsonb cannot hold.";
	if (lex->token_start == NULL)
		return "It is not JSON: it ends too early.";
	return psprintf("It is not JSON from byte %d on.",
					(int) (lex->token_start - json) + 1);
}

Jsonb *
mk_json_decode(struct varlena *bytes, const char **why)
{
	MemoryContext context = CurrentMemoryContext;
	struct varlena *text = mk_utf8_to_text(bytes);
	volatile Datum jsonb = (Datum) 0;
	volatile int sqlstate = 0;
	char *json;

	if (text == NULL)
	{
		if (why != NULL)
			*why = mk_utf8_problem();
		return NULL;
	}
	json = text_to_cstring(text);
	PG_TRY();
	{
		jsonb = DirectFunctionCall1(jsonb_in, CStringGetDatum(json));
	}
	PG_CATCH();
	{
		sqlstate = geterrcode();
		if (!mk_is_no_jsonb(sqlstate))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	if (sqlstate == 0)
		return DatumGetJsonbP(jsonb);
	if (why != NULL)
		*why = mk_json_problem(json, sqlstate);
	return NULL;
}
