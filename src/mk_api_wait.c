/*
 * mk_api_wait.c
 *		The procedure wait_for_records(): waiting outside of any snapshot.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_delivery.h"
#include "mk_group.h"
#include "mk_poll.h"
#include "mk_share.h"
#include "mk_step.h"

typedef struct MkWait
{
	char *group_id;
	char *member_id; /* NULL: none was given, as for a share group */
	TimestampTz until;
	TimestampTz due; /* when to look again at the latest */
	int round;
} MkWait;

/* Whether there are records; listens for them if not. */
static bool
mk_wait_look(MkWait *w)
{
	const MkGroup *group =
		w->member_id == NULL ? mk_group_find(w->group_id) : NULL;

	/* without a member it is for a share group */
	if (w->member_id == NULL && group == NULL)
		mk_group_share_not_found(w->group_id);
	if (group != NULL && group->kind == MK_GROUP_SHARE)
		return mk_share_is_ready(w->group_id, &w->due);
	if (w->member_id == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be null", "member_id")));
	return mk_poll_is_ready(w->group_id, w->member_id, &w->due);
}

/*
 * CALL wait_for_records(group_id, member_id, max_wait).  Each look is a
 * transaction of its own, so the session holds no snapshot between them.
 */
PG_FUNCTION_INFO_V1(minikafka_wait_for_records);
Datum
minikafka_wait_for_records(PG_FUNCTION_ARGS)
{
	MkWait wait = {0};
	bool ready;

	mk_api_enter_writer("wait_for_records()");
	mk_api_connect_procedure(fcinfo);
	wait.group_id = mk_api_id(fcinfo, 0, "group_id");
	if (!PG_ARGISNULL(1))
		wait.member_id = mk_api_id(fcinfo, 1, "member_id");
	wait.until =
		GetCurrentTimestamp() + mk_api_interval(fcinfo, 2, "max_wait", 0);
	PG_TRY();
	{
		do
		{
			PushActiveSnapshot(GetTransactionSnapshot());
			ready = mk_wait_look(&wait);
			PopActiveSnapshot();
			mk_step_commit();
			/* what it sends may be what this session waits for */
		} while (
			!ready &&
			((GetCurrentTimestamp() < wait.until && mk_delivery_run_some()) ||
			 mk_poll_sleep(&wait.round, wait.until, wait.due)));
	}
	PG_FINALLY();
	{
		mk_poll_stop();
	}
	PG_END_TRY();
	SPI_finish();
	PG_RETURN_VOID();
}
