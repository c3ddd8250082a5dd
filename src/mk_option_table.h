/*
 * mk_option_table.h
 *		Options by a table, which has an entry for each: its name, its type, its
 *		valid values, its default, its column, and its field in a struct.
 *
 * mk_option.c has the table of topics, mk_share_settings.c that of share groups.
 * With these the functions here convert a value from an argument or a text, to
 * and from a column, and to and from the field.
 */
#ifndef MK_OPTION_TABLE_H
#define MK_OPTION_TABLE_H

#include "fmgr.h"

#include "mk_rows.h"

typedef enum MkOptionType
{
	MK_OPTION_INT32,
	MK_OPTION_INT64,
	MK_OPTION_INTERVAL,
	MK_OPTION_BOOL,
	MK_OPTION_WORD, /* one of a list of words; the field has its number */
	MK_OPTION_TEXT /* what it means is for the caller: it has no field */
} MkOptionType;

#define MK_MAX_WORDS 4

typedef struct MkOption
{
	const char *name;
	int column; /* in its table, 0: none */
	MkOptionType type;

	/* the number of the argument of the function that creates, 0: none */
	int argument;

	/* the hint if the option cannot be set afterwards; NULL if it can */
	const char *fixed;

	/* bounds of a number; a function that raises other errors and notices */
	int64 least;
	int64 most;
	void (*check)(Datum value);

	/*
	 * The valid words, in the order of their enum, and the number of the first;
	 * another spelling of the last word.
	 */
	const char *words[MK_MAX_WORDS];
	int first;
	const char *last_word_too;

	/* the default as text, if the column is NOT NULL and can be set */
	const char *preset;

	/* the place of the field or MK_NO_FIELD; its value if the column is NULL */
	int field;
	int64 unset;
} MkOption;

#define MK_NO_FIELD (-1)

typedef struct MkOptionTable
{
	const char *kind; /* of the options, for messages */
	int noptions;
	const MkOption *options;
} MkOptionTable;

/* 22023 for a number that is less than "least" or greater than "most". */
extern void mk_option_check_number(const char *option, int64 value, int64 least,
								   int64 most);

/* 22023 for a negative interval. */
extern void mk_option_check_not_negative(const char *option, Datum value);

/* The option of this name; 22023 if there is none, or if it cannot be set. */
extern const MkOption *
mk_option_find(const MkOptionTable *table, const char *name);

/*
 * The value of an option from a text; NULL means the default.  22023 for a value
 * that is not valid.
 */
extern Datum
mk_option_parse_text(const MkOption *o, const char *text, bool *isnull);

/*
 * Sets all columns of options in a row: from the arguments of the function that
 * creates, or to the defaults.  values[0] is that of the first column.  22023 for an
 * argument that is not valid, or is NULL and must not be.
 */
extern void
mk_option_table_arguments(const MkOptionTable *table, FunctionCallInfo fcinfo,
						  Datum *values, bool *nulls);

/* Sets the field of an option in *object, or reads it. */
extern void
mk_option_to_field(const MkOption *o, Datum value, bool isnull, void *object);
extern Datum
mk_option_from_field(const MkOption *o, const void *object, bool *isnull);

/* The same for all fields of an object, which is a row of the table. */
extern void mk_option_table_read(const MkOptionTable *table, const MkRows *rows,
								 HeapTuple tuple, void *object);
extern void
mk_option_table_write(const MkOptionTable *table, const void *object,
					  Datum *values, bool *nulls);

#endif /* MK_OPTION_TABLE_H */
