/*
 * mk_murmur2.h
 *		Hashes of keys, and the partitions that they choose.
 *
 * Pure functions of bytes, without PostgreSQL's types, memory or errors, so
 * that the unit test compiles them alone.
 */
#ifndef MK_MURMUR2_H
#define MK_MURMUR2_H

#include <stddef.h>
#include <stdint.h>

/*
 * Murmur2 of "len" bytes at "data", as Kafka's Java client computes it for the
 * bytes of a record key.  The result is the same on every machine.  "data"
 * needs no alignment, may contain zero bytes, and may be NULL if "len" is 0.
 */
extern int32_t mk_murmur2(const unsigned char *data, size_t len);

/*
 * The partition, 0 to "partitions" - 1, for a key with this murmur2 value.
 * "partitions" must be positive.
 */
extern int mk_murmur2_partition(int32_t hash, int partitions);

/*
 * The partition, 0 to "partitions" - 1, for a key with this MD5 digest: its
 * first four bytes as a big-endian unsigned number, modulo "partitions", which
 * must be positive.
 */
extern int mk_md5_partition(const unsigned char digest[16], int partitions);

#endif /* MK_MURMUR2_H */
