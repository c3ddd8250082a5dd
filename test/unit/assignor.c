/*
 * assignor.c
 *		Unit test of src/mk_assignor.c, without PostgreSQL.
 *
 * Compile it together with that file, with FRONTEND defined and src in the
 * include path.  Prints TAP, and fails if a test failed.
 *
 * The cases are those of Kafka's own tests and documentation.  Its members send
 * along what they own, and in which generation they got it; here the server
 * knows.  What a test of Kafka's has as claims is therefore settled before: the
 * claim of the highest generation counts, and two claims of one generation are
 * none.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mk_assignor.h"

#define lengthof(array) ((int) (sizeof(array) / sizeof((array)[0])))

static int tests_run = 0;
static int tests_failed = 0;

static void
ok(bool passed, const char *what)
{
	tests_run++;
	if (!passed)
		tests_failed++;
	printf("%s %d - %s\n", passed ? "ok" : "not ok", tests_run, what);
}

/* ---------------------------------------------------------------------------
 * A group: members, topics, and which member has which partition
 */

#define MAX_NAME 32

typedef struct Group
{
	int ntopics;
	char (*topic_names)[MAX_NAME]; /* NULL where they are not used */
	int *npartitions;
	int total; /* partitions of all topics */
	int nmembers;
	MkAssignorMember *members;
	int *owners;
} Group;

static void *
allocate(size_t n, size_t size)
{
	/* not a byte more than asked for, so that a sanitizer sees the end */
	void *memory = calloc(n > 0 ? n : 1, size);

	if (memory == NULL)
	{
		printf("Bail out! no memory\n");
		exit(1);
	}
	return memory;
}

static char *
duplicate(const char *text)
{
	return strcpy(allocate(strlen(text) + 1, 1), text);
}

static void
group_free(Group *g)
{
	for (int m = 0; m < g->nmembers; m++)
	{
		free((char *) g->members[m].member_id);
		free((char *) g->members[m].instance_id);
		free((int *) g->members[m].topics);
	}
	free(g->members);
	free(g->topic_names);
	free(g->npartitions);
	free(g->owners);
	memset(g, 0, sizeof(*g));
}

/* Where the partitions of a topic begin in owners. */
static int
first_of_topic(const Group *g, int topic)
{
	int first = 0;

	for (int t = 0; t < topic; t++)
		first += g->npartitions[t];
	return first;
}

static bool
subscribes(const Group *g, int member, int topic)
{
	for (int i = 0; i < g->members[member].ntopics; i++)
		if (g->members[member].topics[i] == topic)
			return true;
	return false;
}

static bool
all_subscribe_alike(const Group *g)
{
	for (int m = 1; m < g->nmembers; m++)
		for (int t = 0; t < g->ntopics; t++)
			if (subscribes(g, m, t) != subscribes(g, 0, t))
				return false;
	return true;
}

static int
scratch_size(const Group *g)
{
	int nsubscriptions = 0;

	for (int m = 0; m < g->nmembers; m++)
		nsubscriptions += g->members[m].ntopics;
	return MK_ASSIGNOR_SCRATCH(g->nmembers, g->ntopics, nsubscriptions);
}

/* What no assignor may touch, around what it may. */
#define GUARD 0x5aa5a55a

/* Assigns; false if it wrote where it must not. */
static bool
group_assign(Group *g, MkAssignor assignor)
{
	int nscratch = scratch_size(g);
	int *owners = allocate(g->total + 2, sizeof(int));
	int *scratch = allocate(nscratch + 2, sizeof(int));
	bool passed;

	owners[0] = owners[g->total + 1] = GUARD;
	scratch[0] = scratch[nscratch + 1] = GUARD;
	memcpy(owners + 1, g->owners, g->total * sizeof(int));
	/* it may not count on what is in there */
	memset(scratch + 1, 0xa5, nscratch * sizeof(int));
	mk_assign(assignor, g->members, g->nmembers, g->npartitions, g->ntopics,
			  owners + 1, scratch + 1);
	memcpy(g->owners, owners + 1, g->total * sizeof(int));
	passed = owners[0] == GUARD && owners[g->total + 1] == GUARD &&
		scratch[0] == GUARD && scratch[nscratch + 1] == GUARD;
	free(owners);
	free(scratch);
	return passed;
}

/* ---------------------------------------------------------------------------
 * Kafka's cases
 */

typedef struct Case
{
	const char *name;
	MkAssignor assignor;
	const char *topics; /* "NAME:PARTITIONS ...", by name */
	const char *members; /* "ID:TOPIC,TOPIC ...", or "ID/INSTANCE:..." */
	const char *before; /* "ID=t0p0,t0p1 ...", or "ID@GENERATION=..." */
	const char *expected; /* the same; what is not in it has no owner */
} Case;

