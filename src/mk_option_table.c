/*
 * mk_option_table.c
 *		Options by a table, which has an entry for each.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_option_table.h"

/* ---------------------------------------------------------------------------
 * Values
 */

void
mk_option_check_number(const char *option, int64 value, int64 least, int64 most)
{
	if (value < least || value > most)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg(INT64_FORMAT " is outside the valid range for \"%s\"",
					value, option),
			 errhint("It must be from " INT64_FORMAT " to " INT64_FORMAT ".",
					 least, most)));
}

void
mk_option_check_not_negative(const char *option, Datum value)
{
	if (mk_clock_interval(DatumGetIntervalP(value)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be negative", option)));
}

/* How many words the option has. */
static int
mk_option_nwords(const MkOption *o)
{
	int n = 0;

	while (n < MK_MAX_WORDS && o->words[n] != NULL)
		n++;
	return n;
}

/* The place of a word, -1 if it is not one of the option's. */
static int
mk_option_word(const MkOption *o, const char *word)
{
	int n = mk_option_nwords(o);

	for (int i = 0; i < n; i++)
		if (strcmp(o->words[i], word) == 0)
			return i;
	if (o->last_word_too != NULL && strcmp(word, o->last_word_too) == 0)
		return n - 1;
	return -1;
}

/* The valid words, as a sentence. */
static char *
mk_option_words(const MkOption *o)
{
	char *text = psprintf("It must be \"%s\"", o->words[0]);
	int n = mk_option_nwords(o);

	for (int i = 1; i < n; i++)
		text = psprintf("%s%s\"%s\"", text, i + 1 < n ? ", " : " or ",
						o->words[i]);
	return psprintf("%s.", text);
}

/* The word as in the catalog; 22023 if it is not one of the option's. */
static Datum
mk_option_check_word(const MkOption *o, const char *word)
{
	int number = mk_option_word(o, word);

	if (number < 0)
	{
		char *what = pstrdup(o->name);

		for (char *c = what; *c != '\0'; c++)
			if (*c == '_')
				*c = ' ';
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid %s \"%s\"", what, word),
				 errhint("%s", mk_option_words(o))));
	}
	return CStringGetTextDatum(o->words[number]);
}

/* A number from a text; 22023 if it is not a whole number. */
static int64
mk_option_parse_number(const MkOption *o, const char *value)
{
	char *end;
	int64 number;

	errno = 0;
	number = strtoi64(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' ||
		isspace((unsigned char) *value))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", o->name, value),
			 errhint("It must be a whole number.")));
	return number;
}

/* A boolean from a text; 22023 if it is none. */
static bool
mk_option_parse_bool(const MkOption *o, const char *value)
{
	bool result;

	if (!parse_bool(value, &result))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", o->name, value),
			 errhint("It must be \"true\" or \"false\".")));
	return result;
}

/* Converts a text to the option's value, and checks it. */
static Datum
mk_option_value(const MkOption *o, const char *value)
{
	Datum datum = (Datum) 0;
	int64 number;

	switch (o->type)
	{
		case MK_OPTION_INT32:
		case MK_OPTION_INT64:
			number = mk_option_parse_number(o, value);
			mk_option_check_number(o->name, number, o->least, o->most);
			datum = o->type == MK_OPTION_INT32 ? Int32GetDatum((int32) number)
											   : Int64GetDatum(number);
			break;
		case MK_OPTION_INTERVAL:
			datum = DirectFunctionCall3(interval_in, CStringGetDatum(value),
										ObjectIdGetDatum(InvalidOid),
										Int32GetDatum(-1));
			break;
		case MK_OPTION_BOOL:
			datum = BoolGetDatum(mk_option_parse_bool(o, value));
			break;
		case MK_OPTION_WORD:
			datum = mk_option_check_word(o, value);
			break;
		case MK_OPTION_TEXT:
			datum = CStringGetTextDatum(value);
			break;
	}
	if (o->check != NULL)
		o->check(datum);
	return datum;
}

/* Checks an argument; returns the value for the column. */
static Datum
mk_option_check_argument(const MkOption *o, Datum datum)
{
	switch (o->type)
	{
		case MK_OPTION_INT32:
			mk_option_check_number(o->name, DatumGetInt32(datum), o->least,
								   o->most);
			break;
		case MK_OPTION_INT64:
			mk_option_check_number(o->name, DatumGetInt64(datum), o->least,
								   o->most);
			break;
		case MK_OPTION_INTERVAL:
		case MK_OPTION_BOOL:
		case MK_OPTION_TEXT:
			break;
		case MK_OPTION_WORD:
			datum = mk_option_check_word(o, TextDatumGetCString(datum));
			break;
	}
	if (o->check != NULL)
		o->check(datum);
	return datum;
}

/* Whether the option's column may be NULL. */
static bool
mk_option_is_nullable(const MkOption *o)
{
	return o->preset == NULL && o->fixed == NULL;
}

Datum
mk_option_parse_text(const MkOption *o, const char *text, bool *isnull)
{
	if (text == NULL)
		text = o->preset;
	*isnull = text == NULL;
	return *isnull ? (Datum) 0 : mk_option_value(o, text);
}

/* ---------------------------------------------------------------------------
 * All options of a table
 */

