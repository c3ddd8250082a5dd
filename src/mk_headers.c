/*
 * mk_headers.c
 *		The headers of a record: which are accepted, and how they are stored.
 *
 * A Kafka header is a name and some bytes or null; a record has a list of
 * them, in order, and a name may come again.  Here they are jsonb, in one of
 * two forms.  The short one is an object:
 *
 *		{"trace": "abc", "reply-to": null}
 *
 * An object has no order and no repeated names (jsonb keeps only the last of
 * them).  Where that matters, or a value is not text, there is the array form:
 *
 *		[{"key": "trace", "value": "abc"}, {"key": "sig", "base64": "3q0="}]
 *
 * The headers keep the form that the caller has chosen.  What is stored is
 * stricter than what is accepted, so that readers have few cases:
 *
 *	- a value is a string or null; numbers and booleans become their JSON text;
 *	- an element of the array has exactly two members, "key" (a string) and
 *	  either "value" or "base64";
 *	- "base64" is a string, decodes, ends where its padding begins, and has no
 *	  white space (encode() breaks its lines, many decoders refuse that);
 *	- there is at least one header; none at all is stored as no headers.
 *
 * Nearly all headers come in that form already.  So the first pass only
 * checks, and a second one builds a new value only if the first has found
 * something to change.  Nothing here reads a relation.
 */
#include "postgres.h"

#include "common/base64.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "mk_headers.h"

/* An error message shows at most so many bytes of a name. */
#define NAME_SHOWN_MAX 64

#define ELEMENT_HINT \
	"Write each header as {\"key\": \"name\", \"value\": \"text\"}."

static bool headers_check_object(JsonbContainer *object);
static bool headers_check_array(JsonbContainer *array);
static bool headers_check_element(JsonbContainer *element, int number);
static bool headers_check_value(JsonbValue *name, JsonbValue *value);
static bool headers_check_base64(JsonbValue *name, JsonbValue *value);
static Jsonb *headers_rebuild(Jsonb *headers);
static void headers_value_to_text(JsonbValue *value);
static void headers_remove_space(JsonbValue *value);
static bool headers_is(const JsonbValue *name, const char *word);
static char *headers_name(const JsonbValue *name);

Jsonb *
mk_headers_normalize(Jsonb *headers)
{
	bool normal;

	if (headers == NULL)
		return NULL;

	if (JB_ROOT_IS_SCALAR(headers))
	{
		JsonbValue scalar;

		JsonbExtractScalar(&headers->root, &scalar);
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("headers must be a JSON object or array"),
			 errdetail("A JSON %s was given.", JsonbTypeName(&scalar)),
			 errhint(
				 "Write headers as {\"name\": \"text\"}, no headers as {}.")));
	}

	if (JB_ROOT_COUNT(headers) == 0)
		return NULL;

	if (JB_ROOT_IS_OBJECT(headers))
		normal = headers_check_object(&headers->root);
	else
		normal = headers_check_array(&headers->root);

	return normal ? headers : headers_rebuild(headers);
}

/*
 * The headers_check functions raise an error for anything that is not a
 * header, and return whether all of it is in the stored form.
 *
 * The iterators do not descend: anything nested comes as one value of type
 * jbvBinary, and is refused for its type, however deep it goes.
 */
static bool
headers_check_object(JsonbContainer *object)
{
	JsonbIterator *it = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue name;
	JsonbValue item;
	bool normal = true;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = item;
		else if (token == WJB_VALUE && !headers_check_value(&name, &item))
			normal = false;
	}

	return normal;
}

static bool
headers_check_array(JsonbContainer *array)
{
	JsonbIterator *it = JsonbIteratorInit(array);
	JsonbIteratorToken token;
	JsonbValue item;
	int number = 0;
	bool normal = true;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;

		number++;
		if (item.type != jbvBinary ||
			!JsonContainerIsObject(item.val.binary.data))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("header %d must be a JSON object", number),
					 errdetail("It is a JSON %s.", JsonbTypeName(&item)),
					 errhint(ELEMENT_HINT)));

		if (!headers_check_element(item.val.binary.data, number))
			normal = false;
	}

	return normal;
}

/*
 * One header of the array form; "number" counts from 1, for messages.
 */
static bool
headers_check_element(JsonbContainer *element, int number)
{
	JsonbIterator *it = JsonbIteratorInit(element);
	JsonbIteratorToken token;
	JsonbValue member;
	JsonbValue item;
	JsonbValue key;
	JsonbValue value;
	JsonbValue base64;
	bool has_key = false;
	bool has_value = false;
	bool has_base64 = false;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			member = item;
		else if (token != WJB_VALUE)
			continue;
		else if (headers_is(&member, "key"))
		{
			key = item;
			has_key = true;
		}
		else if (headers_is(&member, "value"))
		{
			value = item;
			has_value = true;
		}
		else if (headers_is(&member, "base64"))
		{
			base64 = item;
			has_base64 = true;
		}
		else
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unrecognized member \"%s\" in header %d",
							headers_name(&member), number),
					 errdetail("A header of an array has \"key\" and "
							   "one of \"value\" and \"base64\"."),
					 errhint(ELEMENT_HINT)));
	}

	if (!has_key)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("header %d has no \"key\"", number),
				 errhint(ELEMENT_HINT)));

	if (key.type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"key\" of header %d must be a string", number),
				 errdetail("It is a JSON %s.", JsonbTypeName(&key))));

	if (has_value && has_base64)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("header \"%s\" has both \"value\" and \"base64\"",
						headers_name(&key)),
				 errhint("Give text as \"value\", or bytes as \"base64\".")));

	if (has_value)
		return headers_check_value(&key, &value);
	if (has_base64)
		return headers_check_base64(&key, &base64);

	/* this is most likely a mistake, so do not guess */
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("header \"%s\" has neither \"value\" nor \"base64\"",
				headers_name(&key)),
		 errhint("For a header without a value, give null as its \"value\".")));
	return false; /* keep compiler quiet */
}