#define STICKY     MK_ASSIGNOR_STICKY
#define RANGE      MK_ASSIGNOR_RANGE
#define ROUNDROBIN MK_ASSIGNOR_ROUNDROBIN

static const Case cases[] = {
	{"Kafka case A01: range", RANGE, "t0:3 t1:3", "C0:t0,t1 C1:t0,t1", "",
	 "C0=t0p0,t0p1,t1p0,t1p1 C1=t0p2,t1p2"},
	{"Kafka case A02: range, no topic", RANGE, "t0:1", "C0:", "", "C0="},
	{"Kafka case A02: range, a topic that there is not", RANGE, "", "C0:", "",
	 "C0="},
	{"Kafka case A04: range", RANGE, "t:2", "c1:t c2:t", "", "c1=tp0 c2=tp1"},
	{"Kafka case A05: range, two subscriptions", RANGE, "t1:3 t2:2",
	 "c1:t1 c2:t1,t2 c3:t1", "", "c1=t1p0 c2=t1p1,t2p0,t2p1 c3=t1p2"},
	{"Kafka case A07: range, static members", RANGE, "t1:5 t2:4",
	 "c4:t1,t2 x/i3:t1,t2 y/i1:t1,t2 z/i2:t1,t2", "",
	 "y=t1p0,t1p1,t2p0 z=t1p2,t2p1 x=t1p3,t2p2 c4=t1p4,t2p3"},
	{"Kafka case A07: range, another in place of the dynamic one", RANGE,
	 "t1:5 t2:4", "c5:t1,t2 x/i3:t1,t2 y/i1:t1,t2 z/i2:t1,t2",
	 "y=t1p0,t1p1,t2p0 z=t1p2,t2p1 x=t1p3,t2p2",
	 "y=t1p0,t1p1,t2p0 z=t1p2,t2p1 x=t1p3,t2p2 c5=t1p4,t2p3"},
	{"Kafka case A08: range, static members", RANGE, "t1:5 t2:5",
	 "a/i1:t1,t2 b/i2:t1,t2 c/i3:t1,t2", "",
	 "a=t1p0,t1p1,t2p0,t2p1 b=t1p2,t1p3,t2p2,t2p3 c=t1p4,t2p4"},
	{"Kafka case A08: range, member ids swapped", RANGE, "t1:5 t2:5",
	 "c/i1:t1,t2 a/i2:t1,t2 b/i3:t1,t2", "",
	 "c=t1p0,t1p1,t2p0,t2p1 a=t1p2,t1p3,t2p2,t2p3 b=t1p4,t2p4"},
	{"Kafka case A10: range, three subscriptions", RANGE, "t1:3 t2:3 t3:2",
	 "A:t1,t2 B:t3 C:t2,t3", "",
	 "A=t1p0,t1p1,t1p2,t2p0,t2p1 B=t3p0 C=t2p2,t3p1"},
	{"Kafka case A11: roundrobin", ROUNDROBIN, "t0:3 t1:3", "C0:t0,t1 C1:t0,t1",
	 "", "C0=t0p0,t0p2,t1p1 C1=t0p1,t1p0,t1p2"},
	{"Kafka case A12: roundrobin, three subscriptions", ROUNDROBIN,
	 "t0:1 t1:2 t2:3", "C0:t0 C1:t0,t1 C2:t0,t1,t2", "",
	 "C0=t0p0 C1=t1p0 C2=t1p1,t2p0,t2p1,t2p2"},
	{"Kafka case A13: roundrobin, C0 has left", ROUNDROBIN, "t0:1 t1:2 t2:3",
	 "C1:t0,t1 C2:t0,t1,t2", "C1=t1p0 C2=t1p1,t2p0,t2p1,t2p2",
	 "C1=t0p0,t1p1 C2=t1p0,t2p0,t2p1,t2p2"},
	{"Kafka case A14: roundrobin, static members", ROUNDROBIN, "t1:3 t2:3",
	 "c4:t1,t2 x/i3:t1,t2 y/i1:t1,t2 z/i2:t1,t2", "",
	 "y=t1p0,t2p1 z=t1p1,t2p2 x=t1p2 c4=t2p0"},
	{"Kafka case A16: roundrobin, members in no order", ROUNDROBIN,
	 "topic-A:14 topic-B:5",
	 "member-3:topic-A,topic-B member-1:topic-A,topic-B "
	 "member-4:topic-A,topic-B member-2:topic-A,topic-B",
	 "",
	 "member-1=topic-A-0,topic-A-4,topic-A-8,topic-A-12,topic-B-2 "
	 "member-2=topic-A-1,topic-A-5,topic-A-9,topic-A-13,topic-B-3 "
	 "member-3=topic-A-2,topic-A-6,topic-A-10,topic-B-0,topic-B-4 "
	 "member-4=topic-A-3,topic-A-7,topic-A-11,topic-B-1"},
	{"Kafka case A17: sticky", STICKY, "t0:2 t1:2 t2:2 t3:2",
	 "C0:t0,t1,t2,t3 C1:t0,t1,t2,t3 C2:t0,t1,t2,t3", "",
	 "C0=t0p0,t1p1,t3p0 C1=t0p1,t2p0,t3p1 C2=t1p0,t2p1"},
	{"Kafka case A19: sticky, three subscriptions", STICKY, "t0:1 t1:2 t2:3",
	 "C0:t0 C1:t0,t1 C2:t0,t1,t2", "",
	 "C0=t0p0 C1=t1p0,t1p1 C2=t2p0,t2p1,t2p2"},
	{"Kafka case A20: sticky, C0 has left", STICKY, "t0:1 t1:2 t2:3",
	 "C1:t0,t1 C2:t0,t1,t2", "C1=t1p0,t1p1 C2=t2p0,t2p1,t2p2",
	 "C1=t0p0,t1p0,t1p1 C2=t2p0,t2p1,t2p2"},
	{"Kafka case A22: sticky", STICKY, "t1:3 t2:4", "c1:t1,t2 c2:t1,t2", "",
	 "c1=t1p0,t1p2,t2p1,t2p3 c2=t1p1,t2p0,t2p2"},
	{"Kafka case A22: sticky, c3 and c4 have joined", STICKY, "t1:3 t2:4",
	 "c1:t1,t2 c2:t1,t2 c3:t1,t2 c4:t1,t2",
	 "c1=t1p0,t1p2,t2p1,t2p3 c2=t1p1,t2p0,t2p2",
	 "c1=t1p0,t2p1 c2=t2p0,t1p1 c3=t1p2,t2p3 c4=t2p2"},
	{"Kafka case A22: sticky, c1 and c2 have left", STICKY, "t1:3 t2:4",
	 "c3:t1,t2 c4:t1,t2", "c3=t1p2,t2p3 c4=t2p2",
	 "c3=t1p2,t2p3,t1p0,t2p1 c4=t2p2,t1p1,t2p0"},
	{"Kafka case A23: sticky, one partition has no owner", STICKY, "t1:2 t2:3",
	 "c1:t1,t2 c2:t1,t2", "c1=t1p0,t2p1 c2=t1p1,t2p2",
	 "c1=t1p0,t2p1,t2p0 c2=t1p1,t2p2"},
	{"Kafka case A25: sticky, a stale claim", STICKY, "topic:3 topic2:3",
	 "c1:topic,topic2 c2:topic,topic2",
	 "c1@10=topic-0,topic-2,topic2-1 c2@9=topic-0,topic-2,topic2-1",
	 "c1=topic-0,topic-2,topic2-1 c2=topic-1,topic2-0,topic2-2"},
	/* cooperative: that is the round after the next, all that there is here */
	{"Kafka case A26: sticky, a double claim", STICKY, "topic:3",
	 "c1:topic c2:topic c3:topic", "c1=topic-0,topic-1 c2=topic-0,topic-2",
	 "c1=topic-1 c2=topic-2 c3=topic-0"},
	{"Kafka case A31: sticky, claims of three generations", STICKY,
	 "topic:3 topic2:3 topic3:3",
	 "c1:topic,topic2,topic3 c2:topic,topic2,topic3 c3:topic,topic2,topic3",
	 "c1@10=topic-0,topic2-0,topic3-0 c2@9=topic-1,topic2-1,topic3-1 "
	 "c3@8=topic2-1,topic3-0,topic3-2",
	 "c1=topic-0,topic2-0,topic3-0 c2=topic-1,topic2-1,topic3-1 "
	 "c3=topic-2,topic2-2,topic3-2"},
	{"Kafka case A32: sticky, nothing moves between members", STICKY,
	 "topic:3 topic1:3 topic2:3 topic3:3",
	 "c1:topic,topic1,topic2,topic3 c2:topic,topic1,topic2,topic3 "
	 "c3:topic,topic1,topic2,topic3 c4:topic,topic1,topic2,topic3",
	 "c2@9=topic-0,topic2-0,topic1-0 c3@8=topic3-2,topic2-2,topic1-1 "
	 "c4@7=topic3-1,topic-1,topic-2",
	 "c1=topic1-2,topic2-1,topic3-0 c2=topic-0,topic2-0,topic1-0 "
	 "c3=topic3-2,topic2-2,topic1-1 c4=topic3-1,topic-1,topic-2"},

	{"sticky: more members than partitions", STICKY, "t:2", "a:t b:t c:t", "",
	 "a=tp0 b=tp1"},
	{"sticky: the owner keeps a partition, though others come first", STICKY,
	 "t:2", "a:t b:t c:t d:t", "d=tp0 c=tp1", "d=tp0 c=tp1"},
	{"range: more members than partitions", RANGE, "t:2", "a:t b:t c:t", "",
	 "a=tp0 b=tp1"},
	{"roundrobin: more members than partitions", ROUNDROBIN, "t:2",
	 "a:t b:t c:t", "", "a=tp0 b=tp1"},
	{"roundrobin: goes on with the next member in the next topic", ROUNDROBIN,
	 "t1:1 t2:1", "a:t1,t2 b:t1,t2", "", "a=t1p0 b=t2p0"},
	{"static members come first, by their instance", ROUNDROBIN, "t:4",
	 "a:t b:t z/i1:t y/i2:t", "", "z=tp0 y=tp1 a=tp2 b=tp3"},
	{"sticky: a topic without subscribers is free", STICKY, "t1:2 t2:2",
	 "a:t1 b:t1", "a=t1p0,t2p0 b=t1p1,t2p1", "a=t1p0 b=t1p1"},
	{"sticky: a member that no longer subscribes gives it away", STICKY,
	 "t1:2 t2:2", "a:t1 b:t1,t2", "a=t1p0,t2p0 b=t1p1,t2p1",
	 "a=t1p0,t1p1 b=t2p0,t2p1"},
};

