# Tools that write tables and indexes anew, on the tables of topics and on the
# catalog's, while sessions send, consume and accept: nothing is lost, no offset
# is given twice, nothing is consumed twice.  pg_repack leaves these tables alone.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The load goes on beside all the tools.
$MinikafkaTest::TIMEOUT *= 4;

my $node = new_node(
	'primary',
	'log_error_verbosity = verbose',
	'allow_in_place_tablespaces = on',
	'max_locks_per_transaction = 256',
	'statement_timeout = 0');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub available
{
	return sql("SELECT count(*) FROM pg_available_extensions WHERE name = '$_[0]'");
}

my $amcheck = available('amcheck');
my ($pg_repack) = grep { -x } map { "$_/pg_repack" } split /:/, $ENV{PATH};

undef $pg_repack unless available('pg_repack');
note(defined $pg_repack ? "with $pg_repack" : 'pg_repack is not installed');
note('amcheck is not installed') unless $amcheck;
sql('CREATE EXTENSION amcheck') if $amcheck;
sql('CREATE EXTENSION pg_repack') if defined $pg_repack;
sql(q{CREATE TABLESPACE other_space LOCATION ''});

# Runs pg_repack to its end; returns what it said.
sub repack
{
	my (@options) = @_;
	my $client = start_in($node, $pg_repack, '--no-kill-backend',
		'--wait-timeout=1', '-d', 'postgres', @options);

	$client->{run}->finish;
	return $client->{err} . $client->{out};
}

# ---------------------------------------------------------------------------
# A record that is appended while a segment is written anew, and before the new
# table takes the old one's place

SKIP:
{
	skip 'pg_repack is not installed', 5 unless defined $pg_repack;

	sql(q{
SELECT minikafka.create_topic('o', partitions => 1);
SELECT count(minikafka.send('o', repeat('x', 300))) FROM generate_series(1, 1000);
});
	my $segment = sql(q{SELECT relid FROM pg_partition_tree('minikafka_topics.o')
		WHERE isleaf});
	my $old = new_session($node);

	# pg_repack waits for transactions that began before it
	ask($old, 'BEGIN; SELECT');
	my $run = start_in($node, $pg_repack, '--no-kill-backend', '-d', 'postgres',
		'-t', $segment);

	# until it has copied the segment, or has left it alone
	$run->{run}->pump
	  while $run->{run}->pumpable && $run->{err} !~ /Waiting for/;
	is(sqlstate($node, q{SELECT minikafka.append('o', 0, 'k', 'acknowledged')}),
		'00000', 'a record is appended meanwhile');
	ask($old, 'COMMIT');
	$run->{run}->finish;
	like($run->{err}, qr/repack_trigger/, 'pg_repack leaves a segment alone');
	is( sql(q{SELECT minikafka.append('o', 0, 'k', 'another')}),
		'1001', 'no offset is given twice');
	is( sql(q{SELECT "offset", value FROM minikafka.fetch_text('o', 0, 1000)}),
		"1000|acknowledged\n1001|another", 'nothing is lost');
	is(problems($node, 'o'), '', 'the topic is sound');
	$old->quit;
	sql(q{SELECT minikafka.drop_topic('o')});
}

# ---------------------------------------------------------------------------
# The load.  Each procedure goes on until there is a row in load_done.

