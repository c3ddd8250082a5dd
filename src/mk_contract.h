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
 * A contract, ready to check records in one transaction; NULL if a topic has
 * none.
 */
typedef struct MkContract MkContract;

/* To be called once, in _PG_init. */
extern void mk_contract_init(void);

/*
 * Sets *contract, which is NULL at first, to the topic's current contract.  It
 * lives to the end of the transaction, or until another call replaces it.  The
 * call may run code of the topic's owner, and raises 22xxx and the like if
 * that fails.
 */
extern void mk_contract_get(MkTopic *topic, MkContract **contract);

/* A number that is the same for the same contract; 0 for none. */
extern uint64 mk_contract_version(const MkContract *contract);

/*
 * Raises 23502, 23514, 22021 or 22P02 for a record that violates the contract.
 * A CHECK that needs more than partition, key, value and headers is left to
 * mk_contract_check_rows.
 */
extern void mk_contract_check(MkContract *contract, int32 partition,
							  const MkRecord *record);

/*
 * Evaluates the CHECKs that were left, on complete rows; the slots are of
 * mk_record_desc().
 */
extern void mk_contract_check_rows(MkContract *contract, Relation segment,
								   TupleTableSlot **slots, int n);

/*
 * Checks a segment that records are written into.  The caller holds its lock,
 * and the records passed mk_contract_check.  Raises 40001 if the topic's
 * contract has changed since, 55000 if the segment's table has constraints
 * that the topic's table does not have.  The contract may be NULL.
 */
extern void mk_contract_check_segment(const MkContract *contract,
									  const MkTopic *topic, Relation segment);

/*
 * The same problem as a sentence, or NULL if all is well: what the segment's
 * table requires and the topic does not.
 */
extern const char *
mk_contract_segment_problem(const MkTopic *topic, Relation segment);

#endif /* MK_CONTRACT_H */
