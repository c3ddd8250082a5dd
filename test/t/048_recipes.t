# The recipes of doc/recipes.md with several sessions at once.  045_documents.t
# runs their blocks one after the other; here the functions that they define run
# as an application would call them: concurrently, with failures.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The SQL block of the document that has this text.
my @blocks = slurp_file("$FindBin::RealBin/../../doc/recipes.md") =~
  /^```sql\n(.*?)^```$/msg;

sub block
{
	my ($text) = @_;
	my @found = grep { index($_, $text) >= 0 } @blocks;

	is(scalar @found, 1, "one block has: $text");
	return $found[0];
}

# ---------------------------------------------------------------------------
# Let workers finish out of order, each record once

sql(block('CREATE FUNCTION do_job'));

# two sessions have the same record at the same time
{
	my ($one, $two) = (new_session($node), new_session($node));
	my $job = q{SELECT do_job('%s', 'jobs', 0, %d, 'job %2$d')};
	my $pid = ask($two, 'SELECT pg_backend_pid()');

	for my $offset (0, 1)
	{
		my $end = $offset == 0 ? 'COMMIT' : 'ROLLBACK';

		ask($one, 'BEGIN');
		is(ask($one, sprintf $job, 'one', $offset), 't', "$end: the first does it");
		start_query($two, sprintf $job, 'two', $offset);
		$node->poll_query_until('postgres',
			"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid")
		  or die;
		ask($one, $end);
		is(finish_query($two), $offset == 0 ? 'f' : 't',
			"$end: the second does it only if the first has not");
	}
	is( sql('SELECT string_agg(job || by_worker, $$ $$ ORDER BY job) FROM result'),
		'job 0one job 1two', 'each has one effect');
	$_->quit for $one, $two;
}

# Dispatchers that end at any point, and workers that fail: pgbench calls this
# in many sessions.  What is handed out again has no second effect: result's
# primary key would tell.
sql(q{
TRUNCATE result;
SELECT minikafka.create_topic('many', 4);
SELECT minikafka.send('many', 'job ' || i, partition => i % 4)
	FROM generate_series(1, 400) i;
SELECT minikafka.join_group('many', '{many}', 'dispatcher',
	auto_offset_reset => 'earliest', session_timeout => '1 day',
	max_poll_interval => '1 day');
});
my $workers = start_pgbench(
	$node, {
		'done' => q{
\set i random(1, 400)
SELECT do_job('worker', 'many', f.partition, f."offset", f.value)
FROM (SELECT * FROM minikafka.fetch_text('many', :i % 4, (:i - 1) / 4, 1)) f;
},
		'undone' => q{
\set i random(1, 400)
BEGIN;
SELECT do_job('undone', 'many', f.partition, f."offset", f.value)
FROM (SELECT * FROM minikafka.fetch_text('many', :i % 4, (:i - 1) / 4, 1)) f;
ROLLBACK;
}
	},
	'-c6', '-j2', '-t100');
finish_ok($workers, 'workers, several of which have the same record');
is(sql(q{SELECT count(*) FROM result WHERE by_worker = 'undone'}),
	0, 'what is rolled back has no effect');
my $before = sql('SELECT count(*) FROM result');
cmp_ok($before, '<', 400, 'some records are left');
is( sql(q{SELECT count(*) FILTER (WHERE do_job('last', topic, partition, "offset", value))
		FROM minikafka.poll_text('many', 'dispatcher', max_records => 1000)}),
	400 - $before, 'the dispatcher does the rest');
sql(q{SELECT FROM minikafka.commit('many', 'dispatcher')});
is(sql('SELECT count(*), count(DISTINCT job) FROM result'),
	'400|400', 'each record has one effect');
is(sql(q{SELECT sum(lag) FROM minikafka.lag('many')}), 0, 'all is committed');

# ---------------------------------------------------------------------------
# Set aside a record that always fails: by two members, and not for a failure
# that is not the record's

