--
-- The reference program: a small broker that this model comes from.  What it
-- prints is known to the letter
--
\pset format unaligned
\pset tuples_only on

-- D01: its partitioner, and Kafka's
SELECT minikafka.create_topic('orders', 3, partitioner => 'md5');
SELECT minikafka.create_topic('orders.murmur2', 3);
SELECT string_agg(minikafka.partition_for_key('orders', key)::text, ', ' ORDER BY key),
	string_agg(minikafka.partition_for_key('orders.murmur2', key)::text, ', ' ORDER BY key)
FROM unnest('{ann, bob, cid, dan, eve, fay}'::text[]) key;

-- D02: records of one key are in one partition, in their order
SELECT count(minikafka.send('orders', 'order-' || no - 1, key))
FROM unnest('{ann, bob, fay, ann, bob, ann, dan, fay, ann}'::text[]) WITH ORDINALITY k(key, no);
SELECT format('p%s: %s', partition, string_agg(key || '@' || "offset", ' ' ORDER BY "offset"))
FROM generate_series(0, 2) p CROSS JOIN LATERAL minikafka.fetch_text('orders', p, 0)
GROUP BY partition ORDER BY partition;

-- D03: one record more, which its producer sends three times, as if it did not
-- know what became of the first attempts
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'orders';
SELECT sum(end_offset) AS before, 0 AS attempts FROM minikafka.partitions WHERE topic = 'orders' \gset
SELECT :attempts + count(minikafka.send('orders', 'order-9', 'bob', producer => 'p1', sequence => 0)) AS attempts \gset
SELECT :attempts + count(minikafka.send('orders', 'order-9', 'bob', producer => 'p1', sequence => 0)) AS attempts \gset
SELECT :attempts + count(minikafka.send('orders', 'order-9', 'bob', producer => 'p1', sequence => 0)) AS attempts \gset
SELECT format('idempotent send, %s attempts: one record %s, log %s -> %s', :'attempts',
	(SELECT string_agg(format('p%s@%s', partition, base_offset), ' ') FROM minikafka.last_sent()),
	:'before', (SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'orders'));
SELECT partition, "offset", value FROM minikafka.fetch_text('orders', 0, 2);
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'orders';

-- D04: two members share the partitions
SELECT minikafka.join_group('billing', '{orders}', 'c1', assignor => 'range', protocol => 'eager');
SELECT format('[%s]', string_agg(partition::text, ', ' ORDER BY partition))
FROM minikafka.assignment('billing', 'c1');
SELECT minikafka.join_group('billing', '{orders}', 'c2');
SELECT format('generation %s: c1=[%s] c2=[%s]',
	(SELECT generation FROM minikafka.groups WHERE group_id = 'billing'),
	(SELECT string_agg(partition::text, ', ' ORDER BY partition) FROM minikafka.assignment('billing', 'c1')),
	(SELECT string_agg(partition::text, ', ' ORDER BY partition) FROM minikafka.assignment('billing', 'c2')));

-- D05: one of them dies before it has committed what it has polled
BEGIN;
SELECT count(*) AS polled FROM minikafka.poll('billing', 'c1') \gset
SELECT string_agg(format('%s: %s', partition, "offset"), ', ' ORDER BY partition) AS committed
FROM minikafka.commit('billing', 'c1') \gset
COMMIT;
SELECT format('c1 polls %s, commits {%s}', :'polled', :'committed');
SELECT format('c2 polls %s (%s) and crashes before committing', count(*),
	string_agg(value, ' ' ORDER BY partition, "offset"))
FROM minikafka.poll_text('billing', 'c2');
-- while its session timeout, 45 s, passes, the other is heard of
SET minikafka.clock_offset = 40;
SELECT minikafka.heartbeat('billing', 'c1');
SET minikafka.clock_offset = 46;
SELECT minikafka.heartbeat('billing', 'c1');
SELECT format('generation %s: c1=[%s]', generation,
	(SELECT string_agg(partition::text, ', ' ORDER BY partition) FROM minikafka.assignment('billing', 'c1'))) AS assigned
FROM minikafka.groups WHERE group_id = 'billing' \gset
SELECT format('%s polls %s again: %s', :'assigned', count(*), string_agg(value, ' ' ORDER BY partition, "offset"))
FROM minikafka.poll_text('billing', 'c1');

-- D06: lag
SELECT string_agg(format('%s: %s', partition, lag), ', ' ORDER BY partition) AS before
FROM minikafka.lag('billing') \gset
SELECT partition, "offset" FROM minikafka.commit('billing', 'c1') ORDER BY 1;
SELECT format('lag before commit {%s}, after commit {%s}', :'before',
	string_agg(format('%s: %s', partition, lag), ', ' ORDER BY partition))
