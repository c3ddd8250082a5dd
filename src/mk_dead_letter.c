/*
 * mk_dead_letter.c
 *		Dead letters: copies of records that could not be processed.
 *
 * A dead letter has the key, the value and the headers of the record, with its
 * bytes unchanged, and headers of its own that tell where the record was, who
 * could not process it, and why.  It is sent in the transaction that gives the
 * record up, so a record is given up and set aside, or neither.
 *
 * A record may have such headers already: it was a dead letter itself, in the
 * topic of another group.  They are left out, whatever their form, so that the
 * letter's own are the only ones.
 *
 * The letter goes to the partition with the number of the record's, modulo the
 * number of partitions, as in Kafka.  So records of a partition that become dead
 * letters in order are in order there, and those of a key with them.
 *
 * What the error says may come from the record; so it goes into a header, and
 * never into a message.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_dead_letter.h"
#include "mk_errors.h"
#include "mk_header_edit.h"
#include "mk_log.h"
#include "mk_option.h"
#include "mk_send.h"
#include "mk_topic.h"

int
mk_dead_letter_error_length(const char *error)
{
	int length = strlen(error);

	return pg_mbcliplen(error, length, Min(length, MK_MAX_ERROR));
}

void
mk_dead_letter_check_offset(const MkTopic *topic, int32 partition, int64 offset)
{
	int64 end;

	if (offset < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offset " INT64_FORMAT " is negative", offset)));
	end = mk_log_end(topic, partition);
	if (offset >= end)
		ereport(ERROR,
				(errcode(ERRCODE_MK_OFFSET_OUT_OF_RANGE),
				 errmsg("there is no offset " INT64_FORMAT
						" in topic \"%s\" partition %d yet",
						offset, NameStr(topic->name), partition),
				 errdetail("The partition ends before offset " INT64_FORMAT ".",
						   end)));
}

/* A sink that keeps the record. */
static bool
mk_dead_letter_take(const MkLogRecord *record, void *arg)
{
	MkLogRecord *taken = arg;

	*taken = *record;
	mk_scan_copy(taken);
	return true;
}

static MkHeader
mk_dead_letter_text(const char *name, const char *value)
{
	MkHeader header = {.name = name, .value = value};

	header.length = value != NULL ? strlen(value) : 0;
	return header;
}

/* A time as ISO 8601, in UTC. */
static const char *
mk_dead_letter_time(TimestampTz ts)
{
	char *text = palloc(MAXDATELEN + 1);
	int utc = 0;

	return JsonEncodeDateTime(text, TimestampTzGetDatum(ts), TIMESTAMPTZOID,
							  &utc);
}

/*
 * The headers of the letter, with so many bytes of the error.  "record" is NULL
 * if it is gone.
 */
static Jsonb *
mk_dead_letter_headers(const MkDeadLetter *letter, const MkLogRecord *record,
					   int error_length)
{
	static const char *const prefixes[] = {MK_DEAD_LETTER_PREFIX};
	Jsonb *headers = record != NULL && !record->record.headers_isnull
		? DatumGetJsonbP(record->record.headers)
		: NULL;
	MkHeader add[8];
	int n = 0;

	add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_TOPIC,
								   NameStr(letter->source->name));
	add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_PARTITION,
								   psprintf("%d", letter->partition));
	add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_OFFSET,
								   psprintf(INT64_FORMAT, letter->offset));
	add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_GROUP, letter->group_id);
	if (letter->delivery_count > 0)
		add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_COUNT,
									   psprintf("%d", letter->delivery_count));
	add[n] = mk_dead_letter_text(MK_DEAD_LETTER_MESSAGE, letter->error);
	add[n++].length = error_length;
	if (record != NULL)
		add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_TIMESTAMP,
									   mk_dead_letter_time(record->ts));
	else
		add[n++] = mk_dead_letter_text(MK_DEAD_LETTER_GONE, "true");
	Assert(n <= (int) lengthof(add));
	return mk_header_edit(headers, prefixes, lengthof(prefixes), add, n);
}

/* Sets the headers of the letter, with as much of the error as there is room for. */
static void
mk_dead_letter_set_headers(const MkDeadLetter *letter,
						   const MkLogRecord *record, const MkTopic *target,
						   MkRecord *copy)
{
	const char *error = letter->error != NULL ? letter->error : "";
	int length = mk_dead_letter_error_length(error);
	int64 room = target->max_message_bytes;

	if (!copy->key_isnull)
		room -= VARSIZE_ANY_EXHDR(DatumGetPointer(copy->key));
	if (!copy->value_isnull)
		room -= VARSIZE_ANY_EXHDR(DatumGetPointer(copy->value));
	for (;;)
	{
		Jsonb *headers = mk_dead_letter_headers(letter, record, length);
		int64 beyond = (int64) VARSIZE_ANY_EXHDR(headers) - room;

		copy->headers = JsonbPGetDatum(headers);
		copy->headers_isnull = false;
		if (beyond <= 0 || length == 0)
			break;
		pfree(headers);
		length = pg_mbcliplen(error, length, Max(length - beyond, 0));
	}
}

void
mk_dead_letter_send(const MkDeadLetter *letter, MkTopic *target, Oid role)
{
	MkLogRecord record;
	MkRecord copy = {.key_isnull = true, .value_isnull = true};
	bool found;
	int32 partition = letter->partition % target->npartitions;
	MkSequencedBatch *batch = NULL;
	int64 sequence = 0;

	mk_topic_check_allows(target, role, ACL_INSERT);
	if (target->topic_id == letter->source->topic_id)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("topic \"%s\" cannot be its own dead-letter topic",
					NameStr(target->name)),
			 errhint("Create another topic with minikafka.create_topic().")));
	found = mk_log_get(letter->source, letter->partition, letter->offset,
					   mk_dead_letter_take, &record);
	if (found)
		copy = record.record;
	mk_dead_letter_set_headers(letter, found ? &record : NULL, target, &copy);
	mk_topic_check_record(target, &copy);
	if (found && letter->parking != NULL)
		batch = mk_share_parked_leave(letter->parking, &record, target,
									  partition, &sequence);
	mk_send_record(target, partition, &copy, batch, sequence);
}
