/* Groups: members, positions, committed offsets */

CREATE FUNCTION minikafka.join_group(
	group_id text,
	topics text[],
	member_id text DEFAULT NULL,
	instance_id text DEFAULT NULL,
	assignor text DEFAULT NULL,
	protocol text DEFAULT NULL,
	auto_offset_reset text DEFAULT NULL,
	session_timeout interval DEFAULT NULL,
	max_poll_interval interval DEFAULT NULL,
	rebalance_timeout interval DEFAULT NULL)
RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_join_group';
COMMENT ON FUNCTION minikafka.join_group(text, text[], text, text, text, text, text, interval, interval, interval) IS
'Makes the caller a member of the group at COMMIT, and returns the member id; a generated one if member_id is NULL. The first member creates the group, which then belongs to the caller. topics: names of topics; a NOTICE names those that do not exist yet; the subscription follows a renamed topic. instance_id: makes a static member, which returns with this id without a rebalance. assignor (sticky, range, roundrobin) and protocol (cooperative, eager) are settings of the group: the first member of an empty group chooses them, later members pass NULL or the same ones. auto_offset_reset: earliest, latest or none. Timeouts: 45 s, 5 min, 30 s. Joining again with the same member or instance id begins at the committed offsets, and open transactions of the former incarnation fail. Requires SELECT on the topics; to create the group, at least one must exist. Errors: MK023 other settings, MK082 the instance id belongs to another member, 42501, 22023.';

