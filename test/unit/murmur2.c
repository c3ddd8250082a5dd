/*
 * murmur2.c
 *		Unit test of src/mk_murmur2.c, without PostgreSQL.
 *
 * Compile it together with that file, with FRONTEND defined and src in the
 * include path.  Prints TAP, and fails if a test failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mk_murmur2.h"
#include "murmur2_vectors.h"

#define lengthof(array) ((int) (sizeof(array) / sizeof((array)[0])))

static int tests_run = 0;
static int tests_failed = 0;

static void
ok(bool passed, const char *what, const char *key)
{
	tests_run++;
	if (!passed)
		tests_failed++;
	printf("%s %d - %s of \"%s\"\n", passed ? "ok" : "not ok", tests_run, what,
		   key);
}

static void
diagnose(const char *what, long got, long expected)
{
	printf("# %s: got %ld, expected %ld\n", what, got, expected);
}

static void
test_murmur2_hash(const Murmur2Vector *v)
{
	int32_t hash = mk_murmur2((const unsigned char *) v->key, v->len);

	ok(hash == v->hash, "murmur2", v->key);
	if (hash != v->hash)
		diagnose("murmur2", hash, v->hash);
}

static void
test_murmur2_partition(const Murmur2Vector *v)
{
	bool passed = true;
	int got[VECTOR_MODULI];
	int i;

	for (i = 0; i < VECTOR_MODULI; i++)
	{
		got[i] = mk_murmur2_partition(v->hash, vector_partitions[i]);
		passed = passed && got[i] == v->partition[i];
	}

	ok(passed, "murmur2 partitions", v->key);
	for (i = 0; !passed && i < VECTOR_MODULI; i++)
		diagnose("partition", got[i], v->partition[i]);
}

/*
 * Keys come from the middle of a tuple: every alignment must give the same,
 * and the bytes around the key must not count.
 */
static void
test_murmur2_alignment(const Murmur2Vector *v)
{
	bool passed = true;
	unsigned char buffer[128];
	size_t shift;

	for (shift = 0; shift < 8; shift++)
	{
		memset(buffer, 0xa5, sizeof(buffer));
		memcpy(buffer + shift, v->key, v->len);
		passed = passed && mk_murmur2(buffer + shift, v->len) == v->hash;
	}

	ok(passed, "murmur2 at any alignment", v->key);
}

static void
test_murmur2_limits(void)
{
	/* bytes are unsigned: the top bit must not be extended */
	static const unsigned char high[] = {0xff, 0xfe, 0x80, 0x81,
										 0xff, 0x80, 0xc3};
	static const int32_t expected[] = {275646681,  -311467685, 1717632651,
									   -160726397, 1055649942, -1698589602,
									   960487282,  -557017290};
	bool passed = true;
	int len;

	ok(mk_murmur2(NULL, 0) == 275646681, "murmur2", "(no bytes)");

	for (len = 0; len <= lengthof(high); len++)
	{
		int32_t hash = mk_murmur2(high, len);

		if (hash != expected[len])
		{
			passed = false;
			diagnose("murmur2", hash, expected[len]);
		}
	}
	ok(passed, "murmur2", "(bytes above 127)");

	ok(mk_murmur2_partition(INT32_MIN, 3) == 0 &&
		   mk_murmur2_partition(-1, 10) == 2147483647 % 10 &&
		   mk_murmur2_partition(INT32_MAX, 10) == 2147483647 % 10 &&
		   mk_murmur2_partition(-1, INT32_MAX) == 0 &&
		   mk_murmur2_partition(-973932308, 1) == 0,
	   "murmur2 partitions", "(limits)");
}

static int
md5_partition(uint32_t first, int partitions)
{
	unsigned char digest[16];

	/* only the first four bytes count */
	memset(digest, 0xa5, sizeof(digest));
	digest[0] = first >> 24;
	digest[1] = first >> 16 & 0xff;
	digest[2] = first >> 8 & 0xff;
	digest[3] = first & 0xff;

	return mk_md5_partition(digest, partitions);
}

static void
test_md5_partition(const Md5Vector *v)
{
	int partition = md5_partition(v->first, 3);

	ok(partition == v->partition_of_3, "md5 partition", v->key);
	if (partition != v->partition_of_3)
		diagnose("partition", partition, v->partition_of_3);
}

static void
test_md5_limits(void)
{
	ok(md5_partition(0, 3) == 0 && md5_partition(UINT32_MAX, 10) == 5 &&
		   md5_partition(UINT32_C(0x80000000), 100) == 48 &&
		   md5_partition(UINT32_MAX, INT32_MAX) == 1 &&
		   md5_partition(UINT32_MAX, 1) == 0,
	   "md5 partition", "(limits)");
}

int
main(void)
{
	int i;

	printf("1..%d\n",
		   3 * lengthof(murmur2_vectors) + lengthof(md5_vectors) + 4);

	for (i = 0; i < lengthof(murmur2_vectors); i++)
	{
		test_murmur2_hash(&murmur2_vectors[i]);
		test_murmur2_partition(&murmur2_vectors[i]);
		test_murmur2_alignment(&murmur2_vectors[i]);
	}
	test_murmur2_limits();

	for (i = 0; i < lengthof(md5_vectors); i++)
		test_md5_partition(&md5_vectors[i]);
	test_md5_limits();

	return tests_failed > 0;
}
