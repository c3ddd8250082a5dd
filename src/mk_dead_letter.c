/*
 * mk_dead_letter.c
 *		Dead letters: copies of records that could not be processed.
 */
#include "postgres.h"

#include "mk_dead_letter.h"

void
mk_dead_letter_send(const MkDeadLetter *letter, MkTopic *target, Oid role)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("dead letters are not supported yet")));
}
