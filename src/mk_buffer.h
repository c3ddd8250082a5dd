/*
 * mk_buffer.h
 *		Records that a transaction has sent, kept until it commits.
 */
#ifndef MK_BUFFER_H
#define MK_BUFFER_H

#include "executor/tuptable.h"
#include "utils/tuplestore.h"

#include "mk_record.h"

typedef struct MkBufferRange
{
	int64 first;
	int64 end;
} MkBufferRange;

/* A buffer; all 0 at first.  Its memory is that of the transaction. */
typedef struct MkBuffer
{
	Tuplestorestate *store; /* NULL until there is a record */
	bool failed; /* an error came while it was written */
	int64 nrecords; /* with the void ones */
	int nvoid;
	MkBufferRange *voids; /* of void records, ascending */
} MkBuffer;

/*
 * A record in it, with what tells where it goes; the numbers are the caller's.
 */
typedef struct MkBuffered
{
	MkRecord record;
	int part; /* the partition */
	int batch; /* the sequenced batch, -1: none */
	int64 sequence; /* in that batch */
} MkBuffered;

/*
 * Raises 55000 if an error came while a record was put: the buffer cannot be
 * used any more, even if a savepoint has caught the error.
 */
extern void mk_buffer_check(const MkBuffer *b);

/* Adds a copy of the record. */
extern void mk_buffer_put(MkBuffer *b, const MkBuffered *buffered);

/* Makes the records from the first-th on, counted from 0, void. */
extern void mk_buffer_drop(MkBuffer *b, int64 first);

/* Frees the records; to be called before the end of the transaction. */
extern void mk_buffer_close(MkBuffer *b);

/*
 * Where the buffer is being read.  The buffer has only one position: readers
 * must not take turns.
 */
typedef struct MkBufferReader
{
	int64 position; /* of the next record, with the void ones */
	int range; /* the first void one that does not lie before that */
} MkBufferReader;

/* Begins to read; the buffer must have a record. */
extern void mk_buffer_rewind(MkBuffer *b, MkBufferReader *reader);

/* A slot to read records into. */
extern TupleTableSlot *mk_buffer_slot(void);

/* The next record that is not void; false at the end. */
extern bool
mk_buffer_read(MkBuffer *b, MkBufferReader *reader, TupleTableSlot *slot);

/* The record that was read, valid as long as the slot has it; and its size. */
extern void mk_buffer_get(TupleTableSlot *slot, MkBuffered *buffered);
extern Size mk_buffer_size(TupleTableSlot *slot);

#endif /* MK_BUFFER_H */