FROM minikafka.lag('billing');

-- D10: out of order.  There the last is refused too; here it is acknowledged, by
-- the offset that it got
SELECT minikafka.append('orders', 1, NULL, 'v', producer => 'p2', sequence => 5);
BEGIN;
SELECT minikafka.append('orders', 1, NULL, 'v' || sequence, producer => 'p2', sequence => sequence)
FROM unnest('{0, 1, 0}'::bigint[]) sequence;
ROLLBACK;

-- D11: outside the log
SELECT minikafka.commit_offset('mailing', 'orders', 2, -1);
SELECT minikafka.commit_offset('mailing', 'orders', 2, 999);

-- D12: what is refused: "validation", "conflict" and "not found" there
SELECT minikafka.create_topic('none', 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('none', retention => '0');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('orders');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('no orders', 'v');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('orders', 'v', partition => 3);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('orders', 1, NULL, 'v', producer => 'p2');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.poll('billing', 'c1', max_records => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.poll('billing', 'c3');
\echo :LAST_ERROR_SQLSTATE
-- and what is not, here: joining twice, and a reset policy of "none"
SELECT minikafka.join_group('billing', '{orders}', 'c1', auto_offset_reset => 'none');
SELECT count(*) FROM minikafka.poll('billing', 'c1');

-- D07, Kafka case C20: the newest record of each key stays, at its offset
SELECT minikafka.create_topic('balances', 1, cleanup_policy => 'compact', partitioner => 'md5');
SELECT count(minikafka.send('balances', (99 + no)::text, key))
FROM unnest('{ann, bob, cid, ann, bob, cid}'::text[]) WITH ORDINALITY k(key, no);
CALL minikafka.compact('balances') \gset
SELECT format('compaction removed %s: %s; log start %s, end %s', :'removed',
	(SELECT string_agg(format('%s=%s@%s', key, value, "offset"), ', ' ORDER BY "offset") FROM minikafka.fetch_text('balances', 0, 0)),
	log_start_offset, end_offset)
FROM minikafka.offsets('balances', 0);

-- D08: what is older than the retention goes, and the log goes on
SELECT minikafka.set_topic_option('orders', 'retention', '1 day');
SET minikafka.clock_offset = 100000;
CALL minikafka.expire('orders') \gset
SELECT format('%s expired, log starts [%s]', :'removed', string_agg(log_start_offset::text, ', ' ORDER BY partition))
FROM minikafka.partitions WHERE topic = 'orders';
SELECT minikafka.send('orders', 'order-10', 'ann') AS partition \gset
SELECT format('order-10 is p%s@%s', partition, base_offset) FROM minikafka.last_sent();
SELECT minikafka.join_group('audit', '{orders}', 'a1', auto_offset_reset => 'earliest');
SELECT format('a new group from earliest reads %s', string_agg(format('%s at p%s@%s', value, partition, "offset"), ', '))
FROM minikafka.poll_text('audit', 'a1');

-- D09
SELECT minikafka.fetch('orders', 2, 0);
\echo :LAST_ERROR_SQLSTATE

-- D13, D14: a group whose committed offset is gone.  There it is stuck for ever,
-- and has a lag of 4; here its policy says where it goes on, and one record is
-- unread
SELECT minikafka.create_topic('stuck', 1, retention => '1 day');
SELECT count(minikafka.send('stuck', i::text)) FROM generate_series(0, 4) i;
SELECT minikafka.commit_offset(policy, 'stuck', 0, 2), minikafka.join_group(policy, '{stuck}', 'm', auto_offset_reset => policy)
FROM unnest('{earliest, latest}'::text[]) policy;
SET minikafka.clock_offset = 200000;
CALL minikafka.expire('stuck');
SELECT minikafka.send('stuck', '5');
SELECT group_id, log_start_offset, end_offset, committed_offset, lag FROM minikafka.consumer_lag WHERE topic = 'stuck' ORDER BY 1;
-- the members have not been heard of for so long
SELECT minikafka.join_group(policy, '{stuck}', 'm', auto_offset_reset => policy) FROM unnest('{earliest, latest}'::text[]) policy;
SELECT "offset", value FROM minikafka.poll_text('earliest', 'm');
SELECT "offset", value FROM minikafka.poll_text('latest', 'm');
SELECT policy, c."offset" FROM unnest('{earliest, latest}'::text[]) policy, minikafka.commit(policy, 'm') c;
SELECT group_id, committed_offset, lag FROM minikafka.consumer_lag WHERE topic = 'stuck' ORDER BY 1;
-- D15, times that go back along a partition: see retention.sql

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation; nor a producer
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
