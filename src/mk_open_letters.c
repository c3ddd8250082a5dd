/*
 * mk_open_letters.c
 *		Dead letters that no redrive has sent on.
 *
 * The log is read between the marks of redrive() only, so the cost is that of
 * the letters that are open.  Marks and letters are those of one snapshot, since
 * a redrive that commits meanwhile replaces marks in place.  Values are not
 * fetched.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "mk_dead_letter.h"
#include "mk_header_edit.h"
#include "mk_open_letters.h"
#include "mk_redriven.h"

/* A look between two marks */
typedef struct MkLetterLook
{
	MkLetterSink sink;
	void *arg;
	MemoryContext context; /* of a letter */
	int64 limit; /* the last offset to read */
	bool passed; /* there is a record beyond it */
} MkLetterLook;

/* An MkLogSink that passes on what is a dead letter. */
static bool
mk_open_letters_take(const MkLogRecord *record, void *arg)
{
	MkLetterLook *look = arg;

	look->passed = record->offset > look->limit;
	if (look->passed)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (!record->record.headers_isnull)
	{
		MemoryContext old = MemoryContextSwitchTo(look->context);
		Jsonb *headers = DatumGetJsonbP(record->record.headers);
		MkHeader header;

		if (mk_header_get(headers, MK_DEAD_LETTER_TOPIC, &header))
			look->sink(record, headers, look->arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(look->context);
	}
	return true;
}

void
mk_open_letters_read(const MkTopic *topic, int32 partition, Snapshot snapshot,
					 MkLetterSink sink, void *arg)
{
	MkLetterLook look = {.sink = sink, .arg = arg};
	int64 next = mk_log_start(topic, partition);

	look.context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka letter", ALLOCSET_DEFAULT_SIZES);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!mk_redriven_find(topic, partition, next, snapshot, &look.limit))
		{
			look.passed = false;
			if (!mk_log_try_look(topic, partition, next, snapshot,
								 mk_open_letters_take, &look))
			{
				int64 log_start = mk_log_start(topic, partition);

				if (log_start <= next)
					break; /* beyond the end: marks of records that were lost */
				next = log_start;
				continue;
			}
			if (!look.passed)
				break; /* the end */
		}
		next = look.limit + 1;
	}
	MemoryContextDelete(look.context);
}
