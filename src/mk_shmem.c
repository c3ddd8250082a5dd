/*
 * mk_shmem.c
 *		What all users of shared memory share: one request for memory, one
 *		start-up hook, and callbacks at the end of each transaction.
 *
 * Users add themselves in _PG_init.  The postmaster then asks each for its
 * size, and attaches them all in the start-up hook; backends inherit that, or,
 * where they do not fork, run the same hooks.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/resowner.h"

#include "mk_shmem.h"

#define MK_MAX_SHMEM_USERS 8

static const MkShmemUser *mk_users[MK_MAX_SHMEM_USERS];
static int mk_nusers = 0;

static shmem_request_hook_type mk_next_request = NULL;
static shmem_startup_hook_type mk_next_startup = NULL;

static void
mk_shmem_request(void)
{
	if (mk_next_request != NULL)
		mk_next_request();
	for (int i = 0; i < mk_nusers; i++)
		RequestAddinShmemSpace(mk_users[i]->size());
}

static void
mk_shmem_startup(void)
{
	if (mk_next_startup != NULL)
		mk_next_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < mk_nusers; i++)
	{
		bool found;
		void *memory =
			ShmemInitStruct(mk_users[i]->name, mk_users[i]->size(), &found);

		mk_users[i]->attach(memory, !found);
	}
	LWLockRelease(AddinShmemInitLock);
}

static void
mk_shmem_xact_callback(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	for (int i = 0; i < mk_nusers; i++)
		if (mk_users[i]->transaction_end != NULL)
			mk_users[i]->transaction_end(event == XACT_EVENT_COMMIT);
}

static void
mk_shmem_release_callback(ResourceReleasePhase phase, bool isCommit,
						  bool isTopLevel, void *arg)
{
	/* a savepoint that commits passes its locks on */
	if (phase != RESOURCE_RELEASE_AFTER_LOCKS || (isCommit && !isTopLevel))
		return;
	for (int i = 0; i < mk_nusers; i++)
		if (mk_users[i]->locks_released != NULL)
			mk_users[i]->locks_released(isTopLevel);
}

void
mk_shmem_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	mk_next_request = shmem_request_hook;
	shmem_request_hook = mk_shmem_request;
	mk_next_startup = shmem_startup_hook;
	shmem_startup_hook = mk_shmem_startup;
	/* the callback that is registered first runs last */
	RegisterXactCallback(mk_shmem_xact_callback, NULL);
	RegisterResourceReleaseCallback(mk_shmem_release_callback, NULL);
}

void
mk_shmem_add(const MkShmemUser *user)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	Assert(mk_nusers < MK_MAX_SHMEM_USERS);
	mk_users[mk_nusers++] = user;
}