sql(q{
CREATE TABLE load_done ();
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE numbered (producer int, sequence int);
CREATE TABLE accepted (event_id text);
CREATE TABLE effects (group_id text, partition int, "offset" bigint, value text);
SELECT minikafka.create_topic('orders', 3, segment_records => 500);
SELECT minikafka.create_topic('state', 1, segment_records => 500,
	cleanup_policy => 'compact');

-- Business rows, each with a record; some are rolled back.
CREATE PROCEDURE place_orders() LANGUAGE plpgsql AS $$
DECLARE
	new_id bigint;
BEGIN
	WHILE NOT EXISTS (SELECT FROM load_done) LOOP
		FOR i IN 1 .. 3 LOOP
			INSERT INTO orders DEFAULT VALUES RETURNING id INTO new_id;
			PERFORM minikafka.send('orders', new_id::text, new_id::text);
			PERFORM minikafka.send('state', new_id::text, (new_id % 100)::text);
		END LOOP;
		IF new_id % 7 = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;

-- A producer that numbers its records, and repeats some.
CREATE PROCEDURE number_records(producer int) LANGUAGE plpgsql AS $$
DECLARE
	s int := 0;
BEGIN
	WHILE NOT EXISTS (SELECT FROM load_done) LOOP
		INSERT INTO numbered VALUES (producer, s);
		PERFORM minikafka.send('orders', producer || ':' || s, partition => producer,
			producer => 'p' || producer, sequence => s);
		COMMIT;
		IF s % 5 = 0 THEN
			PERFORM minikafka.send('orders', producer || ':' || s, partition => producer,
				producer => 'p' || producer, sequence => s);
			COMMIT;
		END IF;
		s := s + 1;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;

-- Two of these see the same events.
CREATE PROCEDURE accept_events() LANGUAGE plpgsql AS $$
DECLARE
	event int := 0;
BEGIN
	WHILE NOT EXISTS (SELECT FROM load_done) LOOP
		IF minikafka.inbox_accept('inbox', event::text) THEN
			INSERT INTO accepted VALUES (event);
		END IF;
		COMMIT;
		event := event + 1;
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;

-- Records and their effects, until all is consumed.
CREATE PROCEDURE consume(group_id text, member_id text) LANGUAGE plpgsql AS $$
DECLARE
	last boolean;
	n int;
BEGIN
	PERFORM minikafka.join_group(group_id, '{orders}', member_id,
		session_timeout => '1 hour', max_poll_interval => '1 hour');
	COMMIT;
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		INSERT INTO effects SELECT consume.group_id, partition, "offset", value
		FROM minikafka.poll_text(consume.group_id, member_id, 200);
		GET DIAGNOSTICS n = ROW_COUNT;
		PERFORM minikafka.commit(group_id, member_id);
		COMMIT;
		EXIT WHEN last AND n = 0;
		PERFORM pg_sleep(0.02);
	END LOOP;
END $$;
});

# What must hold, in this database or in one that was made of its dump
sub check_all
{
	my ($database, $name) = @_;

	for my $check (
		[ 'each business row has its record, once', q{
WITH expected AS (
	SELECT id::text AS value FROM orders
	UNION ALL SELECT producer || ':' || sequence FROM numbered),
records AS (SELECT convert_from(value, 'UTF8') AS value FROM minikafka_topics.orders)
SELECT * FROM (TABLE expected EXCEPT ALL TABLE records) lost
UNION ALL SELECT * FROM (TABLE records EXCEPT ALL TABLE expected) twice LIMIT 5} ],
		[ 'offsets are dense', q{
SELECT partition, count(*), max("offset") FROM minikafka_topics.orders
GROUP BY 1 HAVING count(*) <> max("offset") + 1} ],
		[ 'fetch() returns all', q{
SELECT p, n FROM generate_series(0, 2) p, LATERAL (SELECT count(*) AS n
	FROM minikafka.fetch('orders', p, 0, 1000000)) f
WHERE n <> (SELECT count(*) FROM minikafka_topics.orders WHERE partition = p)} ],
		[ 'each event is accepted once', q{
SELECT event_id, count(*) FROM accepted GROUP BY 1 HAVING count(*) > 1 LIMIT 5} ],
		[ 'no record is consumed twice', q{
SELECT group_id, partition, "offset", count(*) FROM effects
GROUP BY 1, 2, 3 HAVING count(*) > 1 LIMIT 5} ],
		[ 'what is committed was consumed', q{
SELECT o.group_id, o.partition, o."offset", count(e) FROM minikafka.group_offsets o
LEFT JOIN effects e ON e.group_id = o.group_id AND e.partition = o.partition
GROUP BY 1, 2, 3 HAVING count(e) <> o."offset"} ],
		[ 'the topics are sound', q{
SELECT c FROM minikafka.topics, minikafka.check_topic(topic) c WHERE severity = 'error'} ])
	{
		is($node->safe_psql($database, $check->[1]), '', "$name: $check->[0]");
	}
	return;
}

# Heaps and indexes of all our tables
sub check_storage
{
	my ($name) = @_;

	return unless $amcheck;
	sql(q{
SELECT bt_index_check(i.indexrelid, true)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE relnamespace IN ('minikafka'::regnamespace, 'minikafka_data'::regnamespace)
	AND relkind = 'i' AND indisvalid AND relam = 403});
	is( sql(q{
SELECT c.oid::regclass, v.* FROM pg_class c, verify_heapam(c.oid) v
WHERE relnamespace IN ('minikafka'::regnamespace, 'minikafka_data'::regnamespace)
	AND relkind = 'r'}),
		'', "$name: heaps and indexes are sound");
	return;
}