static int
find_topic(const Group *g, const char *name, size_t length)
{
	for (int t = 0; t < g->ntopics; t++)
		if (strlen(g->topic_names[t]) == length &&
			strncmp(g->topic_names[t], name, length) == 0)
			return t;
	printf("Bail out! no topic in \"%s\"\n", name);
	exit(1);
}

static int
find_member(const Group *g, const char *id, size_t length)
{
	for (int m = 0; m < g->nmembers; m++)
		if (strlen(g->members[m].member_id) == length &&
			strncmp(g->members[m].member_id, id, length) == 0)
			return m;
	printf("Bail out! no member in \"%s\"\n", id);
	exit(1);
}

/* The next word of a text, up to a blank; NULL at the end. */
static const char *
next_word(const char **text, char *word, size_t size)
{
	size_t length;

	*text += strspn(*text, " ");
	length = strcspn(*text, " ");
	if (length == 0)
		return NULL;
	if (length >= size)
	{
		printf("Bail out! too long: \"%s\"\n", *text);
		exit(1);
	}
	memcpy(word, *text, length);
	word[length] = '\0';
	*text += length;
	return word;
}

static void
parse_topics(Group *g, const char *text)
{
	char word[MAX_NAME];

	g->topic_names = allocate(8, sizeof(*g->topic_names));
	g->npartitions = allocate(8, sizeof(int));
	while (next_word(&text, word, sizeof(word)) != NULL)
	{
		char *colon = strchr(word, ':');

		*colon = '\0';
		strcpy(g->topic_names[g->ntopics], word);
		g->npartitions[g->ntopics] = atoi(colon + 1);
		g->total += g->npartitions[g->ntopics++];
	}
	g->owners = allocate(g->total, sizeof(int));
}

