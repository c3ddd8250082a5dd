/* Views of dead letters.  As the others, they show a role what it may use. */

CREATE FUNCTION minikafka.topic_dead_letters(topic text,
	OUT dead_letter_partition integer, OUT dead_letter_offset bigint, OUT sent_at timestamptz, OUT group_id text, OUT source_topic text,
	OUT source_partition integer, OUT source_offset bigint, OUT delivery_count integer, OUT error text)
RETURNS SETOF record LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'minikafka_topic_dead_letters';
COMMENT ON FUNCTION minikafka.topic_dead_letters(text) IS
'For the view dead_letters: dead letters of a topic that redrive() has not sent on; none of a topic that cannot be read. Requires SELECT on the topic, or pg_monitor. Errors: 42501, 22023.';

CREATE VIEW minikafka.dead_letters WITH (security_barrier) AS
SELECT c.relname::text AS dead_letter_topic,
	l.dead_letter_partition,
	l.dead_letter_offset,
	l.sent_at,
	l.group_id,
	l.source_topic,
	l.source_partition,
	l.source_offset,
	l.delivery_count,
	l.error
FROM minikafka.topic t
JOIN pg_catalog.pg_class c ON c.oid = t.rel
CROSS JOIN LATERAL minikafka.topic_dead_letters(c.relname::text) l
WHERE (t.topic_id IN (SELECT s.dead_letter_topic_id FROM minikafka.share_group s)
		OR t.topic_id IN (SELECT r.topic_id FROM minikafka.redriven r))
	AND (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR pg_catalog.pg_has_role('pg_monitor', 'USAGE'));
COMMENT ON VIEW minikafka.dead_letters IS 'Dead letters that redrive() has not sent on, in topics that the role may read: in the dead-letter topics of share groups, and in those that redrive() has sent letters from.';
COMMENT ON COLUMN minikafka.dead_letters.dead_letter_topic IS 'topic of the dead letter';
COMMENT ON COLUMN minikafka.dead_letters.dead_letter_partition IS 'partition of the dead letter';
COMMENT ON COLUMN minikafka.dead_letters.dead_letter_offset IS 'offset of the dead letter';
COMMENT ON COLUMN minikafka.dead_letters.sent_at IS 'when it was sent';
COMMENT ON COLUMN minikafka.dead_letters.group_id IS 'group that could not process the record; as all that follows NULL for a role that may only monitor the topic';
COMMENT ON COLUMN minikafka.dead_letters.source_topic IS 'topic of the record';
COMMENT ON COLUMN minikafka.dead_letters.source_partition IS 'partition of the record';
COMMENT ON COLUMN minikafka.dead_letters.source_offset IS 'offset of the record';
COMMENT ON COLUMN minikafka.dead_letters.delivery_count IS 'how often the record was delivered; NULL if that is not known';
COMMENT ON COLUMN minikafka.dead_letters.error IS 'why it could not be processed; NULL if that was not told';