sql(block('CREATE TABLE invoice'));
sql(block('CREATE PROCEDURE make_invoices'));
sql(q{
SELECT minikafka.send('orders', CASE WHEN i % 10 = 0 THEN 'no JSON'
		ELSE format('{"id": %s, "amount": 1}', i) END, key => 'k' || i % 7)
	FROM generate_series(1, 300) i;
SELECT minikafka.join_group('invoices', '{orders}', m, auto_offset_reset => 'earliest',
	session_timeout => '1 day', max_poll_interval => '1 day')
	FROM unnest('{0,1}'::text[]) m;
CREATE PROCEDURE make_all(member text) LANGUAGE plpgsql AS $$
BEGIN
	WHILE (SELECT sum(lag) > 0 FROM minikafka.lag('invoices') WHERE member_id = member) LOOP
		CALL make_invoices(member);
		COMMIT;
	END LOOP;
END $$;
});
{
	# another session has the row of order 1, until after it was waited for
	my ($holds, $waits) = (new_session($node), new_session($node));
	my ($member) = sql(q{SELECT member_id FROM minikafka.lag('invoices')
		WHERE partition = minikafka.partition_for_key('orders', 'k1')});

	ask($holds, q{BEGIN; INSERT INTO invoice VALUES (1, 'other', 1)});
	ask($waits, q{SET lock_timeout = '1ms'});
	is(state_after($waits, "CALL make_invoices('$member')"),
		'55P03', 'a lock that is not granted stops the batch');
	ask($holds, 'ROLLBACK');
	is(sql(q{SELECT end_offset FROM minikafka.offsets('orders.dead', 0)}),
		0, 'and no record is set aside');
	$_->quit for $holds, $waits;
}
my @members = map { start_psql($node, "CALL make_all('$_')") } 0, 1;
finish_ok($_, 'a member makes invoices') for @members;
is( sql(q{SELECT count(*), sum(order_id) FROM invoice}),
	'270|40500', 'all orders but the bad ones');
is( sql(q{SELECT count(*), count(DISTINCT (headers->'__dlq.errors.partition', headers->'__dlq.errors.offset')),
		string_agg(DISTINCT convert_from(value, 'UTF8') || ' ' || left(headers->>'__dlq.errors.message', 5), ' ')
		FROM minikafka_topics."orders.dead"}),
	'30|30|no JSON 22P02', 'each bad one is set aside once');

# The record's own headers, in both forms; and a failure that is of the consumer
sql(q{
SELECT minikafka.send('orders', 'no JSON', 'own', '{"a": "1"}', partition => 0);
SELECT minikafka.send('orders', 'no JSON', 'own', '[{"key": "a", "value": "1"}, {"key": "a", "base64": "3q0="}]',
	partition => 0);
SELECT minikafka.send('orders', '{"id": 1000, "amount": 1}', partition => 0)});
my ($owner) = sql(q{SELECT member_id FROM minikafka.lag('invoices') WHERE partition = 0});
sql('ALTER TABLE invoice RENAME TO renamed');
like(
	($node->psql('postgres', "CALL make_invoices('$owner')"))[2],
	qr/relation "invoice" does not exist/,
	'a table that was renamed stops the batch');
is(sql(q{SELECT end_offset FROM minikafka.offsets('orders.dead', 0)}),
	30, 'and no record is set aside');
sql('ALTER TABLE renamed RENAME TO invoice');
sql("CALL make_all('$owner')");
is(sql('SELECT count(*) FROM invoice WHERE order_id = 1000'),
	1, 'the same records are processed then');
is( sql(q{SELECT h->>'__dlq.errors.topic', left(h->>'__dlq.errors.message', 5),
		h - ARRAY(SELECT jsonb_object_keys(h) EXCEPT SELECT unnest('{a,a:3q0=}'::text[])) FROM (
		SELECT "offset", CASE jsonb_typeof(headers) WHEN 'object' THEN headers ELSE (
			SELECT jsonb_object_agg(e->>'key' || coalesce(':' || (e->>'base64'), ''), e->>'value')
			FROM jsonb_array_elements(headers) e) END AS h
		FROM minikafka_topics."orders.dead" WHERE convert_from(key, 'UTF8') = 'own') f ORDER BY "offset"}),
	qq(orders|22P02|{"a": "1"}\norders|22P02|{"a": "1", "a:3q0=": null}),
	'records keep their own headers');

# Redrives of the same letters by several sessions, some of which roll back, while
# new letters come and are sent back too: each once
my $letters = sql(q{SELECT count(*) FROM minikafka_topics."orders.dead"});
my $redrives = start_pgbench(
	$node, {
		'redrive@3' => q{
\set n random(1, 3)
SELECT minikafka.redrive('orders.dead', max_records => :n);
},
		'undone' => q{
BEGIN;
SELECT minikafka.redrive('orders.dead');
ROLLBACK;
},
		'fail' => q{
\set offset random(0, 9)
SELECT minikafka.dead_letter('invoices', 'orders', 0, :offset, 'orders.dead', 'again ' || :client_id);
}
	},
	'-c6', '-j2', '-t50');