static bool
headers_check_value(JsonbValue *name, JsonbValue *value)
{
	switch (value->type)
	{
		case jbvString:
		case jbvNull:
			return true;

		case jbvNumeric:
		case jbvBool:
			return false;

		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("value of header \"%s\" must not be nested",
							headers_name(name)),
					 errdetail("It is a JSON %s.", JsonbTypeName(value)),
					 errhint("Give a string, number, boolean or null, "
							 "or cast the value to text.")));
	}

	return false; /* keep compiler quiet */
}

/*
 * PostgreSQL's decoder refuses foreign characters and a wrong length, but
 * accepts padding in the middle, where other decoders stop or fail.
 */
static bool
headers_check_base64(JsonbValue *name, JsonbValue *value)
{
	JsonbValue packed;
	int data;
	int padding;
	int size;
	void *scratch;
	bool valid;

	if (value->type != jbvString)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"base64\" of header \"%s\" must be a string",
					headers_name(name)),
			 errdetail("It is a JSON %s.", JsonbTypeName(value)),
			 errhint(
				 "For a header without a value, give null as its \"value\".")));

	packed = *value;
	headers_remove_space(&packed);

	for (data = packed.val.string.len; data > 0; data--)
	{
		if (packed.val.string.val[data - 1] != '=')
			break;
	}
	padding = packed.val.string.len - data;

	/* void, because the type of the decoder's buffer changed in version 18 */
	size = pg_b64_dec_len(packed.val.string.len);
	scratch = palloc(size + 1);
	valid = padding <= 2 && memchr(packed.val.string.val, '=', data) == NULL &&
		pg_b64_decode(packed.val.string.val, packed.val.string.len, scratch,
					  size) >= 0;
	pfree(scratch);

	if (!valid)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid base64 in header \"%s\"", headers_name(name)),
			 errhint("Use the text that encode(bytes, 'base64') returns.")));

	return packed.val.string.len == value->val.string.len;
}

/*
 * Copies checked headers into the stored form.
 *
 * Values sit at depth 1 of an object and at depth 2 of an array, so the
 * iterator, which descends here, returns each as a WJB_VALUE.
 */
static Jsonb *
headers_rebuild(Jsonb *headers)
{
	JsonbIterator *it = JsonbIteratorInit(&headers->root);
	JsonbParseState *state = NULL;
	JsonbIteratorToken token;
	JsonbValue item;
	JsonbValue *result = NULL;
	bool is_array = JB_ROOT_IS_ARRAY(headers);
	bool is_base64 = false;

	while ((token = JsonbIteratorNext(&it, &item, false)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			is_base64 = is_array && headers_is(&item, "base64");
		else if (token == WJB_VALUE)
		{
			if (is_base64)
				headers_remove_space(&item);
			else
				headers_value_to_text(&item);
		}

		result = pushJsonbValue(&state, token,
								token == WJB_KEY || token == WJB_VALUE ? &item
																	   : NULL);
	}

	return JsonbValueToJsonb(result);
}

/*
 * Replaces a number or boolean by its JSON text.
 */
static void
headers_value_to_text(JsonbValue *value)
{
	char *str;

	if (value->type == jbvNumeric)
		str = DatumGetCString(DirectFunctionCall1(
			numeric_out, NumericGetDatum(value->val.numeric)));
	else if (value->type == jbvBool)
		str = value->val.boolean ? "true" : "false";
	else
		return;

	value->type = jbvString;
	value->val.string.val = str;
	value->val.string.len = strlen(str);
}

/*
 * Removes the white space from a string, in a copy, if it has any.
 */
static void
headers_remove_space(JsonbValue *value)
{
	const char *from = value->val.string.val;
	int len = value->val.string.len;
	char *copy = NULL;
	int kept = 0;
	int i;

	for (i = 0; i < len; i++)
	{
		if (from[i] == ' ' || from[i] == '\n' || from[i] == '\r' ||
			from[i] == '\t')
		{
			if (copy == NULL)
			{
				copy = palloc(len);
				memcpy(copy, from, i);
				kept = i;
			}
		}
		else if (copy != NULL)
			copy[kept++] = from[i];
	}

	if (copy != NULL)
	{
		value->val.string.val = copy;
		value->val.string.len = kept;
	}
}

static bool
headers_is(const JsonbValue *name, const char *word)
{
	int len = strlen(word);

	return name->val.string.len == len &&
		memcmp(name->val.string.val, word, len) == 0;
}

/*
 * A name for an error message: as a C string, and not too much of it.
 */
static char *
headers_name(const JsonbValue *name)
{
	int len = pg_mbcliplen(name->val.string.val, name->val.string.len,
						   NAME_SHOWN_MAX);

	return pnstrdup(name->val.string.val, len);
}
