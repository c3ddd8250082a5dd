--
-- Errors: the SQLSTATE of each kind
--
BEGIN;
SELECT plan(268);
SELECT minikafka.create_topic('tap', 2, max_message_bytes => 10);
CREATE TABLE minikafka_topics.tap_table ();

-- 42704
SELECT throws_ok($$SELECT minikafka.send('unknown', 'v')$$, '42704', 'topic "unknown" does not exist', 'send: unknown topic');
SELECT throws_ok($$SELECT minikafka.fetch('unknown', 0, 0)$$, '42704', 'topic "unknown" does not exist', 'fetch: unknown topic');
SELECT throws_ok($$SELECT minikafka.drop_topic('unknown')$$, '42704', 'topic "unknown" does not exist', 'drop_topic: unknown topic');
SELECT lives_ok($$SELECT minikafka.drop_topic('unknown', if_exists => true)$$, 'drop_topic if_exists');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', partition => 2)$$, '42704', 'partition 2 of topic "tap" does not exist', 'unknown partition');
SELECT throws_ok($$SELECT minikafka.append('tap', -1, 'k', 'v')$$, '42704', 'partition -1 of topic "tap" does not exist', 'negative partition');
SELECT throws_ok($$SELECT minikafka.lag('unknown')$$, '42704', 'group "unknown" does not exist', 'unknown group');
-- 42710
SELECT throws_ok($$SELECT minikafka.create_topic('tap')$$, '42710', 'topic "tap" already exists', 'topic exists');
SELECT lives_ok($$SELECT minikafka.create_topic('tap', if_not_exists => true)$$, 'create_topic if_not_exists');
-- 22023
SELECT throws_ok($$SELECT minikafka.create_topic('a b')$$, '22023', 'invalid topic name "a b"', 'bad name');
SELECT throws_ok($$SELECT minikafka.create_topic('new', 0)$$, '22023', NULL, 'no partitions');
SELECT throws_ok($$SELECT minikafka.create_topic(NULL)$$, '22023', 'argument "topic" must not be null', 'NULL name');
SELECT throws_ok($$SELECT minikafka.add_partitions('tap', 1)$$, '22023', NULL, 'fewer partitions');
SELECT throws_ok($$SELECT minikafka.set_topic_option('tap', 'nonsense', '1')$$, '22023', 'unrecognized topic option "nonsense"', 'unknown option');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', headers => '[1]')$$, '22023', NULL, 'bad headers');
SELECT throws_ok($$SELECT minikafka.send_many('tap', ARRAY['a'], ARRAY['a', 'b'])$$, '22023', NULL, 'arrays of two lengths');
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, -1)$$, '22023', NULL, 'negative offset');
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, 0, 0)$$, '22023', NULL, 'max_records below 1');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, -1)$$, '22023', 'offset -1 is outside [0, 0] of topic "tap" partition 0', 'commit below 0');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, 1)$$, '22023', 'offset 1 is outside [0, 0] of topic "tap" partition 0', 'commit beyond the end');
SELECT throws_ok($$SELECT minikafka.commit_offset('', 'tap', 0, 0)$$, '22023', NULL, 'empty group');
SELECT throws_ok($$SELECT minikafka.delete_records('tap', 0, -2)$$, '22023', NULL, 'delete below -1');
SELECT throws_ok($$SELECT minikafka.create_topic('new', retention => '0')$$, '22023', NULL, 'retention of nothing');
SELECT throws_ok($$SELECT minikafka.create_topic('new', retention_bytes => 0)$$, '22023', NULL, 'retention_bytes of nothing');
SELECT throws_ok($$SELECT minikafka.create_topic('new', cleanup_policy => 'compacted')$$, '22023', NULL, 'unknown cleanup policy');
SELECT throws_ok(format('SELECT minikafka.set_topic_option(%L, %L, %L)', 'tap', option, value), '22023', NULL, option || ' of ' || value)
FROM (VALUES ('retention', '-1 day'), ('retention_bytes', '-1'), ('cleanup_policy', ''), ('delete_retention', '-1 s'), ('min_compaction_lag', '-1 s')) v(option, value);
SELECT throws_ok($$SELECT minikafka.latest(NULL)$$, '22023', 'argument "topic" must not be null', 'latest of NULL');
SELECT throws_ok(format('CALL minikafka.%s(NULL)', procedure), '22023', 'argument "topic" must not be null', procedure || ' of NULL')
FROM unnest(ARRAY['expire', 'compact']) procedure;
SELECT throws_ok(format('CALL minikafka.%s(%L)', procedure, topic), '42704', format('topic "%s" does not exist', topic), format('%s of "%s"', procedure, topic))
FROM unnest(ARRAY['expire', 'compact']) procedure, unnest(ARRAY['unknown', '', 'Tap', 'a b']) topic;
SELECT throws_ok($$SELECT minikafka.latest('unknown')$$, '42704', 'topic "unknown" does not exist', 'latest: unknown topic');
-- a topic is compacted: every record needs a key
SELECT minikafka.create_topic('keyed', 2, cleanup_policy => 'compact');
SELECT throws_ok(format('SELECT minikafka.%s', call), '22023', 'record without a key for topic "keyed"', call)
FROM unnest(ARRAY[$$send('keyed', 'v')$$, $$send('keyed', 'v', partition => 0)$$, $$send('keyed', NULL)$$, $$send('keyed', 'v'::bytea)$$,
	$$send_many('keyed', ARRAY['a'])$$, $$send_many('keyed', ARRAY['a', 'b'], ARRAY['k', NULL])$$, $$append('keyed', 0, NULL, 'v')$$]) call;