my @load = map { start_psql($node, $_) } (
	'CALL place_orders()', 'CALL place_orders()',
	'CALL number_records(0)', 'CALL number_records(1)',
	'CALL accept_events()', 'CALL accept_events()',
	q{CALL consume('one', 'm')}, q{CALL consume('two', 'a')},
	q{CALL consume('two', 'b')});

# Until the load has done this much more
sub wait_for_load
{
	my ($records) = @_;
	my $now = sql('SELECT count(*) FROM orders');

	$node->poll_query_until('postgres',
		"SELECT count(*) >= $now + $records FROM orders")
	  or die 'the load stands still';
	return;
}

wait_for_load(300);

# The tables that there are by now: segments that are full, those that are
# written, and the catalog
sub tables
{
	return split /\n/, sql(q{
(SELECT relid::regclass FROM pg_partition_tree('minikafka_topics.orders')
WHERE isleaf AND relid IN (
	SELECT min(inhrelid::oid) FROM pg_inherits GROUP BY inhparent
	UNION ALL SELECT max(inhrelid::oid) FROM pg_inherits GROUP BY inhparent)
ORDER BY 1)
UNION ALL
(SELECT c.oid::regclass FROM pg_class c
WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'r' ORDER BY 1)});
}

sub primary_key
{
	return sql(qq{SELECT conname FROM pg_constraint
		WHERE conrelid = '$_[0]'::regclass AND contype = 'p'});
}

for my $table (tables())
{
	my $key = primary_key($table);
	my @failed = grep { sqlstate($node, $_) ne '00000' } (
		"VACUUM FULL $table",
		($key ne '' ? "CLUSTER $table USING $key" : ()),
		"REINDEX TABLE $table",
		"REINDEX TABLE CONCURRENTLY $table",
		"VACUUM (FREEZE, ANALYZE) $table",
		"ALTER TABLE $table SET TABLESPACE other_space",
		"ALTER TABLE $table SET TABLESPACE pg_default",
		($key ne '' ? "ALTER TABLE $table SET WITHOUT CLUSTER" : ()));

	is("@failed", '', "tools on $table");
}
wait_for_load(100);

my $dump = "$PostgreSQL::Test::Utils::tmp_check/load.dump";

$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
for my $tool (
	'REINDEX SCHEMA CONCURRENTLY minikafka',
	'REINDEX SCHEMA CONCURRENTLY minikafka_data',
	'REINDEX DATABASE CONCURRENTLY postgres',
	'CLUSTER minikafka.group_progress USING group_progress_pkey; CLUSTER',
	'VACUUM FULL', 'VACUUM ANALYZE', 'CALL minikafka.maintain()')
{
	my @states = map { sqlstate($node, $_) } split /; /, $tool;

	is("@states", join(' ', ('00000') x @states), $tool);
}

SKIP:
{
	skip 'pg_repack is not installed', 5 unless defined $pg_repack;

	my @tables = tables();
	my $filenodes = q{SELECT oid::regclass, relfilenode FROM pg_class
		WHERE oid IN (}
	  . join(',', map { sql("SELECT '$_'::regclass::oid") } @tables)
	  . q{) ORDER BY 1};
	my $before = sql($filenodes);

	repack();
	is(sql($filenodes), $before, 'pg_repack: no table is written anew');
	# or that a table has no primary key
	is( join("\n",
			grep { repack('-t', $_) !~ /repack_trigger|must have a primary key/ }
			  @tables),
		'', 'pg_repack: it says so for each');
	# which needs no trigger
	like(repack('--only-indexes', '-t', $_), qr/^INFO: repacking index/m,
		"pg_repack: indexes of $_")
	  for @tables[ 0, -1 ];
	is( sql(q{SELECT count(*) FROM pg_trigger t JOIN pg_proc p ON p.oid = tgfoid
		WHERE pronamespace = 'repack'::regnamespace}),
		0, 'pg_repack: nothing of it stays');
	wait_for_load(100);
}

# All that was sent is consumed, and nothing more
wait_for_load(100);
sql('INSERT INTO load_done DEFAULT VALUES');
finish_ok($load[$_], "load $_") for 0 .. $#load;
is( sql(q{SELECT count(*) FROM minikafka.consumer_lag WHERE lag > 0 AND topic = 'orders'}),
	0, 'all is consumed');
check_all('postgres', 'here');
check_storage('here');

sql('CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $dump ],
	'pg_restore');
check_all('restored', 'restored');

is(server_errors($node), '', 'no internal error');

done_testing();