static void
parse_members(Group *g, const char *text)
{
	char word[128];

	g->members = allocate(8, sizeof(MkAssignorMember));
	while (next_word(&text, word, sizeof(word)) != NULL)
	{
		MkAssignorMember *m = &g->members[g->nmembers++];
		char *name = strchr(word, ':');
		char *instance;
		int *topics = allocate(8, sizeof(int));

		*name++ = '\0';
		instance = strchr(word, '/');
		if (instance != NULL)
			*instance++ = '\0';
		m->member_id = duplicate(word);
		m->instance_id = instance != NULL ? duplicate(instance) : NULL;
		m->topics = topics;
		while (*name != '\0')
		{
			size_t length = strcspn(name, ",");

			topics[m->ntopics++] = find_topic(g, name, length);
			name += length + (name[length] == ',');
		}
	}
	qsort(g->members, g->nmembers, sizeof(MkAssignorMember),
		  mk_assignor_compare);
}

/* Sets owners; of two claims of one generation none counts. */
static void
parse_owners(const Group *g, const char *text, int *owners)
{
	char word[256];
	int *generations = allocate(g->total, sizeof(int));

	for (int i = 0; i < g->total; i++)
		owners[i] = generations[i] = -1;
	while (next_word(&text, word, sizeof(word)) != NULL)
	{
		char *name = strchr(word, '=');
		char *at;
		int generation = 0;
		int member;

		*name++ = '\0';
		at = strchr(word, '@');
		if (at != NULL)
		{
			*at++ = '\0';
			generation = atoi(at);
		}
		member = find_member(g, word, strlen(word));
		while (*name != '\0')
		{
			size_t length = strcspn(name, ",");
			size_t digits = 0;
			int i;

			/* t0p1 or topic-1 */
			while (strchr("0123456789", name[length - digits - 1]) != NULL)
				digits++;
			i = first_of_topic(g, find_topic(g, name, length - digits - 1)) +
				atoi(name + length - digits);
			if (generation > generations[i])
				owners[i] = member;
			else if (generation == generations[i])
				owners[i] = -1;
			if (generation > generations[i])
				generations[i] = generation;
			name += length + (name[length] == ',');
		}
	}
	free(generations);
}

