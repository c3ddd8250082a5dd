/*
 * mk_module.c
 *		The library: what it does once when a backend loads it.
 */
#include "postgres.h"

#include "fmgr.h"

#include "mk_catalog.h"
#include "mk_contract.h"
#include "mk_alarm.h"
#include "mk_errors.h"
#include "mk_guc.h"
#include "mk_membership.h"
#include "mk_partition.h"
#include "mk_relation.h"
#include "mk_segment.h"
#include "mk_send.h"
#include "mk_sent.h"
#include "mk_share_held.h"
#include "mk_share_memory.h"
#include "mk_share_parked.h"
#include "mk_shmem.h"
#include "mk_tail.h"
#include "mk_wakeup.h"
#include "mk_worker.h"
#include "mk_xact.h"

PG_MODULE_MAGIC;

void _PG_init(void);

void
_PG_init(void)
{
	mk_guc_init();
	mk_errors_init();
	mk_shmem_init();
	mk_relation_init();
	mk_catalog_init();
	mk_contract_init();
	mk_membership_init();
	mk_segment_init();
	mk_partition_init();
	mk_xact_init();
	mk_share_memory_init();
	mk_share_held_init();
	mk_send_init();
	mk_share_parked_init();
	mk_sent_init();
	mk_wakeup_init();
	mk_tail_init();
	mk_alarm_init();
	mk_worker_init();
}
