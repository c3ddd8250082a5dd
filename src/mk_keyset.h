/*
 * mk_keyset.h
 *		A set of keys, which are strings of bytes, in so much memory.
 */
#ifndef MK_KEYSET_H
#define MK_KEYSET_H

typedef struct MkKeySet MkKeySet;

/* Made in the current memory context; takes about "bytes" at most. */
extern MkKeySet *mk_keyset_make(Size bytes);
extern void mk_keyset_free(MkKeySet *set);

/* Takes all keys out. */
extern void mk_keyset_reset(MkKeySet *set);
extern bool mk_keyset_is_empty(const MkKeySet *set);

extern bool mk_keyset_has(MkKeySet *set, const char *key, uint32 length);

typedef enum MkKeyAdded
{
	MK_KEY_ADDED,
	MK_KEY_KNOWN, /* it was there */
	MK_KEY_NO_ROOM /* it was not, and there is no room; never for the first */
} MkKeyAdded;

extern MkKeyAdded mk_keyset_add(MkKeySet *set, const char *key, uint32 length);

#endif /* MK_KEYSET_H */
