/*
 * mk_heartbeat.c
 *		Heartbeats: when members were last heard of, and when they last polled.
 *
 * A member has two kinds of heartbeats: those of polls and all others.  Each
 * kind is kept newest first, as mk_progress.c describes; the time is the number
 * that grows.  mk_liveness.c decides when a heartbeat is due.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_heartbeat.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_heartbeat_member_no = 1,
	Anum_heartbeat_polled,
	Anum_heartbeat_at,
	Natts_heartbeat = Anum_heartbeat_at
};
StaticAssertDecl(Natts_heartbeat == MK_NATTS_HEARTBEAT,
				 "all columns are listed");

/* The time of the newest heartbeat of one kind. */
static TimestampTz
mk_heartbeat_newest(int32 member_no, bool polled)
{
	const int32 keys[] = {member_no, polled};
	MkRows rows;
	HeapTuple tuple;
	TimestampTz at = DT_NOBEGIN;

	mk_rows_begin(&rows, MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, mk_rows_now(),
				  lengthof(keys), keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		at = mk_rows_time(&rows, tuple, Anum_heartbeat_at);
	mk_rows_end(&rows);
	return at;
}

void
mk_heartbeat_get(int32 member_no, TimestampTz *seen, TimestampTz *polled)
{
	*polled = mk_heartbeat_newest(member_no, true);
	*seen = Max(mk_heartbeat_newest(member_no, false), *polled);
}

void
mk_heartbeat_put(int32 member_no, bool polled, TimestampTz at)
{
	Datum values[Natts_heartbeat];
	bool nulls[Natts_heartbeat] = {0};

	values[Anum_heartbeat_member_no - 1] = Int32GetDatum(member_no);
	values[Anum_heartbeat_polled - 1] = Int32GetDatum(polled);
	values[Anum_heartbeat_at - 1] = TimestampTzGetDatum(at);
	mk_rows_insert(MK_REL_HEARTBEAT, NULL, values, nulls);
}

void
mk_heartbeat_delete(int32 member_no)
{
	mk_rows_delete_all(MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, 1, &member_no);
}

List *
mk_heartbeat_members(void)
{
	return mk_rows_values(MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, 0, NULL,
						  NULL);
}

void
mk_heartbeat_clean(int32 member_no, bool is_member)
{
	if (!is_member)
	{
		mk_rows_try_delete_all(MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, 1,
							   &member_no);
		return;
	}
	for (int32 polled = 0; polled <= 1; polled++)
	{
		const int32 keys[] = {member_no, polled};

		(void) mk_rows_clean(MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX,
							 lengthof(keys), keys, NULL, NULL, PG_INT32_MAX);
	}
}