SELECT lives_ok($$SELECT minikafka.append('keyed', 0, '', 'v')$$, 'an empty key is one');
-- 2D000
SELECT throws_ok($$CALL minikafka.maintain()$$, '2D000', NULL, 'maintain in a transaction block');
SELECT throws_ok($$CALL minikafka.expire('tap')$$, '2D000', NULL, 'expire in a transaction block');
SELECT throws_ok($$CALL minikafka.compact('keyed')$$, '2D000', NULL, 'compact in a transaction block');
-- 55000
SELECT throws_ok($$CALL minikafka.compact('tap')$$, '55000', 'topic "tap" is not compacted', 'compact of what is not to be compacted');
-- MK001
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, 1)$$, 'MK001', NULL, 'fetch beyond the end');
SELECT throws_ok($$SELECT minikafka.delete_records('tap', 0, 1)$$, 'MK001', NULL, 'delete beyond the end');
-- 54000
SELECT throws_ok($$SELECT minikafka.send('tap', repeat('v', 11))$$, '54000', 'record of 11 bytes is too large for topic "tap"', 'record too large');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, 0, repeat('m', 5000))$$, '54000', NULL, 'metadata too large');
SELECT throws_ok($$SELECT minikafka.create_topic('wide', 10000)$$, '54000', NULL, 'more tables than can be locked');
-- 0A000
SELECT throws_ok($$SELECT minikafka.create_topic('new', min_insync_replicas => 2)$$, '0A000', NULL, 'min_insync_replicas');
SELECT throws_ok($$SELECT minikafka.send('tap_table', 'v')$$, '0A000', NULL, 'a table that is no topic');
-- 42501
SELECT throws_ok($$DELETE FROM minikafka_topics.tap$$, '42501', 'cannot write to table "minikafka_topics.tap" directly', 'direct write');
-- 22021, 22P02
SELECT minikafka.create_topic('bytes', 1);
COMMIT;
BEGIN;
SELECT minikafka.send('bytes', '\xff'::bytea);
COMMIT;
BEGIN;
SELECT throws_ok($$SELECT minikafka.fetch_text('bytes', 0, 0)$$, '22021', NULL, 'fetch_text of what is no text');
SELECT throws_ok($$SELECT minikafka.fetch_json('bytes', 0, 0)$$, '22P02', NULL, 'fetch_json of what is no JSON');
COMMIT;

