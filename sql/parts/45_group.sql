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
'Makes a member of the group, at COMMIT, and returns its id; a new one if member_id is NULL. The first member makes the group, which then belongs to the caller. topics: their names; also such as there are not yet, with a NOTICE; a topic that is renamed stays subscribed to. instance_id: a static member, which comes back under it without a rebalance. assignor (sticky, range, roundrobin) and protocol (cooperative, eager) are settings of the group: the first member of an empty one chooses them, later ones take them or name the same. auto_offset_reset: earliest, latest or none; timeouts: 45 s, 5 min, 30 s. Joining again, under the same member or instance id, begins at the committed offsets, and open transactions of the former incarnation fail. Needs SELECT on the topics; to make the group, on one that exists at least. Errors: MK023 other settings; MK082 the instance id is another member''s; 42501, 22023.';

CREATE FUNCTION minikafka.leave_group(group_id text, member_id text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_leave_group';
COMMENT ON FUNCTION minikafka.leave_group(text, text) IS
'Removes a member of the group, at COMMIT. Errors: MK025, MK082, 42501, 22023.';

CREATE FUNCTION minikafka.heartbeat(group_id text, member_id text)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_heartbeat';
COMMENT ON FUNCTION minikafka.heartbeat(text, text) IS
'Notes, at COMMIT, that the member is alive; returns the generation of the group. Errors: MK025 no such member, or its timeouts have passed; MK082, 42501, 22023.';

CREATE FUNCTION minikafka.assignment(group_id text, member_id text)
RETURNS TABLE (topic text, partition integer, revoking boolean)
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_assignment';
COMMENT ON FUNCTION minikafka.assignment(text, text) IS
'The partitions that the member has. revoking: it is to move to another member, and is not polled any more; it moves when the member has committed what it has polled of it and calls commit() or poll(), or leaves, at the latest after its rebalance_timeout. One that is to come is not there yet. Errors: MK025, MK082, 42501, 22023.';

CREATE FUNCTION minikafka.poll(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0')
RETURNS SETOF minikafka.record
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll';
COMMENT ON FUNCTION minikafka.poll(text, text, integer, integer, interval) IS
'Records of the partitions that the member has, key and value, from its positions on: at most max_records, and after the first at most max_bytes, the partitions in turn; alone those whose records this session has polled and rolled back, and fewer where members of the group were too slow. If there are none, waits up to max_wait, at READ COMMITTED; what came meanwhile is then returned too. Takes effect with the transaction: the positions move, and it counts as a heartbeat. Needs SELECT on the topics and the right to the group. At COMMIT: MK022 the group has moved a partition, or removed the member, since; MK101 another session has polled for the member. Errors: MK025 no such member, or its timeouts have passed; MK082 fenced; MK001 for auto_offset_reset none; 42501, 22023.';

CREATE FUNCTION minikafka.poll_text(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0')
RETURNS SETOF minikafka.record_text
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll_text';
COMMENT ON FUNCTION minikafka.poll_text(text, text, integer, integer, interval) IS
'Records of the partitions that the member has, key and value as text, from its positions on: at most max_records, and after the first at most max_bytes, the partitions in turn; alone those whose records this session has polled and rolled back, and fewer where members of the group were too slow. If there are none, waits up to max_wait, at READ COMMITTED; what came meanwhile is then returned too. Takes effect with the transaction: the positions move, and it counts as a heartbeat. A partition stops before a record that cannot be decoded; one that begins with such a record is passed over with a WARNING, and is an error (22021) when there is nothing else to return. Needs SELECT on the topics and the right to the group. At COMMIT: MK022 the group has moved a partition, or removed the member, since; MK101 another session has polled for the member. Errors: MK025 no such member, or its timeouts have passed; MK082 fenced; MK001 for auto_offset_reset none; 42501, 22023.';

CREATE FUNCTION minikafka.poll_json(
	group_id text,
	member_id text,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0')
RETURNS SETOF minikafka.record_json
LANGUAGE c ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_poll_json';
COMMENT ON FUNCTION minikafka.poll_json(text, text, integer, integer, interval) IS
'Records of the partitions that the member has, key and value as text and JSON, from its positions on: at most max_records, and after the first at most max_bytes, the partitions in turn; alone those whose records this session has polled and rolled back, and fewer where members of the group were too slow. If there are none, waits up to max_wait, at READ COMMITTED; what came meanwhile is then returned too. Takes effect with the transaction: the positions move, and it counts as a heartbeat. A partition stops before a record that cannot be decoded; one that begins with such a record is passed over with a WARNING, and is an error (22P02) when there is nothing else to return. Needs SELECT on the topics and the right to the group. At COMMIT: MK022 the group has moved a partition, or removed the member, since; MK101 another session has polled for the member. Errors: MK025 no such member, or its timeouts have passed; MK082 fenced; MK001 for auto_offset_reset none; 42501, 22023.';

CREATE PROCEDURE minikafka.wait_for_records(group_id text, member_id text, max_wait interval)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_wait_for_records';
COMMENT ON PROCEDURE minikafka.wait_for_records(text, text, interval) IS
'Waits until there are records for the member to poll, or for max_wait, without a snapshot in between, and counts as a poll meanwhile. Commits: so not in a transaction block (2D000). Errors as of poll().';

CREATE FUNCTION minikafka.commit(group_id text, member_id text)
RETURNS TABLE (topic text, partition integer, "offset" bigint)
LANGUAGE c ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_commit';
COMMENT ON FUNCTION minikafka.commit(text, text) IS
'Commits the positions of the member, with the transaction: what it has polled, in this transaction or before, and nothing more; returns them. At COMMIT: MK022 the group has moved such a partition since, MK025 the member was removed, MK101 another session has committed for it. Errors: MK025, MK082, 42501, 22023.';

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
'Notes that the group has read the partition up to, and without, next_offset; takes effect with the transaction. Without member_id for a plain consumer, while the group has no members: the first use makes the group, which then belongs to the caller. With member_id for a partition that the member has. generation: that of the group, as heartbeat() returned it. Needs SELECT on the topic. Errors: 22023 outside [0, end]; MK022 another generation, or a partition that the member does not have, also at COMMIT; MK025 no such member, or none named while there are some; MK082, 42501 another role''s group, 42704, 54000 metadata above 4096 bytes.';

CREATE FUNCTION minikafka.committed(group_id text, topic text, partition integer)
RETURNS bigint LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_committed';
COMMENT ON FUNCTION minikafka.committed(text, text, integer) IS
'The committed offset of a group in a partition, NULL if none; a transaction sees its own. Needs SELECT on the topic and the group, or membership in pg_monitor.';

CREATE FUNCTION minikafka.seek(
	group_id text,
	member_id text,
	topic text,
	partition integer,
	next_offset bigint)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_seek';
COMMENT ON FUNCTION minikafka.seek(text, text, text, integer, bigint) IS
'Sets where the member polls next in a partition that it has, with the transaction. At COMMIT: MK022 the group has moved the partition since. Errors: 22023 not assigned, or an offset outside [0, end]; MK025, MK082, 42501, 42704.';

CREATE FUNCTION minikafka.pause(
	group_id text,
	member_id text,
	topic text,
	partition integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_pause';
COMMENT ON FUNCTION minikafka.pause(text, text, text, integer) IS
'Has poll() leave out a partition that the member has, with the transaction, until resume() or until the partition moves. Errors: 22023 not assigned; MK025, MK082, 42501, 42704.';

CREATE FUNCTION minikafka.resume(
	group_id text,
	member_id text,
	topic text,
	partition integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_resume';
COMMENT ON FUNCTION minikafka.resume(text, text, text, integer) IS
'Ends a pause(), with the transaction. Errors: 22023 not assigned; MK025, MK082, 42501, 42704.';

CREATE FUNCTION minikafka.reset_offsets(group_id text, topic text, target text)
RETURNS TABLE (topic text, partition integer, "offset" bigint)
LANGUAGE c ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_reset_offsets';
COMMENT ON FUNCTION minikafka.reset_offsets(text, text, text) IS
'Commits, for each partition of the topic, the offset that target says, with the transaction, and returns them: earliest, latest, offset:N, shift:N (from the committed offset, N may be negative), or time:TIMESTAMP (the first record of that time or later); within the log. Errors: MK068 the group has members, also at COMMIT; 22023 unknown target; 42704, 42501.';

CREATE FUNCTION minikafka.delete_group(group_id text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_delete_group';
COMMENT ON FUNCTION minikafka.delete_group(text) IS
'Deletes a group and its committed offsets, at COMMIT. For its owner. Errors: MK068 it has members, also at COMMIT; 42704, 42501, 55000 the transaction has used the group.';

CREATE FUNCTION minikafka.grant_group(group_id text, grantee text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_grant_group';
COMMENT ON FUNCTION minikafka.grant_group(text, text) IS
'Lets another role use the group, from COMMIT on. For its owner. Errors: 42704 unknown group or role, 42501.';

CREATE FUNCTION minikafka.revoke_group(group_id text, grantee text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_revoke_group';
COMMENT ON FUNCTION minikafka.revoke_group(text, text) IS
'Takes back what grant_group() gave, from COMMIT on. For the group''s owner. Errors: 42704 unknown group or role, 42501.';

CREATE FUNCTION minikafka.set_group_owner(group_id text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_group_owner';
COMMENT ON FUNCTION minikafka.set_group_owner(text, text) IS
'Gives the group to another role, from COMMIT on; what it was granted to stays. For its owner who is a member of that role, as ALTER ... OWNER TO, and for superusers. Errors: 42704 unknown group or role, 42501, both also at COMMIT.';

CREATE FUNCTION minikafka.group_is_visible(group_id text)
RETURNS boolean LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_group_is_visible';
COMMENT ON FUNCTION minikafka.group_is_visible(text) IS
'Whether the caller may see the group: its owner, a role that it was granted to, or a member of pg_monitor. For the views.';

CREATE FUNCTION minikafka.member_is_expired(group_id text, member_id text)
RETURNS boolean LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_member_is_expired';
COMMENT ON FUNCTION minikafka.member_is_expired(text, text) IS
'Whether a member is none any more, or is one whose timeouts have passed and that nobody has removed yet. For the views. Errors: 42501, 22023.';

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
'The committed offsets of a group, in the topics that the caller may read. For the view group_offsets. Errors: 42501, 22023.';

CREATE TYPE minikafka.partition_lag AS (
	topic text,
	partition integer,
	log_start_offset bigint,
	end_offset bigint,
	committed_offset bigint,
	lag bigint,
	time_lag interval,
	member_id text);
COMMENT ON TYPE minikafka.partition_lag IS 'The lag of a group in a partition, as lag() returns it.';

CREATE FUNCTION minikafka.lag(group_id text, topic text DEFAULT NULL)
RETURNS SETOF minikafka.partition_lag
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_lag';
COMMENT ON FUNCTION minikafka.lag(text, text) IS
'How far a group is behind, for each partition of a topic (NULL: of all topics that it reads or has committed offsets in, without members those that its last ones read): lag = end - max(committed, log start), in records; time_lag = age of the oldest unread record, NULL if its time is in the future; member_id: who has the partition, if its timeouts have not passed. Needs SELECT on the topic and the group, or membership in pg_monitor; with NULL, topics without that right are left out, and the columns of one that cannot be read (altered by hand) are NULL. Errors: 42704 unknown group or topic, 42501.';
