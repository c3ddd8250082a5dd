/*
 * mk_murmur2.c
 *		Hashes of keys, and the partitions that they choose.
 *
 * A topic that Kafka clients write to as well, or that was copied from a Kafka
 * cluster, keeps the order of each key only if every writer sends a key to the
 * same partition.  So the values here are those of Kafka's Java client, bit for
 * bit.  They must never change, because existing records are in the partitions
 * that these values chose.
 *
 * Java's int is signed and wraps around.  The code here uses unsigned
 * arithmetic, which wraps around in C too, and converts the result to a signed
 * number at the end.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include <assert.h>
#define Assert(condition) assert(condition)
#endif

#include "mk_murmur2.h"

#define MURMUR2_SEED       UINT32_C(0x9747b28c)
#define MURMUR2_MULTIPLIER UINT32_C(0x5bd1e995)

int32_t
mk_murmur2(const unsigned char *data, size_t len)
{
	uint32_t h = MURMUR2_SEED ^ (uint32_t) len;
	size_t i = 0;

	for (; len - i >= 4; i += 4)
	{
		/* little-endian on every machine */
		uint32_t k = (uint32_t) data[i] | (uint32_t) data[i + 1] << 8 |
			(uint32_t) data[i + 2] << 16 | (uint32_t) data[i + 3] << 24;

		k *= MURMUR2_MULTIPLIER;
		k ^= k >> 24;
		k *= MURMUR2_MULTIPLIER;
		h *= MURMUR2_MULTIPLIER;
		h ^= k;
	}

	/* the remaining one to three bytes, if any */
	if (i < len)
	{
		if (len - i >= 3)
			h ^= (uint32_t) data[i + 2] << 16;
		if (len - i >= 2)
			h ^= (uint32_t) data[i + 1] << 8;
		h ^= (uint32_t) data[i];
		h *= MURMUR2_MULTIPLIER;
	}

	h ^= h >> 13;
	h *= MURMUR2_MULTIPLIER;
	h ^= h >> 15;

	return (int32_t) h;
}

/*
 * Kafka clears the sign bit.  The absolute value, or the remainder of the
 * unsigned number, would send some keys to other partitions.
 */
int
mk_murmur2_partition(int32_t hash, int partitions)
{
	Assert(partitions > 0);

	return (int) (((uint32_t) hash & UINT32_C(0x7fffffff)) %
				  (uint32_t) partitions);
}

int
mk_md5_partition(const unsigned char digest[16], int partitions)
{
	uint32_t first;

	Assert(partitions > 0);

	first = (uint32_t) digest[0] << 24 | (uint32_t) digest[1] << 16 |
		(uint32_t) digest[2] << 8 | (uint32_t) digest[3];

	return (int) (first % (uint32_t) partitions);
}