-- Groups: what a call does takes effect at COMMIT, so the steps are transactions
SELECT minikafka.create_share_group('share', '{tap}');
SELECT minikafka.join_group('members', '{tap}', 'a', 'instance');
SELECT minikafka.join_group('members', '{tap}', 'b');
SELECT minikafka.join_group('members', '{tap}', 'c', 'instance');
SELECT minikafka.join_group('reset none', '{tap}', 'm', auto_offset_reset => 'none');
SELECT minikafka.commit_offset('plain', 'tap', 0, 0);
BEGIN;
-- 42704
SELECT throws_ok($$SELECT minikafka.delete_group('unknown')$$, '42704', 'group "unknown" does not exist', 'delete_group: unknown group');
SELECT throws_ok($$SELECT minikafka.reset_offsets('unknown', 'tap', 'latest')$$, '42704', 'group "unknown" does not exist', 'reset_offsets: unknown group');
SELECT throws_ok($$SELECT minikafka.reset_offsets('plain', 'unknown', 'latest')$$, '42704', 'topic "unknown" does not exist', 'reset_offsets: unknown topic');
SELECT throws_ok($$SELECT minikafka.grant_group('unknown', 'pg_monitor')$$, '42704', 'group "unknown" does not exist', 'grant_group: unknown group');
SELECT throws_ok($$SELECT minikafka.revoke_group('unknown', 'pg_monitor')$$, '42704', 'group "unknown" does not exist', 'revoke_group: unknown group');
SELECT throws_ok($$SELECT minikafka.grant_group('plain', 'tap_unknown')$$, '42704', 'role "tap_unknown" does not exist', 'grant_group: unknown role');
SELECT throws_ok($$SELECT minikafka.lag('plain', 'unknown')$$, '42704', 'topic "unknown" does not exist', 'lag: unknown topic');
SELECT throws_ok($$SELECT minikafka.seek('members', 'b', 'tap', 2, 0)$$, '42704', 'partition 2 of topic "tap" does not exist', 'seek: unknown partition');
SELECT throws_ok($$SELECT minikafka.pause('members', 'b', 'unknown', 0)$$, '42704', 'topic "unknown" does not exist', 'pause: unknown topic');
SELECT is(minikafka.committed('unknown', 'tap', 0), NULL, 'committed of an unknown group is NULL');
-- 42501: see rights.sql for the right to use a group
SELECT throws_ok($$CREATE MATERIALIZED VIEW tap_view AS SELECT minikafka.heartbeat('members', 'b')$$, '42501', 'cannot execute heartbeat() within security-restricted operation', 'security-restricted operation: heartbeat');
SELECT throws_ok($$CREATE MATERIALIZED VIEW tap_view AS SELECT * FROM minikafka.poll('members', 'b')$$, '42501', NULL, 'security-restricted operation: poll');
SELECT throws_ok($$CREATE MATERIALIZED VIEW tap_view AS SELECT minikafka.lag('members')$$, '42501', NULL, 'security-restricted operation: lag');
-- 22023
SELECT throws_ok($$SELECT minikafka.join_group('', '{tap}')$$, '22023', 'invalid group id ""', 'empty group id');
SELECT throws_ok($$SELECT minikafka.join_group(NULL, '{tap}')$$, '22023', 'argument "group_id" must not be null', 'NULL group id');
SELECT throws_ok($$SELECT minikafka.join_group(repeat('g', 256), '{tap}')$$, '22023', NULL, 'long group id');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{tap}', ' ')$$, '22023', 'invalid member id " "', 'blank member id');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{tap}', instance_id => '')$$, '22023', 'invalid instance id ""', 'empty instance id');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{}')$$, '22023', NULL, 'no topics');
SELECT throws_ok($$SELECT minikafka.join_group('g', NULL)$$, '22023', 'argument "topics" must not be null', 'NULL topics');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{NULL}')$$, '22023', NULL, 'NULL among the topics');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{a b}')$$, '22023', 'invalid topic name "a b"', 'bad topic name');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{tap}', assignor => 'Sticky')$$, '22023', 'unknown assignor "Sticky"', 'unknown assignor');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{tap}', protocol => '')$$, '22023', 'unknown protocol ""', 'unknown protocol');
SELECT throws_ok($$SELECT minikafka.join_group('g', '{tap}', auto_offset_reset => 'first')$$, '22023', 'unknown auto_offset_reset "first"', 'unknown reset');
SELECT throws_ok(format($$SELECT minikafka.join_group('g', '{tap}', %s => %L)$$, timeout, value), '22023', NULL, timeout || ' of ' || value)
FROM unnest(ARRAY['session_timeout', 'max_poll_interval', 'rebalance_timeout']) timeout, unnest(ARRAY['0', '-1 s', '1 month']) value;
SELECT throws_ok($$SELECT minikafka.poll('members', 'b', 0)$$, '22023', NULL, 'max_records below 1');
SELECT throws_ok($$SELECT minikafka.poll('members', 'b', 1, 0)$$, '22023', NULL, 'max_bytes below 1');
SELECT throws_ok($$SELECT minikafka.poll('members', 'b', max_wait => '-1 s')$$, '22023', NULL, 'negative max_wait');
SELECT throws_ok($$SELECT minikafka.poll('members', NULL)$$, '22023', 'argument "member_id" must not be null', 'NULL member id');
SELECT throws_ok($$SELECT minikafka.seek('members', 'b', 'tap', 0, -1)$$, '22023', NULL, 'seek: negative offset');
SELECT throws_ok($$SELECT minikafka.seek('reset none', 'm', 'bytes', 0, 0)$$, '22023', 'partition 0 of topic "bytes" is not assigned to member "m" of group "reset none"', 'seek: not assigned');
SELECT throws_ok($$SELECT minikafka.pause('reset none', 'm', 'bytes', 0)$$, '22023', NULL, 'pause: not assigned');
SELECT throws_ok($$SELECT minikafka.resume('reset none', 'm', 'bytes', 0)$$, '22023', NULL, 'resume: not assigned');
SELECT throws_ok(format($$SELECT minikafka.reset_offsets('plain', 'tap', %L)$$, target), '22023', format('invalid target "%s"', target), 'reset_offsets: ' || target)
FROM unnest(ARRAY['', 'first', 'offset:', 'offset:-1', 'offset:1x', 'shift:', 'shift:9223372036854775808']) target;
SELECT throws_ok($$SELECT minikafka.reset_offsets('plain', 'tap', 'time:soon')$$, '22007', NULL, 'reset_offsets: no timestamp');
-- MK001
SELECT throws_ok($$SELECT minikafka.poll('reset none', 'm')$$, 'MK001', NULL, 'reset none and nothing committed');
-- MK022
SELECT throws_ok(format($$SELECT minikafka.commit_offset('members', 'tap', %s, 0, member_id => 'b', generation => 1)$$, partition), 'MK022', 'generation 1 is not that of group "members"', 'another generation')
FROM minikafka.assignment('members', 'b');
SELECT throws_ok($$SELECT minikafka.commit_offset('unknown', 'tap', 0, 0, generation => 10)$$, 'MK022', NULL, 'Kafka case O01: a generation of an unknown group');
SELECT throws_ok(format($$SELECT minikafka.commit_offset('members', 'tap', %s, 0, member_id => 'b')$$, partition), 'MK022', NULL, 'a partition of another member')
FROM minikafka.assignment('members', 'c');
-- MK023
SELECT throws_ok($$SELECT minikafka.join_group('members', '{tap}', assignor => 'range')$$, 'MK023', 'group "members" has assignor "sticky", not "range"', 'another assignor');
SELECT throws_ok($$SELECT minikafka.join_group('members', '{tap}', protocol => 'eager')$$, 'MK023', 'group "members" has protocol "cooperative", not "eager"', 'another protocol');
SELECT lives_ok($$SELECT minikafka.join_group('members', '{tap}', assignor => 'sticky', protocol => 'cooperative')$$, 'the same settings');
SELECT throws_ok(format('SELECT minikafka.%s', call), 'MK023', 'group "share" is a share group', call)
FROM unnest(ARRAY[$$join_group('share', '{tap}')$$, $$leave_group('share', 'm')$$, $$heartbeat('share', 'm')$$, $$assignment('share', 'm')$$,
	$$poll('share', 'm')$$, $$poll_text('share', 'm')$$, $$poll_json('share', 'm')$$, $$commit('share', 'm')$$, $$commit_offset('share', 'tap', 0, 0)$$,
	$$commit_offset('share', 'tap', 0, 0, member_id => 'm')$$, $$committed('share', 'tap', 0)$$, $$seek('share', 'm', 'tap', 0, 0)$$,
	$$pause('share', 'm', 'tap', 0)$$, $$resume('share', 'm', 'tap', 0)$$]) call;
