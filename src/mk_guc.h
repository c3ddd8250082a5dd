/*
 * mk_guc.h
 *		The settings of the extension.
 */
#ifndef MK_GUC_H
#define MK_GUC_H

/* minikafka.clock_offset, in seconds: added to the clock, for tests */
extern double mk_guc_clock_offset;

/* To be called once, in _PG_init. */
extern void mk_guc_init(void);

#endif /* MK_GUC_H */
