/*
 * mk_assignor.h
 *		Which member of a group reads which partition.
 *
 * Plain C, without the server.
 */
#ifndef MK_ASSIGNOR_H
#define MK_ASSIGNOR_H

typedef enum MkAssignor
{
	MK_ASSIGNOR_STICKY,
	MK_ASSIGNOR_RANGE,
	MK_ASSIGNOR_ROUNDROBIN
} MkAssignor;

typedef struct MkAssignorMember
{
	const char *member_id;
	const char *instance_id; /* of a static member, else NULL */
	int ntopics;
	const int *topics; /* what it subscribes to: numbers, ascending */
} MkAssignorMember;

/*
 * For qsort: the order of the members.  Static ones come first, by instance
 * id, so that their share does not change with their member id; then the
 * others, by member id (as Kafka's AbstractPartitionAssignor.MemberInfo).
 */
extern int mk_assignor_compare(const void *a, const void *b);

/*
 * Assigns the partitions of the topics, which are in the order of their names,
 * to the members, in the order of mk_assignor_compare.  owners has an entry for
 * each partition of the first topic, then of the second, and so on: at first
 * who had it (the member's number, or -1), then who is to have it (-1 where
 * nobody subscribes).  scratch is room for MK_ASSIGNOR_SCRATCH(...) numbers;
 * nsubscriptions is the sum of the members' ntopics.
 *
 * range: of each topic, consecutive partitions to each subscriber.
 * roundrobin: the partitions one by one, in turn.  sticky: as even as it can
 * be, moving only what must move.  The rules are those of Kafka's assignors of
 * these names, of sticky's for equal subscriptions.
 */
extern void
mk_assign(MkAssignor assignor, const MkAssignorMember *members, int nmembers,
		  const int *npartitions, int ntopics, int *owners, int *scratch);

#define MK_ASSIGNOR_SCRATCH(nmembers, ntopics, nsubscriptions) \
	(3 * (nmembers) + (ntopics) + 1 + (nsubscriptions))

#endif /* MK_ASSIGNOR_H */
