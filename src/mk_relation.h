/*
 * mk_relation.h
 *		Looking up the relations of the extension.
 */
#ifndef MK_RELATION_H
#define MK_RELATION_H

typedef enum MkRelation
{
	MK_REL_TOPIC,
	MK_REL_TOPIC_PKEY,
	MK_REL_TOPIC_REL_KEY,
	MK_REL_TOPIC_ID_SEQ,
	MK_REL_PARTITION,
	MK_REL_PARTITION_PKEY,
	MK_REL_SEGMENT,
	MK_REL_SEGMENT_PKEY,
	MK_REL_COMPACTION,
	MK_REL_COMPACTION_PKEY,
	MK_REL_SETTLED,
	MK_REL_SETTLED_IDX,
	MK_REL_GROUP,
	MK_REL_GROUP_PKEY,
	MK_REL_GROUP_NO_KEY,
	MK_REL_GROUP_NO_SEQ,
	MK_REL_GRANT,
	MK_REL_GRANT_PKEY,
	MK_REL_MEMBER,
	MK_REL_MEMBER_PKEY,
	MK_REL_MEMBER_NO_KEY,
	MK_REL_MEMBER_NO_SEQ,
	MK_REL_ASSIGNMENT,
	MK_REL_ASSIGNMENT_PKEY,
	MK_REL_PROGRESS,
	MK_REL_PROGRESS_PKEY,
	MK_REL_HEARTBEAT,
	MK_REL_HEARTBEAT_IDX,
	MK_REL_PRODUCER,
	MK_REL_PRODUCER_PKEY,
	MK_REL_PRODUCER_ID_KEY,
	MK_REL_PRODUCER_ID_SEQ,
	MK_REL_PRODUCED,
	MK_REL_PRODUCED_PKEY,
	MK_REL_INBOX_CONSUMER,
	MK_REL_INBOX_CONSUMER_PKEY,
	MK_REL_CONSUMER_NO_KEY,
	MK_REL_CONSUMER_NO_SEQ,
	MK_REL_INBOX,
	MK_REL_INBOX_PKEY,
	MK_REL_INBOX_ACCEPTED_IDX,
	MK_REL_SHARE_GROUP,
	MK_REL_SHARE_GROUP_PKEY,
	MK_REL_SHARE_TOPIC,
	MK_REL_SHARE_TOPIC_PKEY,
	MK_REL_SHARE_CHECKPOINT,
	MK_REL_SHARE_CHECKPOINT_PKEY,
	MK_REL_SHARE_DONE,
	MK_REL_SHARE_DONE_PKEY,
	MK_REL_SHARE_DELIVERY,
	MK_REL_SHARE_DELIVERY_PKEY,
	MK_REL_SHARE_PARKED,
	MK_REL_SHARE_PARKED_PKEY,
	MK_REL_SHARE_PARKED_PLACE_IDX,
	MK_REL_SHARE_PARKED_LETTER_IDX,
	MK_REL_REDRIVEN,
	MK_REL_REDRIVEN_PKEY,
	MK_REL_SCHEDULED,
	MK_REL_SCHEDULED_PKEY,
	MK_REL_SCHEDULED_DUE_IDX,
	MK_REL_SCHEDULED_ID_SEQ,
	MK_REL_SCHEDULE_START,
	MK_REL_SCHEDULE_START_IDX,
	MK_NUM_RELS
} MkRelation;

/*
 * The number of columns of each table, as in sql/parts/10_catalog.sql.  The
 * library checks these numbers before it uses the tables.
 */
#define MK_NATTS_TOPIC            17
#define MK_NATTS_PARTITION        4
#define MK_NATTS_SEGMENT          4
#define MK_NATTS_COMPACTION       6
#define MK_NATTS_SETTLED          2
#define MK_NATTS_GROUP            13
#define MK_NATTS_GRANT            2
#define MK_NATTS_MEMBER           13
#define MK_NATTS_ASSIGNMENT       7
#define MK_NATTS_PROGRESS         14
#define MK_NATTS_HEARTBEAT        3
#define MK_NATTS_PRODUCER         5
#define MK_NATTS_PRODUCED         8
#define MK_NATTS_INBOX_CONSUMER   3
#define MK_NATTS_INBOX            4
#define MK_NATTS_SHARE_GROUP      16
#define MK_NATTS_SHARE_TOPIC      3
#define MK_NATTS_SHARE_CHECKPOINT 10
#define MK_NATTS_SHARE_DONE       6
#define MK_NATTS_SHARE_DELIVERY   13
#define MK_NATTS_SHARE_PARKED     13
#define MK_NATTS_REDRIVEN         4
#define MK_NATTS_SCHEDULED        11
#define MK_NATTS_SCHEDULE_START   2

/* Must be called once, in _PG_init. */
extern void mk_relation_init(void);

/*
 * The OID of one of the extension's relations, from a cache.  42704 if the
 * extension is not installed, 55000 if its SQL objects do not have the version
 * of the library.
 */
extern Oid mk_relation_oid(MkRelation which);

/* The OIDs of the schemas of topics, and of partitions and segments. */
extern Oid mk_relation_topics_namespace(void);
extern Oid mk_relation_data_namespace(void);

/*
 * A number that changes whenever the relations are looked up again, such as
 * after an invalidation; never 0.
 */
extern uint64 mk_relation_load_count(void);

/*
 * Whether a subscription writes the tables, as copies of another server's.  The
 * second function raises 55000 if so.
 */
extern bool mk_relation_is_subscriber(void);
extern void mk_relation_check_subscriber(void);

#endif /* MK_RELATION_H */
