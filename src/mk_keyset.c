/*
 * mk_keyset.c
 *		A set of keys, which are strings of bytes, in a limited amount of
 *		memory.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "utils/memutils.h"

#include "mk_keyset.h"

/* Keys of up to so many bytes are in the table; longer ones are in chunks. */
#define MK_SHORT_BYTES 16
#define MK_CHUNK_BYTES (64 * 1024)

typedef struct MkKey
{
	union
	{
		char bytes[MK_SHORT_BYTES]; /* padded with 0 */
		uint64 words[MK_SHORT_BYTES / sizeof(uint64)];
		const char *pointer;
	} u;
	uint32 length;
} MkKey;

typedef struct MkKeyEntry
{
	MkKey key;
	uint32 hash;
	char status;
} MkKeyEntry;

/* A key as the table compares it; long keys are not copied. */
static MkKey
mk_key(const char *bytes, uint32 length)
{
	MkKey key = {.length = length};

	if (length <= MK_SHORT_BYTES)
		memcpy(key.u.bytes, bytes, length);
	else
		key.u.pointer = bytes;
	return key;
}

static inline bool
mk_key_equal(const MkKey *a, const MkKey *b)
{
	if (a->length != b->length)
		return false;
	return a->length <= MK_SHORT_BYTES
		? a->u.words[0] == b->u.words[0] && a->u.words[1] == b->u.words[1]
		: memcmp(a->u.pointer, b->u.pointer, a->length) == 0;
}

static inline uint32
mk_key_hash(const MkKey *key, uint64 seed)
{
	const char *bytes =
		key->length <= MK_SHORT_BYTES ? key->u.bytes : key->u.pointer;

	return (uint32) hash_bytes_extended((const unsigned char *) bytes,
										key->length, seed);
}

#define SH_PREFIX       mk_keys
#define SH_ELEMENT_TYPE MkKeyEntry
#define SH_KEY_TYPE     MkKey
#define SH_KEY          key
#define SH_HASH_KEY(table, key) \
	mk_key_hash(&(key), *(uint64 *) (table)->private_data)
#define SH_EQUAL(table, a, b) mk_key_equal(&(a), &(b))
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE                  static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct MkKeySet
{
	uint64 seed; /* so that no sender can choose keys that collide */
	MemoryContext context; /* of all below */
	Size limit;
	Size used; /* bytes of keys in chunks */
	char *chunk; /* the free part of the current chunk */
	Size room; /* and its size */
	mk_keys_hash *keys;
};

MkKeySet *
mk_keyset_make(Size bytes)
{
	MkKeySet *set = palloc0(sizeof(MkKeySet));

	set->context = AllocSetContextCreate(CurrentMemoryContext, "minikafka keys",
										 ALLOCSET_DEFAULT_SIZES);
	set->limit = bytes;
	set->seed = pg_prng_uint64(&pg_global_prng_state);
	mk_keyset_reset(set);
	return set;
}

void
mk_keyset_free(MkKeySet *set)
{
	MemoryContextDelete(set->context);
	pfree(set);
}

void
mk_keyset_reset(MkKeySet *set)
{
	MemoryContextReset(set->context);
	set->used = 0;
	set->chunk = NULL;
	set->room = 0;
	set->keys = mk_keys_create(set->context, 256, &set->seed);
}

bool
mk_keyset_is_empty(const MkKeySet *set)
{
	return set->keys->members == 0;
}

bool
mk_keyset_has(MkKeySet *set, const char *bytes, uint32 length)
{
	return mk_keys_lookup(set->keys, mk_key(bytes, length)) != NULL;
}

/* Copies a long key into a chunk. */
static const char *
mk_keyset_copy(MkKeySet *set, const char *bytes, uint32 length)
{
	char *copy;

	set->used += length;
	if (length > MK_CHUNK_BYTES / 8)
		copy = MemoryContextAllocHuge(set->context, length);
	else
	{
		if (length > set->room)
		{
			set->chunk = MemoryContextAlloc(set->context, MK_CHUNK_BYTES);
			set->room = MK_CHUNK_BYTES;
		}
		copy = set->chunk;
		set->chunk += length;
		set->room -= length;
	}
	memcpy(copy, bytes, length);
	return copy;
}

/*
 * Whether a key of this length fits.  The table doubles when it is nine tenths
 * full, and takes the memory of both sizes while it does.
 */
static bool
mk_keyset_has_room(const MkKeySet *set, uint32 length)
{
	Size table = set->keys->size * sizeof(MkKeyEntry);

	if (set->keys->members >= set->keys->grow_threshold)
		table *= 3;
	return mk_keyset_is_empty(set) || set->used + length + table <= set->limit;
}

MkKeyAdded
mk_keyset_add(MkKeySet *set, const char *bytes, uint32 length)
{
	MkKeyEntry *entry;
	bool found;

	if (!mk_keyset_has_room(set, length))
		return mk_keyset_has(set, bytes, length) ? MK_KEY_KNOWN
												 : MK_KEY_NO_ROOM;
	entry = mk_keys_insert(set->keys, mk_key(bytes, length), &found);
	if (found)
		return MK_KEY_KNOWN;
	if (length > MK_SHORT_BYTES)
		entry->key.u.pointer = mk_keyset_copy(set, bytes, length);
	return MK_KEY_ADDED;
}