SELECT throws_ok(format('SELECT minikafka.%s', call), 'MK023', 'group "members" is a consumer group', call)
FROM unnest(ARRAY[$$create_share_group('members', '{tap}')$$, $$set_group_option('members', 'paused', 'true')$$]) call;
SELECT throws_ok($$SELECT minikafka.create_share_group('share', '{tap}')$$, '42710', 'group "share" already exists', 'a share group exists');
SELECT throws_ok($$SELECT minikafka.set_group_option('share', 'nonsense', '1')$$, '22023', 'unrecognized share group option "nonsense"', 'unknown option of a share group');
SELECT throws_ok($$SELECT minikafka.set_group_option('share', 'on_exhausted', 'dead_letter')$$, '22023', NULL, 'dead letters without a topic');
SELECT throws_ok($$SELECT minikafka.set_group_option('share', 'topics', '{tap')$$, '22P02', NULL, 'topics: no array');
-- MK025
SELECT throws_ok(format('SELECT minikafka.%s', call), 'MK025', format('group "%s" has no member "nobody"', g), call)
FROM unnest(ARRAY['members', 'plain', 'unknown']) g,
LATERAL unnest(ARRAY[format('heartbeat(%L, ''nobody'')', g), format('poll(%L, ''nobody'')', g), format('commit(%L, ''nobody'')', g),
	format('assignment(%L, ''nobody'')', g), format('leave_group(%L, ''nobody'')', g), format('seek(%L, ''nobody'', ''tap'', 0, 0)', g),
	format('pause(%L, ''nobody'', ''tap'', 0)', g), format('resume(%L, ''nobody'', ''tap'', 0)', g),
	format('commit_offset(%L, ''tap'', 0, 0, member_id => ''nobody'')', g)]) call;
