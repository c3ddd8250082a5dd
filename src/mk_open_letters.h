/*
 * mk_open_letters.h
 *		Dead letters that no redrive has sent on.
 */
#ifndef MK_OPEN_LETTERS_H
#define MK_OPEN_LETTERS_H

#include "utils/jsonb.h"

#include "mk_log.h"

/* Receives a letter, which lives until the sink returns. */
typedef void (*MkLetterSink)(const MkLogRecord *letter, Jsonb *headers,
							 void *arg);

/*
 * Passes the dead letters of a partition that the snapshot sees, and of which it
 * sees no mark of redrive(), in the order of their offsets.  Reads what redrive()
 * would read, whatever was sent on.
 */
extern void
mk_open_letters_read(const MkTopic *topic, int32 partition, Snapshot snapshot,
					 MkLetterSink sink, void *arg);

#endif /* MK_OPEN_LETTERS_H */