finish_ok($redrives, 'redrives by several sessions');
sql(q{SELECT minikafka.redrive('orders.dead')});
my $failed = sql(q{SELECT count(*) FROM minikafka_topics."orders.dead"});
cmp_ok($failed, '>', $letters, 'new letters have come');
is( sql(q{SELECT count(*), count(DISTINCT headers->>'__dlq.redriven.offset') FROM (
		SELECT CASE jsonb_typeof(headers) WHEN 'object' THEN headers ELSE (
			SELECT jsonb_object_agg(e->>'key', e->>'value') FROM jsonb_array_elements(headers) e) END AS headers
		FROM minikafka_topics.orders) r WHERE headers ? '__dlq.redriven.offset'}),
	"$failed|$failed", 'each was sent back once');
is(sql(q{SELECT count(*) FROM minikafka.redriven}), 1, 'the marks are one run');

# ---------------------------------------------------------------------------
# Read an urgent topic first: with a partition that is being revoked

my $desk = new_session($node);
sql(block('CREATE FUNCTION put_urgent_first'));
sql(q{
SELECT minikafka.join_group('desk', '{urgent,bulk}', 'clerk', session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.join_group('desk', '{bulk}', 'second', session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.send('bulk', 'x')});
is( sql(q{SELECT string_agg(topic || ' ' || revoking, ', ' ORDER BY topic)
		FROM minikafka.assignment('desk', 'clerk')}),
	'bulk true, urgent false', 'bulk is to move to the second member');
is(state_after($desk, q{SELECT put_urgent_first('clerk')}),
	'00000', 'what is being revoked is not resumed');
sql(q{SELECT minikafka.send('urgent', 'x')});
is(state_after($desk, q{SELECT put_urgent_first('clerk')}),
	'00000', '... and not paused');
is(sql(q{SELECT topic FROM minikafka.poll('desk', 'clerk')}),
	'urgent', 'the member polls');
is(sql(q{SELECT topic FROM minikafka.poll('desk', 'second')}),
	'bulk', 'the second member has bulk');
$desk->quit;

# ---------------------------------------------------------------------------
# Reconcile a topic with a table: no snapshot shows a difference while others write

sql(block('CREATE TRIGGER outbox'));
sql(q{ALTER TABLE customer ADD COLUMN since timestamptz NOT NULL DEFAULT now();
	SET TimeZone = 'Asia/Tokyo';
	UPDATE customer SET since = now()});
sql(block('CREATE VIEW customer_difference'));
for my $zone ('Asia/Tokyo', 'America/New_York')
{
	is(sql("SET TimeZone = '$zone'; SELECT count(*) FROM customer_difference"),
		0, "no difference in time zone $zone");
}
my $writers = start_pgbench(
	$node, {
		'write@4' => q{
\set id random(1, 20)
INSERT INTO customer VALUES (:id, 'n', :client_id || ' ' || random())
	ON CONFLICT (id) DO UPDATE SET city = excluded.city;
},
		'delete' => q{
\set id random(1, 20)
DELETE FROM customer WHERE id = :id;
},
		'undone' => q{
\set id random(1, 20)
BEGIN;
UPDATE customer SET city = 'undone' WHERE id = :id;
ROLLBACK;
}
	},
	'-c4', '-j2', '-t150');
my ($looks, $different) = (0, 0);
while ($writers->{run}->pumpable || $looks == 0)
{
	$different += sql('SELECT count(*) FROM customer_difference');
	$looks++;
	$writers->{run}->pump_nb;
}
finish_ok($writers, 'writers');
note("$looks looks");
is($different, 0, 'each snapshot shows the table as the topic has it');
sql(q{ALTER TABLE customer DISABLE TRIGGER outbox;
	UPDATE customer SET city = 'other' WHERE id < 10;
	INSERT INTO customer VALUES (100, 'new', 'here');
	ALTER TABLE customer ENABLE TRIGGER outbox});
cmp_ok(sql('SELECT count(*) FROM customer_difference'), '>', 0, 'differences');
sql(block('LOCK TABLE customer'));
is(sql('SELECT count(*) FROM customer_difference'), 0, 'are mended');

done_testing();
