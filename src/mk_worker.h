/*
 * mk_worker.h
 *		The background processes that do maintenance.
 */
#ifndef MK_WORKER_H
#define MK_WORKER_H

/* To be called once, in _PG_init, after mk_guc_init: registers the launcher. */
extern void mk_worker_init(void);

#endif /* MK_WORKER_H */