SELECT throws_ok($$CALL minikafka.wait_for_records('members', 'nobody', '0')$$, 'MK025', NULL, 'wait_for_records');
SELECT throws_ok($$SELECT minikafka.commit_offset('members', 'tap', 0, 0)$$, 'MK025', 'group "members" has members', 'Kafka case O04: no member while there are some');
-- MK068
SELECT throws_ok($$SELECT minikafka.delete_group('members')$$, 'MK068', 'group "members" has members', 'Kafka case G38: delete_group with members');
SELECT throws_ok($$SELECT minikafka.reset_offsets('members', 'tap', 'latest')$$, 'MK068', 'group "members" has members', 'reset_offsets with members');
-- MK082
SELECT throws_ok(format('SELECT minikafka.%s', call), 'MK082', 'member "a" of group "members" was fenced', 'Kafka case G23: ' || call)
FROM unnest(ARRAY[$$heartbeat('members', 'a')$$, $$poll('members', 'a')$$, $$commit('members', 'a')$$, $$assignment('members', 'a')$$,
	$$leave_group('members', 'a')$$, $$seek('members', 'a', 'tap', 0, 0)$$, $$commit_offset('members', 'tap', 0, 0, member_id => 'a')$$]) call;
SELECT throws_ok($$SELECT minikafka.join_group('members', '{tap}', 'a', 'instance')$$, 'MK082', NULL, 'joining with a fenced member id');
SELECT throws_ok($$SELECT minikafka.join_group('members', '{tap}', 'b', 'instance')$$, 'MK082', NULL, 'Kafka case G25: joining with another member''s id');
-- 2D000
SELECT throws_ok($$CALL minikafka.wait_for_records('members', 'b', '0')$$, '2D000', NULL, 'wait_for_records in a transaction block');
-- 55000
SELECT lives_ok($$SELECT minikafka.commit_offset('plain', 'tap', 0, 0)$$, 'a transaction uses a group');
SELECT throws_ok($$SELECT minikafka.delete_group('plain')$$, '55000', 'cannot delete group "plain" in a transaction that has used it', 'and does not delete it');
ROLLBACK;
BEGIN;
SELECT lives_ok($$SELECT minikafka.delete_group('plain')$$, 'a transaction deletes a group');
SELECT throws_ok($$SELECT minikafka.commit_offset('plain', 'tap', 0, 0)$$, '55000', 'group "plain" is to be deleted by this transaction', 'and does not use it');
SELECT throws_ok($$SELECT minikafka.join_group('plain', '{tap}')$$, '55000', NULL, 'nor joins it');
ROLLBACK;
-- at COMMIT
\set ON_ERROR_STOP 0
BEGIN;
SELECT minikafka.heartbeat('members', 'b');
SELECT minikafka.commit('members', 'b');
SELECT minikafka.join_group('members', '{tap}', 'b');
COMMIT;
SELECT is(:'SQLSTATE'::text, '00000', 'what the transaction did before its own join stays');
BEGIN;
SELECT minikafka.join_group('new', '{tap}', assignor => 'range');
SELECT minikafka.join_group('new', '{tap}', assignor => 'sticky');
COMMIT;
SELECT is(:'SQLSTATE'::text, 'MK023', 'two first members of different settings');
BEGIN;
SELECT minikafka.heartbeat('members', 'b');
PREPARE TRANSACTION 'tap';
SELECT is(:'SQLSTATE'::text, '0A000', 'PREPARE after a heartbeat');
\set ON_ERROR_STOP 1

