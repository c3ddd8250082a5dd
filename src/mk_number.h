/*
 * mk_number.h
 *		Numbers from the extension's sequences.
 */
#ifndef MK_NUMBER_H
#define MK_NUMBER_H

#include "mk_relation.h"

/*
 * The next number of a sequence.  No row has this number, not even one that is
 * not committed yet: if the sequence is behind the numbers in the tables, as
 * after a logical copy, it is advanced past them first.
 */
extern int32 mk_number_next(MkRelation sequence);

/* The same for the ids of scheduled records. */
extern int64 mk_number_next_scheduled(void);

/*
 * Advances the sequences if all of them are behind the numbers in the tables.
 * Must be called before a transaction writes for a user; usually looks once in
 * a session.
 */
extern void mk_number_catch_up(void);

/*
 * Whether rows have numbers although no sequence was ever used.  This is true
 * while a dump is being restored, since it sets the sequences at its end.
 */
extern bool mk_number_is_unset(void);

#endif /* MK_NUMBER_H */
