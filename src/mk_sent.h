/*
 * mk_sent.h
 *		What the last transaction of the session has sent, for last_sent().
 */
#ifndef MK_SENT_H
#define MK_SENT_H

/* To be called once, in _PG_init, after mk_xact_init. */
extern void mk_sent_init(void);

/* Records that follow each other in a partition. */
typedef struct MkSent
{
	NameData topic;
	int32 partition;
	int64 base_offset;
	int64 records;
} MkSent;

/*
 * What the last transaction of this session that sent something and committed
 * has sent; also the records that were there already, of sequences that it
 * repeated.  In order of topic, partition and offset; valid until the next
 * transaction ends.
 */
extern const MkSent *mk_sent_last(int *n);

/* Adds to it; to be called while the transaction commits. */
extern void mk_sent_add(const NameData *topic, int32 partition,
						int64 base_offset, int64 records);

#endif /* MK_SENT_H */