static void
print_owners(const Group *g, const char *what, const int *owners)
{
	int i = 0;

	printf("# %s:", what);
	for (int t = 0; t < g->ntopics; t++)
		for (int p = 0; p < g->npartitions[t]; p++, i++)
			printf(" %s-%d=%s", g->topic_names[t], p,
				   owners[i] >= 0 && owners[i] < g->nmembers
					   ? g->members[owners[i]].member_id
					   : "nobody");
	printf("\n");
}

static void
test_case(const Case *c)
{
	Group g = {0};
	int *expected;
	bool passed;

	parse_topics(&g, c->topics);
	parse_members(&g, c->members);
	parse_owners(&g, c->before, g.owners);
	expected = allocate(g.total, sizeof(int));
	parse_owners(&g, c->expected, expected);

	passed = group_assign(&g, c->assignor) &&
		memcmp(g.owners, expected, g.total * sizeof(int)) == 0;
	ok(passed, c->name);
	if (!passed)
	{
		print_owners(&g, "got", g.owners);
		print_owners(&g, "expected", expected);
	}
	free(expected);
	group_free(&g);
}

/* ---------------------------------------------------------------------------
 * What holds whatever the group is
 */

static uint64_t random_state = 1;

/* From 0 to n - 1; always the same numbers, so that a failure comes again. */
static int
random_below(int n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (int) (random_state % (uint64_t) n);
}

/*
 * Kafka case A29.  Returns what is wrong, or NULL.
 */
static const char *
check_valid(const Group *g)
{
	int i = 0;

	for (int t = 0; t < g->ntopics; t++)
	{
		bool anybody = false;

		for (int m = 0; m < g->nmembers; m++)
			anybody = anybody || subscribes(g, m, t);
		for (int p = 0; p < g->npartitions[t]; p++, i++)
		{
			if (!anybody && g->owners[i] != -1)
				return "a topic without subscribers has an owner";
			if (!anybody)
				continue;
			if (g->owners[i] < 0 || g->owners[i] >= g->nmembers)
				return "a partition has no owner";
			if (!subscribes(g, g->owners[i], t))
				return "an owner does not subscribe to its partition";
		}
	}
	return NULL;
}

/* How many partitions each member has, of one topic or (-1) of all. */
static int *
count_partitions(const Group *g, const int *owners, int topic)
{
	int *counts = allocate(g->nmembers, sizeof(int));
	int i = 0;

	for (int t = 0; t < g->ntopics; t++)
		for (int p = 0; p < g->npartitions[t]; p++, i++)
			if (owners[i] >= 0 && (topic < 0 || topic == t))
				counts[owners[i]]++;
	return counts;
}

/*
 * Of each topic, its subscribers have as many, the first ones one more; and they
 * have them in their order.
 */
static const char *
check_range(const Group *g)
{
	for (int t = 0; t < g->ntopics; t++)
	{
		const int *owners = g->owners + first_of_topic(g, t);
		int *counts = count_partitions(g, g->owners, t);
		int nsubscribers = 0;
		int nth = 0;
		bool even = true;

		for (int m = 0; m < g->nmembers; m++)
			nsubscribers += subscribes(g, m, t);
		for (int m = 0; m < g->nmembers; m++)
			if (subscribes(g, m, t))
			{
				int share = g->npartitions[t] / nsubscribers +
					(nth++ < g->npartitions[t] % nsubscribers);

				even = even && counts[m] == share;
			}
		free(counts);
		if (!even)
			return "range is not even in a topic";
		for (int p = 1; p < g->npartitions[t]; p++)
			if (owners[p] < owners[p - 1])
				return "range is not in order in a topic";
	}
	return NULL;
}

/* All members have as many, or one less. */
static const char *
check_even(const Group *g)
{
	int *counts = count_partitions(g, g->owners, -1);
	int least = 0;
	int most = 0;

	for (int m = 0; m < g->nmembers; m++)
	{
		if (counts[m] < counts[least])
			least = m;
		if (counts[m] > counts[most])
			most = m;
	}
	least = g->nmembers > 0 ? counts[most] - counts[least] : 0;
	free(counts);
	return least > 1 ? "sizes differ by more than one" : NULL;
}

