/*
 * mk_share_undone.h
 *		Records of share groups that this session has worked on in vain: its
 *		transaction was rolled back.
 *
 * Such a record is handed out alone next time, so that others do not suffer for
 * it.  If the transaction held only that record, its delivery has failed.
 */
#ifndef MK_SHARE_UNDONE_H
#define MK_SHARE_UNDONE_H

typedef struct MkShareUndone
{
	Oid catalog; /* see MkShareMemoryKey; InvalidOid: no entry */
	int32 group_no;
	int32 topic_id;
	int32 partition;
	int32 era;
	uint32 slot;
	int64 offset;
	int64 number; /* of the newest delivery row when it was handed out */
	int32 failures; /* that no row tells yet */
	int sqlstate; /* of the last one; 0: not known */
} MkShareUndone;

/* Makes room, so that the next functions allocate nothing. */
extern void mk_share_undone_prepare(void);

/*
 * Adds a record, or adds to its failures.  If there is no room, forgets the oldest
 * one.
 */
extern void mk_share_undone_add(const MkShareUndone *undone);

/* The entry of a record, NULL if there is none. */
extern MkShareUndone *
mk_share_undone_find(Oid catalog, int32 group_no, int32 topic_id,
					 int32 partition, int64 offset);

/* Forgets a record. */
extern void mk_share_undone_remove(MkShareUndone *undone);

/* The next entry of a group after "last" (NULL: the first); NULL at the end. */
extern MkShareUndone *
mk_share_undone_next(Oid catalog, int32 group_no, MkShareUndone *last);

#endif /* MK_SHARE_UNDONE_H */
