/*
 * mk_redrive.h
 *		Sending dead letters back to where they came from.
 */
#ifndef MK_REDRIVE_H
#define MK_REDRIVE_H

#include "mk_catalog.h"

/* What to send, and where to. */
typedef struct MkRedrive
{
	MkTopic *topic; /* the dead-letter topic */
	int32 partition; /* -1: all */
	int64 offset; /* -1: all */
	int64 max_records;
	MkTopic *target; /* NULL: each to the topic that it came from */
} MkRedrive;

/*
 * Sends dead letters that were not sent on before, when the transaction commits.
 * Returns how many.  Waits for other transactions that do the same with this
 * topic.  The caller has checked the rights to both topics; those to the topics
 * that letters came from are checked here.
 */
extern int64 mk_redrive(const MkRedrive *redrive);

#endif /* MK_REDRIVE_H */
