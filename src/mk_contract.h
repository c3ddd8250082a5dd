/*
 * mk_contract.h
 *		What the records of a topic must be: NOT NULL and CHECK of its table, and
 *		its option "value_format".
 */
#ifndef MK_CONTRACT_H
#define MK_CONTRACT_H

#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "mk_catalog.h"
#include "mk_record.h"

/*
 * A contract, ready to check records in one transaction; NULL where a topic has
 * none.
 */
typedef struct MkContract MkContract;

/* To be called once, in _PG_init. */
extern void mk_contract_init(void);

/*
 * Sets *contract, which is NULL at first, to the topic's contract as it is now.
 * It lives to the end of the transaction, or until it is set to another.  What
 * the owner wrote may run: 22xxx and the like if it fails.
 */
extern void mk_contract_get(MkTopic *topic, MkContract **contract);

/* The same number for the same contract, 0 for none. */
extern uint64 mk_contract_version(const MkContract *contract);

/*
 * 23502, 23514, 22021 or 22P02 for a record that is not as the contract says.
 * A CHECK that asks for more than partition, key, value and headers is left to
 * mk_contract_check_rows.
 */
extern void mk_contract_check(MkContract *contract, int32 partition,
							  const MkRecord *record);

/*
 * The CHECKs that were left, when the rows are complete; of mk_record_desc().
 */
extern void mk_contract_check_rows(MkContract *contract, Relation segment,
								   TupleTableSlot **slots, int n);

/*
 * To be called with the lock of a segment that records are written into, which
 * passed mk_contract_check: 40001 if the topic's contract is another by now,
 * 55000 if the segment's table has constraints that the topic's has not.  The
 * contract may be NULL.
 */
extern void mk_contract_check_segment(const MkContract *contract,
									  const MkTopic *topic, Relation segment);

/*
 * The same as a sentence, NULL if all is well: what the table of a segment
 * demands and the topic does not.
 */
extern const char *
mk_contract_segment_problem(const MkTopic *topic, Relation segment);

#endif /* MK_CONTRACT_H */
