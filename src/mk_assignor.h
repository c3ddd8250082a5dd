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
 * The order of members, for qsort().  Static members come first, by instance id,
 * so that their share does not change with their member id; then the others, by
 * member id (as in Kafka's AbstractPartitionAssignor.MemberInfo).
 */
extern int mk_assignor_compare(const void *a, const void *b);

/*
 * Assigns the partitions of the topics, which are in the order of their names,
 * to the members, which are in the order of mk_assignor_compare.  "owners" has an
 * entry for each partition of the first topic, then of the second, and so on.  On
 * entry it is the partition's owner so far: an index into "members", or -1.  On
 * return it is the next owner, -1 if the topic has no subscriber.  "scratch" has
 * room for MK_ASSIGNOR_SCRATCH(...) numbers, where nsubscriptions is the sum of the
 * members' ntopics.
 *
 * range: each subscriber of a topic gets consecutive partitions of it.
 * roundrobin: partitions go to subscribers one by one, in turn.  sticky: as even as
 * possible, and only what must move moves.  The rules are those of Kafka's
 * assignors of these names; of its sticky assignor, those for equal subscriptions.
 */
extern void
mk_assign(MkAssignor assignor, const MkAssignorMember *members, int nmembers,
		  const int *npartitions, int ntopics, int *owners, int *scratch);

#define MK_ASSIGNOR_SCRATCH(nmembers, ntopics, nsubscriptions) \
	(3 * (nmembers) + (ntopics) + 1 + (nsubscriptions))

#endif /* MK_ASSIGNOR_H */
