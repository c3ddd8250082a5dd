/*
 * mk_shmem.h
 *		What all users of shared memory share: one request for memory, one
 *		start-up hook, and callbacks at the end of each transaction.
 *
 * A server has this shared memory only if the library is in
 * shared_preload_libraries.  Each user works without it too.
 */
#ifndef MK_SHMEM_H
#define MK_SHMEM_H

/* A user of shared memory; it must be static. */
typedef struct MkShmemUser
{
	/* as pg_shmem_allocations shows it */
	const char *name;

	/* how many bytes it takes; MaxBackends is known */
	Size (*size)(void);

	/* tells where the memory is; if "is_new", it is to be initialized */
	void (*attach)(void *memory, bool is_new);

	/*
	 * Called in each backend whenever a transaction has ended: committed, or
	 * rolled back or prepared; may be NULL.  All see by then what was
	 * committed; the transaction's locks are still held, and its memory is
	 * still there.  It must not fail, so it must not allocate memory.  Deferred
	 * actions have been told before.
	 */
	void (*transaction_end)(bool committed);

	/*
	 * Called in each backend when locks have been released: those of the
	 * transaction ("is_end"), or some of them, by rolling back a savepoint; may be
	 * NULL.  The same as above holds otherwise.
	 */
	void (*locks_released)(bool is_end);
} MkShmemUser;

/* To be called once, in _PG_init, before all else that registers callbacks. */
extern void mk_shmem_init(void);

/*
 * Adds a user; to be called in _PG_init.  If the server does not have the
 * shared memory, none of its functions is ever called.
 */
extern void mk_shmem_add(const MkShmemUser *user);

#endif /* MK_SHMEM_H */
