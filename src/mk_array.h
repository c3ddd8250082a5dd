/*
 * mk_array.h
 *		Arrays that grow by one entry at a time.
 */
#ifndef MK_ARRAY_H
#define MK_ARRAY_H

#include "utils/memutils.h"

#define MK_ARRAY_FIRST_ROOM 8

/*
 * Makes room for one more entry in an array of n entries of "size" bytes each.
 * Returns the array, which may have moved.  If "array" is NULL, allocates it in
 * "context", where it stays.  Only this function may allocate the array: it has
 * room for 8 entries at first, and for twice as many whenever n is a power of
 * two from 8 on.
 */
static inline void *
mk_array_grow(MemoryContext context, void *array, int n, Size size)
{
	Assert(n >= 0 && (n == 0 || array != NULL));
	if (array == NULL)
		return MemoryContextAlloc(context, MK_ARRAY_FIRST_ROOM * size);
	if (n >= MK_ARRAY_FIRST_ROOM && (n & (n - 1)) == 0)
		return repalloc_huge(array, 2 * (Size) n * size);
	return array;
}

#endif /* MK_ARRAY_H */
