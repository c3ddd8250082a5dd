/*
 * mk_sign.c
 *		Signs of life: when members were heard of by transactions that have not
 *		committed.
 *
 * A sign is a lock that the session holds; the lock's tag has the time.  So other
 * sessions see it while the transaction is open, a rollback leaves it, and it ends
 * with the session.  For each member a session has at most one sign of each kind,
 * the latest.  When the transaction commits, the heartbeat is in the table, and the
 * session withdraws the sign.
 *
 * A sign is needed for a timeout.  When the session has many, it withdraws those
 * that are not needed any more.  DISCARD ALL and pg_advisory_unlock_all() release
 * all of them; the session then gives the next sign as if there had been none.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_lock.h"
#include "mk_sign.h"

/* A session may keep so many signs, whatever their age. */
#define MK_SIGNS_KEPT 8

typedef struct MkSignKey
{
	int32 member_no;
	int32 polled;
} MkSignKey;

typedef struct MkSign
{
	MkSignKey key; /* hash key */
	uint32 seconds; /* the time in the lock's tag */
	TimestampTz at;
	TimestampTz until; /* when it is not needed any more */
} MkSign;

/* The session's signs; some may have lost their lock. */
static HTAB *mk_signs = NULL;
/* how many are too many */
static long mk_signs_many = MK_SIGNS_KEPT;

/* The session's sign of this kind, NULL if there is none. */
static MkSign *
mk_sign_find(int32 member_no, bool polled)
{
	const MkSignKey key = {member_no, polled};

	if (mk_signs == NULL || hash_get_num_entries(mk_signs) == 0)
		return NULL;
	return hash_search(mk_signs, &key, HASH_FIND, NULL);
}

static void
mk_sign_remove(MkSign *sign)
{
	mk_lock_sign_release(sign->key.member_no, sign->key.polled, sign->seconds);
	(void) hash_search(mk_signs, &sign->key, HASH_REMOVE, NULL);
}

/*
 * Removes signs that are not needed any more, each time that there are twice as
 * many as the last time left.
 */
static void
mk_signs_trim(TimestampTz now)
{
	HASH_SEQ_STATUS status;
	MkSign *sign;

	if (hash_get_num_entries(mk_signs) < mk_signs_many)
		return;
	hash_seq_init(&status, mk_signs);
	while ((sign = hash_seq_search(&status)) != NULL)
		if (sign->until < now)
			mk_sign_remove(sign);
	mk_signs_many = Max(MK_SIGNS_KEPT, 2 * hash_get_num_entries(mk_signs));
}

/* An entry for a sign that the session has not given yet. */
static MkSign *
mk_sign_make(int32 member_no, bool polled, TimestampTz now)
{
	const MkSignKey key = {member_no, polled};
	MkSign *sign;

	if (mk_signs == NULL)
	{
		HASHCTL ctl = {0};

		ctl.keysize = sizeof(MkSignKey);
		ctl.entrysize = sizeof(MkSign);
		ctl.hcxt = TopMemoryContext;
		mk_signs = hash_create("minikafka signs of life", MK_SIGNS_KEPT, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	mk_signs_trim(now);
	sign = hash_search(mk_signs, &key, HASH_ENTER, NULL);
	sign->seconds = 0;
	sign->at = DT_NOBEGIN;
	sign->until = now;
	return sign;
}

void
mk_sign_give(int32 member_no, bool polled, TimestampTz now, int64 lasts)
{
	/* rounded up, so that no member is removed too early */
	uint32 seconds = (uint32) ((now + USECS_PER_SEC - 1) / USECS_PER_SEC);
	MkSign *sign = mk_sign_find(member_no, polled);

	if (sign == NULL)
		sign = mk_sign_make(member_no, polled, now);
	if (sign->seconds != seconds ||
		!mk_lock_sign_is_mine(member_no, polled, seconds))
	{
		/* the lock table is full: only the heartbeat will count */
		if (!mk_lock_sign(member_no, polled, seconds))
			return;
		if (sign->seconds != seconds)
			mk_lock_sign_release(member_no, polled, sign->seconds);
	}
	sign->seconds = seconds;
	sign->at = now;
	sign->until = now + lasts;
}

TimestampTz
mk_sign_given(int32 member_no, bool polled, TimestampTz now)
{
	const MkSign *sign = mk_sign_find(member_no, polled);
	TimestampTz at = DT_NOBEGIN;

	/* a sign from the future was given before the clock was set back */
	if (sign != NULL && sign->at <= now &&
		mk_lock_sign_is_mine(member_no, polled, sign->seconds))
		at = sign->at;
	return polled ? at : Max(at, mk_sign_given(member_no, true, now));
}

void
mk_sign_withdraw(int32 member_no, bool polled)
{
	MkSign *sign = mk_sign_find(member_no, false);

	if (sign != NULL)
		mk_sign_remove(sign);
	if (polled && (sign = mk_sign_find(member_no, true)) != NULL)
		mk_sign_remove(sign);
}

static TimestampTz
mk_sign_time(uint32 seconds)
{
	return seconds == 0 ? DT_NOBEGIN : (TimestampTz) seconds * USECS_PER_SEC;
}

void
mk_sign_look(int32 member_no, TimestampTz *seen, TimestampTz *polled)
{
	uint32 seen_seconds;
	uint32 polled_seconds;

	mk_lock_signs(member_no, &seen_seconds, &polled_seconds);
	*seen = mk_sign_time(seen_seconds);
	*polled = mk_sign_time(polled_seconds);
}