-- Producers and inbox consumers
SELECT minikafka.append('bytes', 0, 'k', 'v', producer => 'tap', sequence => 0);
SELECT minikafka.inbox_accept('tap', 'event', 'v');
BEGIN;
-- 22023
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap')$$, '22023', 'argument "sequence" must not be null', 'producer without sequence');
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', sequence => 1)$$, '22023', 'arguments "sequence" and "epoch" need argument "producer"', 'sequence without producer');
SELECT throws_ok($$SELECT minikafka.append('bytes', 0, 'k', 'v', epoch => 0)$$, '22023', NULL, 'epoch without producer');
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', producer => 'tap', sequence => 1)$$, '22023', 'a record of a producer needs a key or a partition', 'neither key nor partition');
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => -1)$$, '22023', NULL, 'Kafka case I19: negative sequence');
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => 1, epoch => -1)$$, '22023', NULL, 'negative epoch');
SELECT throws_ok(format('SELECT minikafka.%s', call), '22023', NULL, call)
FROM unnest(ARRAY[$$send('bytes', 'v', 'k', producer => '', sequence => 1)$$, $$append('bytes', 0, 'k', 'v', producer => ' ', sequence => 1)$$,
	$$init_producer('')$$, $$init_producer(NULL)$$, $$init_producer(repeat('p', 256))$$, $$producer_state('')$$, $$producer_state(NULL)$$,
	$$inbox_accept('', 'e')$$, $$inbox_accept(NULL, 'e')$$, $$inbox_accept('tap', ' ')$$, $$inbox_accept('tap', NULL)$$, $$inbox_accept('tap', repeat('e', 256))$$]) call;
