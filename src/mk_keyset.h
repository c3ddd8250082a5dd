/*
 * mk_keyset.h
 *		A set of keys, which are strings of bytes, in a limited amount of
 *		memory.
 */
#ifndef MK_KEYSET_H
#define MK_KEYSET_H

typedef struct MkKeySet MkKeySet;

/*
 * Makes a set in the current memory context, which takes about "bytes" at
 * most.
 */
extern MkKeySet *mk_keyset_make(Size bytes);
extern void mk_keyset_free(MkKeySet *set);

/* Removes all keys. */
extern void mk_keyset_reset(MkKeySet *set);
extern bool mk_keyset_is_empty(const MkKeySet *set);

extern bool mk_keyset_has(MkKeySet *set, const char *key, uint32 length);

typedef enum MkKeyAdded
{
	MK_KEY_ADDED,
	MK_KEY_KNOWN, /* the set has it already */
	MK_KEY_NO_ROOM /* there is no room for it; never for the first key */
} MkKeyAdded;

/* Adds a copy of the key. */
extern MkKeyAdded mk_keyset_add(MkKeySet *set, const char *key, uint32 length);

#endif /* MK_KEYSET_H */
