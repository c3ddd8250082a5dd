/*
 * mk_dead_letter.h
 *		Dead letters: copies of records that could not be processed.
 */
#ifndef MK_DEAD_LETTER_H
#define MK_DEAD_LETTER_H

#include "mk_catalog.h"
#include "mk_share_parked.h"

/*
 * The headers of a dead letter, as Kafka's share groups write them, and two more:
 * the time of the record, and whether the record was gone.
 */
#define MK_DEAD_LETTER_PREFIX    "__dlq.errors."
#define MK_DEAD_LETTER_TOPIC     MK_DEAD_LETTER_PREFIX "topic"
#define MK_DEAD_LETTER_PARTITION MK_DEAD_LETTER_PREFIX "partition"
#define MK_DEAD_LETTER_OFFSET    MK_DEAD_LETTER_PREFIX "offset"
#define MK_DEAD_LETTER_GROUP     MK_DEAD_LETTER_PREFIX "group"
#define MK_DEAD_LETTER_COUNT     MK_DEAD_LETTER_PREFIX "delivery.count"
#define MK_DEAD_LETTER_MESSAGE   MK_DEAD_LETTER_PREFIX "message"
#define MK_DEAD_LETTER_TIMESTAMP MK_DEAD_LETTER_PREFIX "timestamp"
#define MK_DEAD_LETTER_GONE      MK_DEAD_LETTER_PREFIX "record.gone"

/* Bytes of an error that are kept, at most */
#define MK_MAX_ERROR 8192

/* How many bytes of an error are kept: whole characters. */
extern int mk_dead_letter_error_length(const char *error);

/* Which record could not be processed, by whom, and why. */
typedef struct MkDeadLetter
{
	const char *group_id;
	MkTopic *source;
	int32 partition;
	int64 offset;
	int32 delivery_count; /* 0: not known */
	const char *error; /* text of the database; NULL: not told */
	const MkParking *parking; /* NULL: its key is not parked */
} MkDeadLetter;

/*
 * MK001 for an offset at or beyond the end of the partition, 22023 for one that
 * is negative.
 */
extern void mk_dead_letter_check_offset(const MkTopic *topic, int32 partition,
										int64 offset);

/*
 * Sends a copy of the record to the topic "target" when the transaction commits,
 * by the right of "role".  Reads the record itself; if it is gone (by retention,
 * compaction or a rollback), the letter has neither key nor value, and a header
 * that says so.
 *
 * 42501, 0A000 or 42704 as mk_topic_check_allows(); 22023 if the target is the
 * record's own topic; 54000 if the letter is too large for the target even
 * without the error; what else mk_topic_check_record() and mk_send_record()
 * raise if the target has a contract.  Not to be called while the transaction
 * commits.
 */
extern void
mk_dead_letter_send(const MkDeadLetter *letter, MkTopic *target, Oid role);

#endif /* MK_DEAD_LETTER_H */