-- 42501: see rights.sql for the right to use a name
SELECT throws_ok(format('CREATE MATERIALIZED VIEW tap_view AS SELECT * FROM minikafka.%s', call), '42501', NULL, 'security-restricted operation: ' || call)
FROM unnest(ARRAY[$$send('bytes', 'v', 'k', producer => 'tap', sequence => 0)$$, $$init_producer('tap')$$, $$producer_state('tap')$$, $$inbox_accept('tap', 'event')$$]) call;
-- MK045
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => 5)$$, 'MK045', 'sequence 5 out of order, expected 1', 'a gap');
SELECT throws_ok($$SELECT minikafka.append('bytes', 0, 'k', 'v', producer => 'tap none', sequence => 5)$$, 'MK045', 'sequence 5 out of order, expected 0', 'the first is not 0');
-- MK047
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => 1, epoch => 1)$$, 'MK047', NULL, 'an epoch that was not begun');
SELECT throws_ok($$SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap none', sequence => 0, epoch => 1)$$, 'MK047', NULL, 'an unknown producer is at epoch 0');
-- MK100
SELECT throws_ok($$SELECT minikafka.inbox_accept('tap', 'event', 'w')$$, 'MK100', 'event "event" was accepted by consumer "tap" with another payload', 'the same event with another payload');
-- 55000
SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => 1);
SELECT throws_ok($$SELECT minikafka.append('bytes', 0, 'k', 'v', producer => 'tap', sequence => 1)$$, '55000', 'sequence 1 of producer "tap" has no offset yet', 'append of what the transaction has sent');
-- 54000
INSERT INTO minikafka.producer VALUES ('tap last', 0, current_user, 2147483647, true);
SELECT throws_ok($$SELECT minikafka.init_producer('tap last')$$, '54000', NULL, 'the last epoch');
ROLLBACK;
BEGIN READ ONLY;
-- 25006
SELECT throws_ok(format('SELECT minikafka.%s', call), '25006', NULL, 'read-only transaction: ' || call)
FROM unnest(ARRAY[$$send('bytes', 'v', 'k', producer => 'tap', sequence => 0)$$, $$append('bytes', 0, 'k', 'v', producer => 'tap', sequence => 0)$$,
	$$init_producer('tap')$$, $$inbox_accept('tap', 'event')$$]) call;
SELECT lives_ok($$SELECT minikafka.producer_state('tap')$$, 'read-only transaction: producer_state');
ROLLBACK;
-- at COMMIT
\set ON_ERROR_STOP 0
BEGIN;
SELECT minikafka.init_producer('tap');
PREPARE TRANSACTION 'tap';
SELECT is(:'SQLSTATE'::text, '0A000', 'PREPARE after init_producer');
BEGIN;
SELECT minikafka.send('bytes', 'v', 'k', producer => 'tap', sequence => 0);
PREPARE TRANSACTION 'tap';
SELECT is(:'SQLSTATE'::text, '0A000', 'PREPARE after a repeat');
SELECT minikafka.create_share_group('shared', '{tap}');
SELECT minikafka.send('tap', 'v', 'k', partition => 0);
-- MK121
BEGIN;
SELECT minikafka.acquire('shared');
COMMIT;
SELECT is(:'SQLSTATE'::text, 'MK121', 'a record that is not acknowledged, at COMMIT');
SELECT receipt FROM minikafka.acquire('shared', lock_duration => '1 h') \gset
SELECT minikafka.acknowledge('shared', :'receipt');
SELECT minikafka.send('tap', 'v', 'k', partition => 0);
BEGIN;
SELECT minikafka.acquire('shared', accept => true);
PREPARE TRANSACTION 'tap';
SELECT is(:'SQLSTATE'::text, '0A000', 'PREPARE after acquire');
SELECT throws_ok(format('SELECT minikafka.acknowledge(%L, %L)', 'shared', :'receipt'), 'MK121', NULL, 'acknowledged again');
SELECT throws_ok(format('SELECT minikafka.renew(%L, %L, %L)', 'shared', :'receipt', '1 s'), 'MK121', NULL, 'renewed when it is done');
-- the others of share groups
SELECT throws_ok(format('SELECT minikafka.%s', replace(call, 'GROUP', g)), state, NULL, format('%s of "%s"', split_part(call, '(', 1), g))
FROM unnest(ARRAY[$$acquire('GROUP')$$, $$acknowledge('GROUP', '0.0.0.0.0.t0')$$, $$renew('GROUP', '0.0.0.0.0.l0', '1 s')$$]) call,
	(VALUES ('unknown', '42704'), ('members', 'MK023')) v(g, state);