/* No partition has a subscriber that has two less than its owner. */
static const char *
check_balanced(const Group *g)
{
	int *counts = count_partitions(g, g->owners, -1);
	const char *wrong = NULL;

	for (int t = 0, i = 0; t < g->ntopics; t++)
		for (int p = 0; p < g->npartitions[t]; p++, i++)
			for (int m = 0; g->owners[i] >= 0 && m < g->nmembers; m++)
				if (subscribes(g, m, t) && counts[m] < counts[g->owners[i]] - 1)
					wrong = "a subscriber has two less than the owner";
	free(counts);
	return wrong;
}

static int
compare_downwards(const void *a, const void *b)
{
	return *(const int *) b - *(const int *) a;
}

/*
 * Equal subscriptions: how many partitions can stay where they were.  Each
 * member has a share, some one more; those shares go to the members that have had the most.
 */
static int
most_kept(const Group *g, const int *before)
{
	int *had = allocate(g->nmembers, sizeof(int));
	int subscribed = 0;
	int kept = 0;
	int i = 0;

	for (int t = 0; t < g->ntopics; t++)
		for (int p = 0; p < g->npartitions[t]; p++, i++)
			if (g->nmembers > 0 && subscribes(g, 0, t))
			{
				subscribed++;
				if (before[i] >= 0)
					had[before[i]]++;
			}
	qsort(had, g->nmembers, sizeof(int), compare_downwards);
	for (int m = 0; m < g->nmembers; m++)
	{
		int share = subscribed / g->nmembers + (m < subscribed % g->nmembers);

		kept += had[m] < share ? had[m] : share;
	}
	free(had);
	return kept;
}

static int
count_kept(const Group *g, const int *before)
{
	int kept = 0;

	for (int i = 0; i < g->total; i++)
		if (before[i] >= 0 && before[i] == g->owners[i])
			kept++;
	return kept;
}

/* Assigns, and looks at all that must hold then. */
static const char *
assign_and_check(Group *g, MkAssignor assignor)
{
	int *before = allocate(g->total, sizeof(int));
	const char *wrong;

	memcpy(before, g->owners, g->total * sizeof(int));
	wrong =
		group_assign(g, assignor) ? check_valid(g) : "a write out of bounds";
	if (wrong == NULL && assignor == RANGE)
		wrong = check_range(g);
	if (wrong == NULL && assignor != RANGE && all_subscribe_alike(g))
		wrong = check_even(g);
	if (wrong == NULL && assignor == STICKY)
	{
		wrong = check_balanced(g);
		if (wrong == NULL && all_subscribe_alike(g) &&
			count_kept(g, before) != most_kept(g, before))
			wrong = "more partitions could have stayed";
	}
	if (wrong == NULL)
	{
		memcpy(before, g->owners, g->total * sizeof(int));
		if (!group_assign(g, assignor) ||
			memcmp(before, g->owners, g->total * sizeof(int)) != 0)
			wrong = "assigning again changes something";
	}
	free(before);
	return wrong;
}

/* A member with a new id; its topics are to be set. */
static void
random_member(Group *g, MkAssignorMember *m, int id)
{
	char text[MAX_NAME];

	memset(m, 0, sizeof(*m));
	snprintf(text, sizeof(text), "member-%d", id);
	m->member_id = duplicate(text);
	/* an order that is not that of the ids */
	snprintf(text, sizeof(text), "instance-%d", id * 7919 % 10007);
	m->instance_id = random_below(4) == 0 ? duplicate(text) : NULL;
	m->topics = allocate(g->ntopics, sizeof(int));
}

static void
random_topics(const Group *g, MkAssignorMember *m, int one_in)
{
	m->ntopics = 0;
	for (int t = 0; t < g->ntopics; t++)
		if (random_below(one_in) == 0)
			((int *) m->topics)[m->ntopics++] = t;
}

static void
same_topics(MkAssignorMember *m, const MkAssignorMember *as)
{
	m->ntopics = as->ntopics;
	memcpy((int *) m->topics, as->topics, as->ntopics * sizeof(int));
}

/* Members, topics and previous owners by chance; half of the groups alike. */
static void
random_group(Group *g)
{
	bool alike = random_below(2) == 0;
	int one_in = 1 + random_below(3);

	memset(g, 0, sizeof(*g));
	g->ntopics = random_below(6);
	g->npartitions = allocate(g->ntopics, sizeof(int));
	for (int t = 0; t < g->ntopics; t++)
		g->total += g->npartitions[t] = random_below(10);
	g->nmembers = random_below(8);
	g->members = allocate(g->nmembers, sizeof(MkAssignorMember));
	for (int m = 0; m < g->nmembers; m++)
	{
		random_member(g, &g->members[m], random_below(1000) * 10 + m);
		random_topics(g, &g->members[m], one_in);
		if (alike && m > 0)
			same_topics(&g->members[m], &g->members[0]);
	}
	qsort(g->members, g->nmembers, sizeof(MkAssignorMember),
		  mk_assignor_compare);
	g->owners = allocate(g->total, sizeof(int));
	/* also such as do not subscribe to it */
	for (int i = 0; i < g->total; i++)
		g->owners[i] =
			g->nmembers == 0 ? -1 : random_below(g->nmembers + 1) - 1;
}

