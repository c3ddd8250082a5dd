/*
 * mk_delivery.h
 *		Sending scheduled records that are due.
 */
#ifndef MK_DELIVERY_H
#define MK_DELIVERY_H

typedef enum MkDeliveryResult
{
	MK_DELIVERY_RUN_DONE, /* no record is due that can be sent now */
	MK_DELIVERY_RUN_BUSY, /* another session is sending */
	MK_DELIVERY_RUN_FAILED
} MkDeliveryResult;

/*
 * Sends all scheduled records that are due, in steps: see mk_step.h.  Does nothing
 * while another session is at it.  "report" is told of each step, or NULL.  An error
 * that no record is to blame for is raised, or with "is_pass" becomes a WARNING.
 */
extern MkDeliveryResult
mk_delivery_run(bool is_pass, void (*report)(const char *activity));

/*
 * Sends some that are due, and returns whether it has; for a session that waits.
 * Costs nothing if shared memory says that none is due.
 */
extern bool mk_delivery_run_some(void);

#endif /* MK_DELIVERY_H */