SELECT throws_ok($$SELECT minikafka.acquire('shared', 0)$$, '22023', NULL, 'acquire: max_records below 1');
SELECT throws_ok($$SELECT minikafka.acknowledge('shared', 'x')$$, '22023', NULL, 'no receipt');
SELECT throws_ok($$CREATE MATERIALIZED VIEW tap_view AS SELECT * FROM minikafka.acquire('shared')$$, '42501', NULL, 'security-restricted operation: acquire');
\set ON_ERROR_STOP 1

BEGIN;
-- 25006
SET TRANSACTION READ ONLY;
SELECT throws_ok($$SELECT minikafka.send('tap', 'v')$$, '25006', NULL, 'send in a read-only transaction');
SELECT throws_ok(format('SELECT minikafka.%s', call), '25006', NULL, 'read-only transaction: ' || call)
FROM unnest(ARRAY[$$join_group('g', '{tap}')$$, $$leave_group('members', 'b')$$, $$heartbeat('members', 'b')$$, $$poll('members', 'b')$$,
	$$poll_text('members', 'b')$$, $$poll_json('members', 'b')$$, $$commit('members', 'b')$$, $$commit_offset('g', 'tap', 0, 0)$$,
	$$seek('members', 'b', 'tap', 0, 0)$$, $$pause('members', 'b', 'tap', 0)$$, $$resume('members', 'b', 'tap', 0)$$,
	$$acquire('shared')$$, $$acquire_text('shared')$$, $$acquire_json('shared')$$, $$acknowledge('shared', '0.0.0.0.0.t0')$$,
	$$renew('shared', '0.0.0.0.0.l0', '1 s')$$, $$reset_offsets('plain', 'tap', 'latest')$$, $$delete_group('plain')$$, $$grant_group('plain', 'pg_monitor')$$, $$revoke_group('plain', 'pg_monitor')$$]) call;
SELECT throws_ok($$CALL minikafka.wait_for_records('members', 'b', '0')$$, '25006', NULL, 'read-only transaction: wait_for_records');
SELECT throws_ok(format('CALL minikafka.%s', call), '25006', NULL, 'read-only transaction: ' || call)
FROM unnest(ARRAY['maintain()', $$expire('tap')$$, $$compact('tap')$$]) call;
SELECT lives_ok($$SELECT minikafka.latest('tap')$$, 'read-only transaction: latest');
SELECT lives_ok(format('SELECT minikafka.%s', call), 'read-only transaction: ' || call)
FROM unnest(ARRAY[$$assignment('members', 'b')$$, $$committed('plain', 'tap', 0)$$, $$lag('members')$$]) call;
SELECT * FROM finish();
ROLLBACK;
SELECT minikafka.leave_group(group_id, member_id) FROM minikafka.group_members;
SELECT minikafka.delete_group(group_id) FROM minikafka.groups;
SELECT minikafka.drop_topic('tap'), minikafka.drop_topic('bytes'), minikafka.drop_topic('keyed');
DELETE FROM minikafka.producer WHERE producer LIKE 'tap%';
DROP TABLE minikafka_topics.tap_table;
