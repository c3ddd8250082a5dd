/*
 * mk_number.h
 *		Numbers from the extension's sequences.
 */
#ifndef MK_NUMBER_H
#define MK_NUMBER_H

#include "mk_relation.h"

/*
 * The next number of a sequence, which no row bears, be it committed or not:
 * where the sequence lags behind the tables, as after a logical copy, it is
 * moved past them first.
 */
extern int32 mk_number_next(MkRelation sequence);

/*
 * To be called before a transaction writes for a user: sees to it, once in a
 * session, that the sequences do not lag behind the tables all together.
 */
extern void mk_number_note_use(void);

/*
 * Whether rows bear numbers, and none of the sequences has ever given one: so
 * it is while a dump is restored, which sets the sequences at its end.
 */
extern bool mk_number_is_unset(void);

#endif /* MK_NUMBER_H */
