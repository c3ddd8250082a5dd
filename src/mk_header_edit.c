/*
 * mk_header_edit.c
 *		Looking up, adding and removing headers of a record.
 *
 * Headers that stay are copied as they are.  An added header takes the place of
 * one of the same name only in the form of an object; in that of an array the
 * name comes again, and the last one counts.
 */
#include "postgres.h"

#include "mk_header_edit.h"

/* Finds a member of an element of the array form; false if it has none. */
static bool
mk_header_member(JsonbContainer *element, const char *name, JsonbValue *member)
{
	return getKeyJsonValueFromContainer(element, name, strlen(name), member) !=
		NULL;
}

/* The element that the iterator returned of the array form. */
static JsonbContainer *
mk_header_element(const JsonbValue *item)
{
	Assert(item->type == jbvBinary);
	return item->val.binary.data;
}

static bool
mk_header_is(const JsonbValue *string, const char *name)
{
	int length = strlen(name);

	return string->val.string.len == length &&
		memcmp(string->val.string.val, name, length) == 0;
}

bool
mk_header_get(Jsonb *headers, const char *name, MkHeader *header)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue item;
	JsonbValue value;
	bool found = false;

	if (headers == NULL)
		return false;
	value.type = jbvNull;
	if (JB_ROOT_IS_OBJECT(headers))
		found = mk_header_member(&headers->root, name, &value);
	else
	{
		it = JsonbIteratorInit(&headers->root);
		while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
		{
			JsonbValue key;

			if (token != WJB_ELEM ||
				!mk_header_member(mk_header_element(&item), "key", &key) ||
				!mk_header_is(&key, name))
				continue;
			found = true;
			if (!mk_header_member(mk_header_element(&item), "value", &value))
				value.type = jbvNull;
		}
	}
	header->name = name;
	header->value = value.type == jbvString ? value.val.string.val : NULL;
	header->length = value.type == jbvString ? value.val.string.len : 0;
	return found;
}

int64
mk_header_get_number(Jsonb *headers, const char *name)
{
	MkHeader header;
	int64 number = 0;

	if (!mk_header_get(headers, name, &header) || header.length < 1 ||
		header.length > 18)
		return -1;
	for (int i = 0; i < header.length; i++)
	{
		if (header.value[i] < '0' || header.value[i] > '9')
			return -1;
		number = number * 10 + (header.value[i] - '0');
	}
	return number;
}

/* Whether a name begins with one of the prefixes. */
static bool
mk_header_has_prefix(const JsonbValue *name, const char *const *prefixes,
					 int nprefixes)
{
	for (int i = 0; i < nprefixes; i++)
	{
		int length = strlen(prefixes[i]);

		if (name->val.string.len >= length &&
			memcmp(name->val.string.val, prefixes[i], length) == 0)
			return true;
	}
	return false;
}

static void
mk_header_push_string(JsonbParseState **state, JsonbIteratorToken token,
					  const char *string, int length)
{
	JsonbValue value;

	value.type = jbvNull;
	if (string != NULL)
	{
		value.type = jbvString;
		value.val.string.val = unconstify(char *, string);
		value.val.string.len = length;
	}
	(void) pushJsonbValue(state, token, &value);
}

/* Adds a header, as a member of the object or as an element of the array. */
static void
mk_header_push(JsonbParseState **state, bool is_array, const MkHeader *header)
{
	if (is_array)
	{
		(void) pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
		mk_header_push_string(state, WJB_KEY, "key", 3);
		mk_header_push_string(state, WJB_VALUE, header->name,
							  strlen(header->name));
		mk_header_push_string(state, WJB_KEY, "value", 5);
	}
	else
		mk_header_push_string(state, WJB_KEY, header->name,
							  strlen(header->name));
	mk_header_push_string(state, WJB_VALUE, header->value, header->length);
	if (is_array)
		(void) pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/* Adds those of the headers whose name has none of the prefixes. */
static void
mk_header_push_rest(JsonbParseState **state, Jsonb *headers,
					const char *const *prefixes, int nprefixes)
{
	JsonbIterator *it = JsonbIteratorInit(&headers->root);
	JsonbIteratorToken token;
	JsonbValue item;
	JsonbValue key;

	while ((token = JsonbIteratorNext(&it, &item, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			key = item;
		else if (token == WJB_VALUE &&
				 !mk_header_has_prefix(&key, prefixes, nprefixes))
		{
			(void) pushJsonbValue(state, WJB_KEY, &key);
			(void) pushJsonbValue(state, WJB_VALUE, &item);
		}
		else if (token == WJB_ELEM &&
				 !(mk_header_member(mk_header_element(&item), "key", &key) &&
				   mk_header_has_prefix(&key, prefixes, nprefixes)))
			(void) pushJsonbValue(state, WJB_ELEM, &item);
	}
}

Jsonb *
mk_header_edit(Jsonb *headers, const char *const *prefixes, int nprefixes,
			   const MkHeader *add, int nadd)
{
	JsonbParseState *state = NULL;
	bool is_array = headers != NULL && JB_ROOT_IS_ARRAY(headers);

	(void) pushJsonbValue(&state, is_array ? WJB_BEGIN_ARRAY : WJB_BEGIN_OBJECT,
						  NULL);
	if (headers != NULL)
		mk_header_push_rest(&state, headers, prefixes, nprefixes);
	for (int i = 0; i < nadd; i++)
		mk_header_push(&state, is_array, &add[i]);
	return JsonbValueToJsonb(pushJsonbValue(
		&state, is_array ? WJB_END_ARRAY : WJB_END_OBJECT, NULL));
}