static const char *const assignor_names[] = {
	[MK_ASSIGNOR_STICKY] = "sticky",
	[MK_ASSIGNOR_RANGE] = "range",
	[MK_ASSIGNOR_ROUNDROBIN] = "roundrobin",
};

static void
report(MkAssignor assignor, const char *what, int n, const char *wrong)
{
	char text[128];

	snprintf(text, sizeof(text), "%s: %s", assignor_names[assignor], what);
	ok(wrong == NULL, text);
	if (wrong != NULL)
		printf("# number %d: %s\n", n, wrong);
}

static void
test_random_groups(MkAssignor assignor)
{
	const char *wrong = NULL;
	int n;

	random_state = 88172645463325252;
	for (n = 0; wrong == NULL && n < 20000; n++)
	{
		Group g;

		random_group(&g);
		wrong = assign_and_check(&g, assignor);
		group_free(&g);
	}
	report(assignor, "Kafka case A29: 20,000 groups by chance", n, wrong);
}

/* ---------------------------------------------------------------------------
 * Members that come and go
 */

/* The owners by the ids of the members, which have other numbers then. */
static const char **
owner_ids(const Group *g)
{
	const char **ids = allocate(g->total, sizeof(char *));

	for (int i = 0; i < g->total; i++)
		ids[i] = g->owners[i] >= 0 ? g->members[g->owners[i]].member_id : NULL;
	return ids;
}

static void
set_owners(Group *g, const char **ids)
{
	for (int i = 0; i < g->total; i++)
	{
		g->owners[i] = -1;
		for (int m = 0; ids[i] != NULL && m < g->nmembers; m++)
			if (g->members[m].member_id == ids[i])
				g->owners[i] = m;
	}
}

/*
 * One step: a member joins or leaves, or (not "alike") subscribes to others.
 * Where all subscribe alike, and have done, only what must moves: to the
 * joiner, or from the one that has left.
 */
static const char *
random_step(Group *g, MkAssignor assignor, bool alike, int id)
{
	const char **ids = owner_ids(g);
	const char *joined = NULL;
	char *left = NULL;
	const char *wrong;
	int kind = random_below(alike ? 2 : 3);

	if (g->nmembers < 12 && (g->nmembers == 0 || kind == 0))
	{
		MkAssignorMember *m = &g->members[g->nmembers++];

		random_member(g, m, id);
		random_topics(g, m, alike ? 1 : 2);
		joined = m->member_id;
	}
	else if (kind < 2)
	{
		int m = random_below(g->nmembers);

		left = (char *) g->members[m].member_id;
		free((char *) g->members[m].instance_id);
		free((int *) g->members[m].topics);
		g->members[m] = g->members[--g->nmembers];
	}
	else
		random_topics(g, &g->members[random_below(g->nmembers)], 2);
	qsort(g->members, g->nmembers, sizeof(MkAssignorMember),
		  mk_assignor_compare);
	set_owners(g, ids);

	wrong = assign_and_check(g, assignor);
	for (int i = 0;
		 wrong == NULL && alike && assignor == STICKY && i < g->total; i++)
	{
		const char *now =
			g->owners[i] >= 0 ? g->members[g->owners[i]].member_id : NULL;

		if (now != ids[i] && ids[i] != NULL && now != joined && ids[i] != left)
			wrong = "a partition moves between members that stay";
	}
	free(left);
	free(ids);
	return wrong;
}

static void
test_random_steps(MkAssignor assignor, bool alike)
{
	const char *wrong = NULL;
	int n = 0;

	random_state = 88172645463325252;
	for (int sequence = 0; wrong == NULL && sequence < 100; sequence++)
	{
		Group g = {0};

		g.ntopics = 1 + random_below(4);
		g.npartitions = allocate(g.ntopics, sizeof(int));
		for (int t = 0; t < g.ntopics; t++)
			g.total += g.npartitions[t] = 1 + random_below(8);
		g.members = allocate(12, sizeof(MkAssignorMember));
		g.owners = allocate(g.total, sizeof(int));
		memset(g.owners, -1, g.total * sizeof(int));
		for (int step = 0; wrong == NULL && step < 100; step++)
			wrong = random_step(&g, assignor, alike, ++n);
		group_free(&g);
	}
	report(assignor,
		   alike ? "10,000 joins and leaves, all subscribe alike"
				 : "10,000 joins, leaves and other subscriptions",
		   n, wrong);
}

