/*
 * mk_tail.h
 *		The sequencing lock of each partition, and the tail that is known under it,
 *		in shared memory.
 *
 * Without shared memory no tail is ever known, and all else works.  "relid" is
 * the OID of the topic's table.
 */
#ifndef MK_TAIL_H
#define MK_TAIL_H

#include "datatype/timestamp.h"
#include "storage/block.h"

/* Where the next record goes, and what is below it. */
typedef struct MkKnownTail
{
	int64 next_offset;
	TimestampTz ts; /* of the last record */

	/* the file of the primary key that has the record; a hint for mk_last_key() */
	uint32 file;
	BlockNumber leaf;
} MkKnownTail;

/* To be called once, in _PG_init, after mk_shmem_init. */
extern void mk_tail_init(void);

/*
 * Takes the sequencing lock if it is free, or becomes free within a short while;
 * returns whether it did.  Does not wait in the lock manager, so the caller may
 * hold locks on tables.
 */
extern bool mk_tail_lock_try(Oid relid, int32 topic_id, int32 partition);

/* The same, but waits in the lock manager, at once and as long as it must. */
extern void mk_tail_lock(Oid relid, int32 topic_id, int32 partition);

/* Releases one hold of it before the end of the transaction. */
extern void mk_tail_unlock(Oid relid, int32 topic_id, int32 partition);

/*
 * What is known of the tail; false if nothing is.  The caller holds the
 * sequencing lock, and makes sure that "file" still ends with that record.
 */
extern bool mk_tail_get(Oid relid, int32 partition, MkKnownTail *known);

/*
 * What is known if nothing happens meanwhile: for a guess, without the lock.
 */
extern bool mk_tail_guess(Oid relid, int32 partition, MkKnownTail *known);

/*
 * The transaction is going to write: if it fails from now on, nothing is known
 * of the tail any more.  To be called before the first row is written.
 */
extern void mk_tail_begin(Oid relid, int32 partition);

/*
 * Makes the tail known: the transaction has written the last record, and its
 * index entry, and still holds the sequencing lock.  Cannot fail.
 */
extern void mk_tail_set(Oid relid, int32 partition, const MkKnownTail *known);

/* All partitions of a topic, for mk_tail_void. */
#define MK_TAIL_ALL (-1)

/*
 * Forgets what is known of a partition, or of all those of a topic.  To be
 * called whenever rows are removed or are found to be other than they should be;
 * needs no lock, and cannot fail.
 */
extern void mk_tail_void(Oid relid, int32 partition);

#endif /* MK_TAIL_H */