void
mk_option_table_arguments(const MkOptionTable *table, FunctionCallInfo fcinfo,
						  Datum *values, bool *nulls)
{
	int last = 0;

	for (int i = 0; i < table->noptions; i++)
	{
		const MkOption *o = &table->options[i];

		last = Max(last, o->argument);
		if (o->argument == 0 && o->column > 0)
			values[o->column - 1] =
				mk_option_parse_text(o, NULL, &nulls[o->column - 1]);
	}
	/* in the order of the arguments, so that errors name the first bad one */
	for (int argument = 1; argument <= last; argument++)
		for (int i = 0; i < table->noptions; i++)
		{
			const MkOption *o = &table->options[i];
			bool isnull;

			if (o->argument != argument)
				continue;
			isnull = PG_ARGISNULL(argument);
			if (isnull && !mk_option_is_nullable(o))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("argument \"%s\" must not be null", o->name)));
			nulls[o->column - 1] = isnull;
			values[o->column - 1] = isnull
				? (Datum) 0
				: mk_option_check_argument(o, PG_GETARG_DATUM(argument));
		}
}

/* The names of the options that can be set, as a sentence. */
static char *
mk_option_names(const MkOptionTable *table)
{
	char *text = pstrdup("Options are ");
	int n = 0;
	int total = 0;

	for (int i = 0; i < table->noptions; i++)
		total += table->options[i].fixed == NULL;
	for (int i = 0; i < table->noptions; i++)
	{
		if (table->options[i].fixed != NULL)
			continue;
		text = psprintf("%s%s\"%s\"", text,
						n == 0              ? ""
							: n < total - 1 ? ", "
											: " and ",
						table->options[i].name);
		n++;
	}
	return psprintf("%s.", text);
}

const MkOption *
mk_option_find(const MkOptionTable *table, const char *name)
{
	for (int i = 0; i < table->noptions; i++)
	{
		const MkOption *o = &table->options[i];

		if (strcmp(o->name, name) != 0)
			continue;
		if (o->fixed != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be set", name),
					 errhint("%s", o->fixed)));
		return o;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized %s \"%s\"", table->kind, name),
			 errhint("%s", mk_option_names(table))));
	pg_unreachable();
}

/* ---------------------------------------------------------------------------
 * Fields
 */

void
mk_option_to_field(const MkOption *o, Datum value, bool isnull, void *object)
{
	char *field = (char *) object + o->field;
	char *word;

	Assert(o->field != MK_NO_FIELD);
	switch (o->type)
	{
		case MK_OPTION_INT32:
			*(int32 *) field = isnull ? (int32) o->unset : DatumGetInt32(value);
			break;
		case MK_OPTION_INT64:
			*(int64 *) field = isnull ? o->unset : DatumGetInt64(value);
			break;
		case MK_OPTION_INTERVAL:
			*(int64 *) field =
				isnull ? o->unset : mk_clock_interval(DatumGetIntervalP(value));
			break;
		case MK_OPTION_BOOL:
			*(bool *) field = isnull ? o->unset != 0 : DatumGetBool(value);
			break;
		case MK_OPTION_WORD:
			*(int *) field = (int) o->unset;
			if (isnull)
				break;
			/* an unknown word counts as the first one */
			word = TextDatumGetCString(value);
			*(int *) field = o->first + Max(mk_option_word(o, word), 0);
			pfree(word);
			break;
		case MK_OPTION_TEXT:
			elog(ERROR, "option \"%s\" has no field", o->name);
			break;
	}
}

Datum
mk_option_from_field(const MkOption *o, const void *object, bool *isnull)
{
	const char *field = (const char *) object + o->field;
	int64 number = 0;

	Assert(o->field != MK_NO_FIELD);
	switch (o->type)
	{
		case MK_OPTION_INT32:
			number = *(const int32 *) field;
			break;
		case MK_OPTION_INT64:
		case MK_OPTION_INTERVAL:
			number = *(const int64 *) field;
			break;
		case MK_OPTION_BOOL:
			number = *(const bool *) field;
			break;
		case MK_OPTION_WORD:
			number = *(const int *) field;
			break;
		case MK_OPTION_TEXT:
			elog(ERROR, "option \"%s\" has no field", o->name);
			break;
	}
	*isnull = mk_option_is_nullable(o) && number == o->unset;
	if (*isnull)
		return (Datum) 0;
	if (o->type == MK_OPTION_INT64)
		return Int64GetDatum(number);
	if (o->type == MK_OPTION_INTERVAL)
		return IntervalPGetDatum(mk_clock_make_interval(number));
	if (o->type == MK_OPTION_BOOL)
		return BoolGetDatum(number != 0);
	if (o->type == MK_OPTION_WORD)
		return CStringGetTextDatum(o->words[number - o->first]);
	return Int32GetDatum((int32) number);
}

void
mk_option_table_read(const MkOptionTable *table, const MkRows *rows,
					 HeapTuple tuple, void *object)
{
	for (int i = 0; i < table->noptions; i++)
	{
		const MkOption *o = &table->options[i];
		Datum value;
		bool isnull;

		if (o->field == MK_NO_FIELD)
			continue;
		value = mk_rows_nullable(rows, tuple, o->column, &isnull);
		mk_option_to_field(o, value, isnull, object);
	}
}

void
mk_option_table_write(const MkOptionTable *table, const void *object,
					  Datum *values, bool *nulls)
{
	for (int i = 0; i < table->noptions; i++)
	{
		const MkOption *o = &table->options[i];

		if (o->field != MK_NO_FIELD)
			values[o->column - 1] =
				mk_option_from_field(o, object, &nulls[o->column - 1]);
	}
}
