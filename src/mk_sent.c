/*
 * mk_sent.c
 *		What the last transaction of the session has sent, for last_sent().
 *
 * A transaction collects its list while it commits, and it replaces the
 * session's when the transaction has committed.
 */
#include "postgres.h"

#include "mk_array.h"
#include "mk_sent.h"
#include "mk_xact.h"

typedef struct MkSentList
{
	int n;
	MkSent *sent; /* in TopMemoryContext; NULL: none */
} MkSentList;

static MkSentList mk_last = {0}; /* the session's */
static MkSentList mk_now = {0}; /* of the transaction that commits */

void
mk_sent_add(const NameData *topic, int32 partition, int64 base_offset,
			int64 records)
{
	MkSent *sent;

	mk_now.sent =
		mk_array_grow(TopMemoryContext, mk_now.sent, mk_now.n, sizeof(MkSent));
	sent = &mk_now.sent[mk_now.n++];
	sent->topic = *topic;
	sent->partition = partition;
	sent->base_offset = base_offset;
	sent->records = records;
}

static int
mk_compare_sent(const void *a, const void *b)
{
	const MkSent *sa = a;
	const MkSent *sb = b;
	int order = strcmp(NameStr(sa->topic), NameStr(sb->topic));

	if (order != 0)
		return order;
	if (sa->partition != sb->partition)
		return sa->partition < sb->partition ? -1 : 1;
	return sa->base_offset < sb->base_offset
		? -1
		: sa->base_offset > sb->base_offset;
}

/* Sorts the list, and joins entries that follow each other. */
static void
mk_sent_order(void)
{
	int n = 0;

	if (mk_now.n < 2)
		return;
	qsort(mk_now.sent, mk_now.n, sizeof(MkSent), mk_compare_sent);
	for (int i = 1; i < mk_now.n; i++)
	{
		MkSent *last = &mk_now.sent[n];
		const MkSent *next = &mk_now.sent[i];

		if (last->partition == next->partition &&
			last->base_offset + last->records >= next->base_offset &&
			strcmp(NameStr(last->topic), NameStr(next->topic)) == 0)
			last->records =
				Max(last->records,
					next->base_offset + next->records - last->base_offset);
		else
			mk_now.sent[++n] = *next;
	}
	mk_now.n = n + 1;
}

static void
mk_sent_end(bool committed)
{
	if (mk_now.sent == NULL)
		return;
	if (committed)
	{
		if (mk_last.sent != NULL)
			pfree(mk_last.sent);
		mk_last = mk_now;
	}
	else
		pfree(mk_now.sent);
	mk_now.n = 0;
	mk_now.sent = NULL;
}

const MkSent *
mk_sent_last(int *n)
{
	*n = mk_last.n;
	return mk_last.sent;
}

static const MkParticipant mk_sent_participant = {
	.close = mk_sent_order,
	.end = mk_sent_end,
};

void
mk_sent_init(void)
{
	mk_xact_add_participant(&mk_sent_participant);
}