CREATE FUNCTION minikafka.leave_group(group_id text, member_id text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_leave_group';
COMMENT ON FUNCTION minikafka.leave_group(text, text) IS
'Removes a member from the group, at COMMIT. Errors: MK025, MK082, 42501, 22023.';

CREATE FUNCTION minikafka.heartbeat(group_id text, member_id text)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_heartbeat';
COMMENT ON FUNCTION minikafka.heartbeat(text, text) IS
'Records at COMMIT that the member is alive; returns the generation of the group. Errors: MK025 no such member, or its timeouts have passed, MK082, 42501, 22023.';

CREATE FUNCTION minikafka.assignment(group_id text, member_id text)
RETURNS TABLE (topic text, partition integer, revoking boolean)
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_assignment';
COMMENT ON FUNCTION minikafka.assignment(text, text) IS
'Returns the partitions that the member has. revoking: the partition is to move to another member and is no longer polled; it moves when the member has committed what it has polled from it and calls commit() or poll(), when it leaves, or at the latest after its rebalance_timeout. A partition that is to come is not included yet. Requires the group, or membership in pg_monitor. Errors: MK025, MK082, 42501, 22023.';

CREATE FUNCTION minikafka.poll(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	topics text[] DEFAULT NULL)
RETURNS SETOF minikafka.record
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll';
COMMENT ON FUNCTION minikafka.poll(text, text, integer, integer, interval, text[]) IS
'Returns records of the member''s partitions, from its positions on: at most max_records, and after the first at most max_bytes. Takes the partitions in turn; a partition whose records this session has polled and rolled back is polled alone. Returns fewer records if members of the group were too slow. A partition stops before a record that is younger than the topic''s delivery_delay. topics: reads only these of the member''s topics. If there are none, waits up to max_wait, at READ COMMITTED, and returns records that arrive, or become due, meanwhile. Takes effect with the transaction: the positions advance. It counts as a heartbeat. Requires the group, and SELECT on the topics. Errors: MK025 no such member, or its timeouts have passed, MK082 fenced, MK001 with auto_offset_reset none, 42501, 22023. At COMMIT: MK022 the group has moved a partition, or removed the member, meanwhile, MK101 another session has polled for the member.';

CREATE FUNCTION minikafka.poll_text(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	topics text[] DEFAULT NULL)
RETURNS SETOF minikafka.record_text
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll_text';
COMMENT ON FUNCTION minikafka.poll_text(text, text, integer, integer, interval, text[]) IS
'Returns records of the member''s partitions, from its positions on, with key and value as text: at most max_records, and after the first at most max_bytes. Takes the partitions in turn; a partition whose records this session has polled and rolled back is polled alone. Returns fewer records if members of the group were too slow. A partition stops before a record that is younger than the topic''s delivery_delay. topics: reads only these of the member''s topics. If there are none, waits up to max_wait, at READ COMMITTED, and returns records that arrive, or become due, meanwhile. Takes effect with the transaction: the positions advance. It counts as a heartbeat. A partition stops before a record that cannot be decoded. A partition that begins with such a record is skipped with a WARNING; if there is nothing else to return, it is an error (22021). Requires the group, and SELECT on the topics. Errors: MK025 no such member, or its timeouts have passed, MK082 fenced, MK001 with auto_offset_reset none, 42501, 22023. At COMMIT: MK022 the group has moved a partition, or removed the member, meanwhile, MK101 another session has polled for the member.';

CREATE FUNCTION minikafka.poll_json(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	topics text[] DEFAULT NULL)
RETURNS SETOF minikafka.record_json
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll_json';
COMMENT ON FUNCTION minikafka.poll_json(text, text, integer, integer, interval, text[]) IS
'Returns records of the member''s partitions, from its positions on, with the key as text and the value as JSON: at most max_records, and after the first at most max_bytes. Takes the partitions in turn; a partition whose records this session has polled and rolled back is polled alone. Returns fewer records if members of the group were too slow. A partition stops before a record that is younger than the topic''s delivery_delay. topics: reads only these of the member''s topics. If there are none, waits up to max_wait, at READ COMMITTED, and returns records that arrive, or become due, meanwhile. Takes effect with the transaction: the positions advance. It counts as a heartbeat. A partition stops before a record that cannot be decoded. A partition that begins with such a record is skipped with a WARNING; if there is nothing else to return, it is an error (22021 or 22P02). Requires the group, and SELECT on the topics. Errors: MK025 no such member, or its timeouts have passed, MK082 fenced, MK001 with auto_offset_reset none, 42501, 22023. At COMMIT: MK022 the group has moved a partition, or removed the member, meanwhile, MK101 another session has polled for the member.';

CREATE PROCEDURE minikafka.wait_for_records(group_id text, member_id text, max_wait interval)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_wait_for_records';
COMMENT ON PROCEDURE minikafka.wait_for_records(text, text, interval) IS
'Waits until the member has records to poll, or a share group (member_id NULL) has some to acquire, or for max_wait. It holds no snapshot meanwhile, and counts as a poll. It commits, so it cannot run in a transaction block (2D000). Errors as for poll() or acquire().';

CREATE FUNCTION minikafka.commit(group_id text, member_id text)
RETURNS TABLE (topic text, partition integer, "offset" bigint)
LANGUAGE c ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_commit';
COMMENT ON FUNCTION minikafka.commit(text, text) IS
'Commits the positions of the member as the group''s offsets, with the transaction, and returns them: everything that it has polled, in this transaction or before, and nothing more. Requires the group. Errors: MK025, MK082, 42501, 22023. At COMMIT: MK022 the group has moved one of the partitions meanwhile, MK025 the member was removed, MK101 another session has committed for it.';

CREATE FUNCTION minikafka.commit_offset(
	group_id text,
	topic text,
	partition integer,
	next_offset bigint,
	metadata text DEFAULT NULL,
	member_id text DEFAULT NULL,
	generation integer DEFAULT NULL)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_commit_offset';
COMMENT ON FUNCTION minikafka.commit_offset(text, text, integer, bigint, text, text, integer) IS
'Records that the group has read the partition up to next_offset, exclusive; takes effect with the transaction. Without member_id: a plain consumer, while the group has no members; the first use creates the group, which then belongs to the caller. With member_id: for a partition that the member has. generation: must be the group''s, as heartbeat() returned it. Requires SELECT on the topic, and the group. Errors: 22023 outside [0, end], MK022 another generation, or a partition that the member does not have, also at COMMIT, MK025 no such member, or none named while the group has members, MK082, 42501 the group belongs to another role, 42704, 54000 metadata above 4096 bytes.';

CREATE FUNCTION minikafka.committed(group_id text, topic text, partition integer)
RETURNS bigint LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_committed';
COMMENT ON FUNCTION minikafka.committed(text, text, integer) IS
'Returns the committed offset of a group in a partition, NULL if there is none. A transaction sees the offsets that it has itself committed. Requires SELECT on the topic, and the group, or membership in pg_monitor. Errors: 42704, 42501, 22023.';

CREATE FUNCTION minikafka.seek(
	group_id text,
	member_id text,
	topic text,
	partition integer,
	next_offset bigint)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_seek';
COMMENT ON FUNCTION minikafka.seek(text, text, text, integer, bigint) IS
'Sets the offset from which the member polls next in a partition that it has, with the transaction. Errors: 22023 not assigned, or an offset outside [0, end], MK025, MK082, 42501, 42704. At COMMIT: MK022 the group has moved the partition meanwhile.';

CREATE FUNCTION minikafka.pause(
	group_id text,
	member_id text,
	topic text,
	partition integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_pause';
COMMENT ON FUNCTION minikafka.pause(text, text, text, integer) IS
'Makes poll() skip a partition that the member has, with the transaction, until resume() or until the partition moves. Errors: 22023 not assigned, MK025, MK082, 42501, 42704.';

CREATE FUNCTION minikafka.resume(
	group_id text,
	member_id text,
	topic text,
	partition integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_resume';
COMMENT ON FUNCTION minikafka.resume(text, text, text, integer) IS
'Ends a pause(), with the transaction. Errors: 22023 not assigned, MK025, MK082, 42501, 42704.';

CREATE FUNCTION minikafka.reset_offsets(group_id text, topic text, target text)
RETURNS TABLE (topic text, partition integer, "offset" bigint)
LANGUAGE c ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_reset_offsets';
COMMENT ON FUNCTION minikafka.reset_offsets(text, text, text) IS
'Lets a group go on at the offset that target names in each partition of the topic, from COMMIT on, and returns the offsets: commits them for a consumer group; a share group hands out everything from there on again, and what it has handed out before cannot be answered any more. target: earliest, latest, offset:N, shift:N (from the committed offset, or the start offset of a share group; N may be negative), time:TIMESTAMP (the first record of that time or later) or group:NAME (where that group stands, at the log start where it has no offset); the result is limited to the log. Errors: MK068 the group has members, also at COMMIT, 22023 unknown target, 42704, 42501.';

CREATE FUNCTION minikafka.delete_group(group_id text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_delete_group';
COMMENT ON FUNCTION minikafka.delete_group(text) IS
'Deletes a group of either kind, with its committed offsets or the state of its records, at COMMIT. Requires to be its owner. Errors: MK068 it has members, also at COMMIT, 42704, 42501, 55000 the transaction has used the group.';

CREATE FUNCTION minikafka.grant_group(group_id text, grantee text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_grant_group';
COMMENT ON FUNCTION minikafka.grant_group(text, text) IS
'Lets another role use the group, from COMMIT on. Requires to be its owner. Errors: 42704 unknown group or role, 42501.';

CREATE FUNCTION minikafka.revoke_group(group_id text, grantee text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_revoke_group';
COMMENT ON FUNCTION minikafka.revoke_group(text, text) IS
'Revokes what grant_group() granted, from COMMIT on. Requires to be the owner of the group. Errors: 42704 unknown group or role, 42501.';

CREATE FUNCTION minikafka.set_group_owner(group_id text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_group_owner';
COMMENT ON FUNCTION minikafka.set_group_owner(text, text) IS
'Gives the group to another role, at COMMIT; its grants stay. Requires to be its owner and a member of that role, as ALTER ... OWNER TO does, or a superuser. Errors: 42704 unknown group or role, 42501, both also at COMMIT.';

CREATE FUNCTION minikafka.group_is_visible(group_id text)
RETURNS boolean LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_group_is_visible';
COMMENT ON FUNCTION minikafka.group_is_visible(text) IS
'Returns whether the caller may see the group: its owner, a role to which it was granted, or a member of pg_monitor. For the views.';

CREATE FUNCTION minikafka.member_is_expired(group_id text, member_id text)
RETURNS boolean LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_member_is_expired';
COMMENT ON FUNCTION minikafka.member_is_expired(text, text) IS
'Returns whether a member no longer exists, or its timeouts have passed and it has not been removed yet. For the views. Errors: 42501, 22023.';

CREATE FUNCTION minikafka.group_commits(group_id text)
RETURNS TABLE (
	topic text,
	partition integer,
	"offset" bigint,
	metadata text,
	committed_at timestamptz,
	member_id text,
	generation integer)
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_group_commits';
COMMENT ON FUNCTION minikafka.group_commits(text) IS
'Returns the committed offsets of a group, in the topics that the caller may read. For the view group_offsets. Errors: 42501, 22023.';

CREATE TYPE minikafka.partition_lag AS (
	topic text,
	partition integer,
	log_start_offset bigint,
	end_offset bigint,
	committed_offset bigint,
	lag bigint,
	time_lag interval,
	member_id text,
	ready bigint,
	in_flight bigint,
	waiting bigint,
	lost bigint);
COMMENT ON TYPE minikafka.partition_lag IS 'The lag of a group in a partition, as lag() returns it.';

CREATE FUNCTION minikafka.lag(group_id text, topic text DEFAULT NULL)
RETURNS SETOF minikafka.partition_lag
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_lag';
COMMENT ON FUNCTION minikafka.lag(text, text) IS
'Returns how far a group is behind, for each partition of a topic. NULL: of all topics that it reads or has committed offsets in; if it has no members, of those that its last members read. lag: number of unread records, end - max(committed, log start). time_lag: age of the oldest unread record, NULL if its time is in the future. member_id: the member that has the partition, if its timeouts have not passed. ready, in_flight, waiting: of share groups, else NULL. lost: number of offsets from the committed offset up to the log start, whose records were removed before the group committed them; zero again when it commits an offset that can be read, NULL without a committed offset. Requires SELECT on the topic, and the group, or membership in pg_monitor; with NULL, topics without that right are left out, and the columns of a topic that cannot be read (altered by hand) are NULL. Errors: 42704 unknown group or topic, 42501.';