/* ---------------------------------------------------------------------------
 * Limits
 */

static void
test_nothing(MkAssignor assignor)
{
	int partitions = 3;
	int owners[] = {0, 5, -1};
	int topics[] = {0};
	int scratch[MK_ASSIGNOR_SCRATCH(2, 1, 1)];
	MkAssignorMember members[2] = {
		{.member_id = "a", .ntopics = 1, .topics = topics},
		{.member_id = "b", .ntopics = 0, .topics = topics}};

	mk_assign(assignor, NULL, 0, &partitions, 1, owners, scratch);
	report(assignor, "no members", 0,
		   owners[0] == -1 && owners[1] == -1 && owners[2] == -1
			   ? NULL
			   : "a partition has an owner");

	mk_assign(assignor, NULL, 0, NULL, 0, NULL, NULL);
	mk_assign(assignor, members, 2, NULL, 0, NULL, scratch);
	partitions = 0;
	mk_assign(assignor, members, 2, &partitions, 1, NULL, scratch);
	report(assignor, "no topics, and no partitions", 0, NULL);
}

#define LARGE_MEMBERS    1000
#define LARGE_PARTITIONS 10000

/*
 * 1000 members and 10000 partitions, which a few of them have had, subscribed
 * or not.  The time is printed, for readers of the output.  Then a tenth of the
 * members leaves, and the rest is assigned again.
 */
static void
test_large(MkAssignor assignor, int ntopics, int one_in)
{
	Group g = {0};
	clock_t start;
	bool passed;
	const char *wrong = NULL;
	char text[128];

	random_state = 88172645463325252;
	g.ntopics = ntopics;
	g.npartitions = allocate(ntopics, sizeof(int));
	for (int t = 0; t < ntopics; t++)
		g.total += g.npartitions[t] = LARGE_PARTITIONS / ntopics;
	g.members = allocate(LARGE_MEMBERS, sizeof(MkAssignorMember));
	for (int m = 0; m < LARGE_MEMBERS; m++)
	{
		random_member(&g, &g.members[m], m);
		random_topics(&g, &g.members[m], one_in);
	}
	g.nmembers = LARGE_MEMBERS;
	qsort(g.members, g.nmembers, sizeof(MkAssignorMember), mk_assignor_compare);
	g.owners = allocate(g.total, sizeof(int));
	for (int i = 0; i < g.total; i++)
		g.owners[i] = random_below(10);

	for (int round = 0; wrong == NULL && round < 2; round++)
	{
		start = clock();
		passed = group_assign(&g, assignor);
		printf("# %s, %d members, %d topics%s: %.1f ms\n",
			   assignor_names[assignor], g.nmembers, ntopics,
			   one_in > 1 ? ", subscriptions differ" : "",
			   (double) (clock() - start) * 1000 / CLOCKS_PER_SEC);
		wrong = passed ? check_valid(&g) : "a write out of bounds";
		if (wrong == NULL && one_in == 1 && assignor != RANGE)
			wrong = check_even(&g);
		while (g.nmembers > LARGE_MEMBERS - LARGE_MEMBERS / 10)
		{
			MkAssignorMember *m = &g.members[--g.nmembers];

			free((char *) m->member_id);
			free((char *) m->instance_id);
			free((int *) m->topics);
		}
		for (int i = 0; i < g.total; i++)
			if (g.owners[i] >= g.nmembers)
				g.owners[i] = -1;
	}
	snprintf(text, sizeof(text), "%d members, %d partitions of %d topics%s",
			 LARGE_MEMBERS, g.total, ntopics,
			 one_in > 1 ? ", subscriptions differ" : "");
	report(assignor, text, 0, wrong);
	group_free(&g);
}

int
main(void)
{
	static const MkAssignor assignors[] = {STICKY, RANGE, ROUNDROBIN};

	printf("1..%d\n", lengthof(cases) + lengthof(assignors) * 10);

	for (int i = 0; i < lengthof(cases); i++)
		test_case(&cases[i]);
	for (int i = 0; i < lengthof(assignors); i++)
	{
		test_random_groups(assignors[i]);
		test_random_steps(assignors[i], true);
		test_random_steps(assignors[i], false);
		test_nothing(assignors[i]);
		test_large(assignors[i], 1, 1);
		test_large(assignors[i], 10, 1);
		test_large(assignors[i], 10, 2);
		test_large(assignors[i], 100, 2);
		test_large(assignors[i], 1000, 10);
	}

	return tests_failed > 0;
}
