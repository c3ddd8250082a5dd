/*
 * mk_assignor.c
 *		Which member of a group reads which partition.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include <string.h>
#endif
#include <limits.h>
#include <stdbool.h>

#include "mk_assignor.h"

/* What all assignors work on */
typedef struct MkAssign
{
	const MkAssignorMember *members;
	int nmembers;
	const int *npartitions;
	int ntopics;
	int *owners;
	int *counts; /* partitions of each member */
	int *under; /* sticky: members below their share */
	int *
		even; /* sticky: members with the lower share, which may get one more */
	int *subscribers; /* sticky, where subscriptions differ */
} MkAssign;

int
mk_assignor_compare(const void *a, const void *b)
{
	const MkAssignorMember *ma = a;
	const MkAssignorMember *mb = b;

	if (ma->instance_id != NULL && mb->instance_id != NULL)
		return strcmp(ma->instance_id, mb->instance_id);
	if (ma->instance_id != NULL || mb->instance_id != NULL)
		return ma->instance_id != NULL ? -1 : 1;
	return strcmp(ma->member_id, mb->member_id);
}

static bool
mk_subscribes(const MkAssign *a, int member, int topic)
{
	const MkAssignorMember *m = &a->members[member];
	int low = 0;
	int high = m->ntopics;

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (m->topics[middle] == topic)
			return true;
		if (m->topics[middle] < topic)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Whether all members subscribe to the same topics. */
static bool
mk_all_subscribe_alike(const MkAssign *a)
{
	for (int i = 1; i < a->nmembers; i++)
	{
		if (a->members[i].ntopics != a->members[0].ntopics)
			return false;
		for (int j = 0; j < a->members[i].ntopics; j++)
			if (a->members[i].topics[j] != a->members[0].topics[j])
				return false;
	}
	return true;
}

/* See mk_assign, for this and the next. */
static void
mk_assign_range(MkAssign *a)
{
	int *owner = a->owners;

	for (int t = 0; t < a->ntopics; t++)
	{
		int n = 0;
		int k = 0;

		for (int m = 0; m < a->nmembers; m++)
			n += mk_subscribes(a, m, t);
		for (int p = 0; n == 0 && p < a->npartitions[t]; p++)
			*owner++ = -1;
		for (int m = 0; n > 0 && m < a->nmembers; m++)
		{
			int share;

			if (!mk_subscribes(a, m, t))
				continue;
			share = a->npartitions[t] / n + (k++ < a->npartitions[t] % n);
			while (share-- > 0)
				*owner++ = m;
		}
	}
}

static void
mk_assign_roundrobin(MkAssign *a)
{
	int *owner = a->owners;
	int next = 0;

	for (int t = 0; t < a->ntopics; t++)
		for (int p = 0; p < a->npartitions[t]; p++)
		{
			int tries = 0;

			while (tries < a->nmembers && !mk_subscribes(a, next, t))
			{
				next = (next + 1) % a->nmembers;
				tries++;
			}
			*owner++ = tries < a->nmembers ? next : -1;
			if (tries < a->nmembers)
				next = (next + 1) % a->nmembers;
		}
}

/* Takes away partitions whose owners do not subscribe to them. */
static void
mk_sticky_keep(MkAssign *a)
{
	int *owner = a->owners;

	for (int m = 0; m < a->nmembers; m++)
		a->counts[m] = 0;
	for (int t = 0; t < a->ntopics; t++)
		for (int p = 0; p < a->npartitions[t]; p++, owner++)
		{
			if (*owner >= 0 && !mk_subscribes(a, *owner, t))
				*owner = -1;
			if (*owner >= 0)
				a->counts[*owner]++;
		}
}

/*
 * Takes away what exceeds each member's share.  The member keeps its partitions
 * with the lowest numbers, whatever their topic.
 */
static void
mk_sticky_trim(MkAssign *a, const int *shares)
{
	int most = 0;

	for (int m = 0; m < a->nmembers; m++)
		a->counts[m] = 0;
	for (int t = 0; t < a->ntopics; t++)
		if (a->npartitions[t] > most)
			most = a->npartitions[t];
	for (int p = 0; p < most; p++)
	{
		int first = 0;

		for (int t = 0; t < a->ntopics; first += a->npartitions[t++])
		{
			int *owner = &a->owners[first + p];

			if (p >= a->npartitions[t] || *owner < 0)
				continue;
			if (a->counts[*owner] < shares[*owner])
				a->counts[*owner]++;
			else
				*owner = -1;
		}
	}
}

/*
 * The case of equal subscriptions.  Each member gets the lower share, and as many
 * members as necessary get one more.  Members that have enough keep their share.
 * Free partitions go in turn to the members below the lower share, and then to
 * those that have just that.
 */
static void
mk_sticky_alike(MkAssign *a)
{
	int total = 0;
	int low;
	int more; /* how many members may still have one more */
	int nunder = 0;
	int next_under = 0;
	int neven = 0;
	int next_even = 0;
	int *shares = a->under;
	int *owner = a->owners;

	for (int i = 0; i < a->members[0].ntopics; i++)
		total += a->npartitions[a->members[0].topics[i]];
	low = total / a->nmembers;
	more = total % a->nmembers;

	for (int m = 0; m < a->nmembers; m++)
	{
		shares[m] = low;
		if (a->counts[m] > low && more > 0)
		{
			shares[m]++;
			more--;
		}
	}
	mk_sticky_trim(a, shares);

	for (int m = 0; m < a->nmembers; m++)
		if (a->counts[m] == low)
			a->even[neven++] = m;
	for (int m = 0; m < a->nmembers; m++)
		if (a->counts[m] < low)
			a->under[nunder++] = m;

	for (int t = 0; t < a->ntopics; t++)
		for (int p = 0; p < a->npartitions[t]; p++, owner++)
		{
			if (*owner >= 0 || !mk_subscribes(a, 0, t))
				continue;
			if (nunder == 0)
			{
				*owner = a->even[next_even++];
				continue;
			}
			if (next_under >= nunder)
				next_under = 0;
			*owner = a->under[next_under];
			if (++a->counts[*owner] < low)
				next_under++;
			else
			{
				a->even[neven++] = *owner;
				nunder--;
				memmove(&a->under[next_under], &a->under[next_under + 1],
						(nunder - next_under) * sizeof(int));
			}
		}
}

/* The subscribers of each topic: those of t begin at first[t]. */
typedef struct MkSubscribers
{
	int *first; /* ntopics + 1 entries */
	int *members;
} MkSubscribers;

/* Finds the subscribers of each topic, in scratch memory. */
static MkSubscribers
mk_sticky_subscribers(const MkAssign *a)
{
	MkSubscribers s = {.first = a->subscribers,
					   .members = a->subscribers + a->ntopics + 1};
	int *first = s.first;

	for (int t = 0; t <= a->ntopics; t++)
		first[t] = 0;
	for (int m = 0; m < a->nmembers; m++)
		for (int i = 0; i < a->members[m].ntopics; i++)
			first[a->members[m].topics[i] + 1]++;
	for (int t = 0; t < a->ntopics; t++)
		first[t + 1] += first[t];
	/* filling in moves each topic's beginning to its end, the next one's beginning */
	for (int m = 0; m < a->nmembers; m++)
		for (int i = 0; i < a->members[m].ntopics; i++)
			s.members[first[a->members[m].topics[i]]++] = m;
	for (int t = a->ntopics; t > 0; t--)
		first[t] = first[t - 1];
	first[0] = 0;
	return s;
}

/* The subscriber of a topic that has the fewest partitions, -1 if none. */
static int
mk_least_loaded(const MkAssign *a, const MkSubscribers *s, int topic)
{
	int least = -1;

	for (int i = s->first[topic]; i < s->first[topic + 1]; i++)
		if (least < 0 || a->counts[s->members[i]] < a->counts[least])
			least = s->members[i];
	return least;
}

/* Gives each free partition of a topic to the subscriber with the fewest. */
static void
mk_sticky_fill(MkAssign *a, const MkSubscribers *s, int topic, int *owners)
{
	for (int p = 0; p < a->npartitions[topic]; p++)
		if (owners[p] < 0)
		{
			owners[p] = mk_least_loaded(a, s, topic);
			a->counts[owners[p]]++;
		}
}

/*
 * Moves partitions of a topic, one by one, from the owner that has the most, if it
 * has at least "most", to the subscriber that has the fewest, if that has at least
 * two less.  Returns how many partitions the owner has that could still give one
 * away, 0 if there is none.
 */
static int
mk_sticky_even(MkAssign *a, const MkSubscribers *s, int topic, int *owners,
			   int most)
{
	for (;;)
	{
		int to = mk_least_loaded(a, s, topic);
		int *from = NULL;

		for (int p = 0; p < a->npartitions[topic]; p++)
			if (owners[p] >= 0 &&
				(from == NULL || a->counts[owners[p]] > a->counts[*from]))
				from = &owners[p];
		if (from == NULL || a->counts[*from] <= a->counts[to] + 1)
			return 0;
		if (a->counts[*from] < most)
			return a->counts[*from];
		a->counts[*from]--;
		a->counts[to]++;
		*from = to;
	}
}

/* The same for all topics; returns the greatest of the results. */
static int
mk_sticky_even_all(MkAssign *a, const MkSubscribers *s, int most)
{
	int *owners = a->owners;
	int left = 0;

	for (int t = 0; t < a->ntopics; owners += a->npartitions[t++])
	{
		int n = mk_sticky_even(a, s, t, owners, most);

		if (n > left)
			left = n;
	}
	return left;
}

/*
 * The case of different subscriptions.  Free partitions go to the subscriber that
 * has the fewest; topics with the fewest subscribers come first.  Then partitions
 * move, about one by one, from the member that has the most to one that has at
 * least two less.
 */
static void
mk_sticky_different(MkAssign *a)
{
	MkSubscribers s = mk_sticky_subscribers(a);
	int total = 0;
	int most;
	int next;

	for (int n = 1; n <= a->nmembers; n = next)
	{
		int *owners = a->owners;

		next = a->nmembers + 1;
		for (int t = 0; t < a->ntopics; owners += a->npartitions[t++])
		{
			int subscribers = s.first[t + 1] - s.first[t];

			if (subscribers == n)
				mk_sticky_fill(a, &s, t, owners);
			else if (subscribers > n && subscribers < next)
				next = subscribers;
		}
	}

	for (int t = 0; t < a->ntopics; t++)
		total += a->npartitions[t];
	while ((most = mk_sticky_even_all(a, &s, INT_MAX)) > 0)
	{
		/* a member with very many need not give them away one by one */
		if (most > 2 * (total / a->nmembers + 1))
			most -= most / 2 - total / a->nmembers;
		(void) mk_sticky_even_all(a, &s, most);
	}
}

void
mk_assign(MkAssignor assignor, const MkAssignorMember *members, int nmembers,
		  const int *npartitions, int ntopics, int *owners, int *scratch)
{
	MkAssign a = {.members = members,
				  .nmembers = nmembers,
				  .npartitions = npartitions,
				  .ntopics = ntopics,
				  .owners = owners,
				  .counts = scratch,
				  .under = scratch + nmembers,
				  .even = scratch + 2 * nmembers,
				  .subscribers = scratch + 3 * nmembers};

	if (nmembers == 0)
	{
		for (int t = 0; t < ntopics; t++)
			for (int p = 0; p < npartitions[t]; p++)
				*owners++ = -1;
		return;
	}
	switch (assignor)
	{
		case MK_ASSIGNOR_RANGE:
			mk_assign_range(&a);
			break;
		case MK_ASSIGNOR_ROUNDROBIN:
			mk_assign_roundrobin(&a);
			break;
		case MK_ASSIGNOR_STICKY:
			mk_sticky_keep(&a);
			if (mk_all_subscribe_alike(&a))
				mk_sticky_alike(&a);
			else
				mk_sticky_different(&a);
			break;
	}
}
