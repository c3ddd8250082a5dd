# What an owner, or a role that may create tables, cannot do to others: stop them
# with code that does not end, or forge records with tables that bear the
# names of segments.  What makes a topic fail later is reported before.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The tables of a topic's partition: its own, and its segments
sub tables
{
	my ($topic, $partition) = @_;
	my $parent = sql(qq{SELECT inhrelid::regclass FROM pg_inherits
		WHERE inhparent = 'minikafka_topics.$topic'::regclass
		ORDER BY inhrelid OFFSET $partition LIMIT 1});

	return ($parent, split /\n/, sql(qq{SELECT inhrelid::regclass FROM pg_inherits
		WHERE inhparent = '$parent'::regclass ORDER BY inhrelid}));
}

# What maintain() says
sub maintain
{
	my ($status, $out, $err) =
	  $node->psql('postgres', "$_[0] CALL minikafka.maintain()");

	is($status, 0, 'maintain() comes to its end') or diag($err);
	return $err;
}

sql(q{
CREATE ROLE owner;
CREATE ROLE client;
CREATE ROLE intruder;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO owner, client, intruder;
GRANT CREATE ON SCHEMA minikafka_topics TO owner, client;
CREATE SCHEMA owner AUTHORIZATION owner;
GRANT USAGE ON SCHEMA owner TO PUBLIC;
});

# ---------------------------------------------------------------------------
# The owner's code, which does not end while another session has a lock

sql(q{
SET ROLE owner;
CREATE FUNCTION owner.waits(v text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	-- not in the lock manager, where a lock_timeout would end it
	WHILE NOT pg_try_advisory_xact_lock_shared(4711) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN 1;
END $$;
});
for my $topic ('check', 'index')
{
	sql(qq{
SET ROLE owner;
SELECT minikafka.create_topic('$topic', 1, segment_records => 4);
GRANT ALL ON minikafka_topics.$topic TO client;
RESET ROLE;
SELECT count(minikafka.send('$topic', 'v')) FROM generate_series(1, 2);
});
}
sql(q{
SET ROLE owner;
ALTER TABLE minikafka_topics.check ADD CONSTRAINT c CHECK (owner.waits('constant') = 1) NOT VALID;
SELECT minikafka.create_index('index', '((octet_length(value) + owner.waits(''constant'')))');
SET ROLE client;
SELECT minikafka.create_topic('z', 1, segment_records => 4, retention => '1 hour');
RESET ROLE;
SELECT minikafka.send('z', 'v');
});

# senders do not make the next segments ahead where that runs the owner's code
sql("SELECT minikafka.send('$_', 'v')") for 'check', 'index';

my $holder = new_session($node);
ask($holder, 'SELECT pg_advisory_lock(4711)');

# Whether a session runs the owner's code
my $waiting = q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE wait_event = 'PgSleep'};

# maintenance wants to make the owner's next segments, and to expire what is old of all
sql(q{SELECT count(minikafka.send('z', 'v')) FROM generate_series(1, 3)});
my $said = maintain('SET minikafka.clock_offset = 7200;');
like($said, qr/WARNING:.*topic "$_"/, "it warns about topic $_")
  for 'check', 'index';
is( sql(q{SELECT log_start_offset FROM minikafka.offsets('z', 0)}),
	'4', 'another topic is maintained');

# a sender to the owner's topic fails; others go on while it waits
my $sender = start_psql($node, 'SET ROLE client', q{SELECT minikafka.send('index', 'v')});
$node->poll_query_until('postgres', $waiting)
  or die 'the sender does not run the code of the index';
is(sqlstate($node, q{SET ROLE client; SELECT minikafka.send('z', 'v')}),
	'00000', 'another topic takes records');
is(sqlstate($node, q{SET ROLE client; SELECT minikafka.fetch('index', 0, 0)}),
	'00000', 'the topic can be read');
$sender->{run}->finish;
like($sender->{err}, qr/55000: .*topic "index"/, 'the sender gets a clear error');

ask($holder, 'SELECT pg_advisory_unlock(4711)');
is(sqlstate($node, "SET ROLE client; SELECT minikafka.send('$_', 'v')"),
	'00000', "topic $_ takes records again")
  for 'check', 'index';
is(problems($node, $_), '', "topic $_ is sound") for 'check', 'index', 'z';
sql(q{SELECT minikafka.drop_topic(topic) FROM minikafka.topics});

# ---------------------------------------------------------------------------
# Tables of another role, with the names of segments that were dropped, of those
# that come next and of a partition that comes next

sql(q{
GRANT CREATE ON SCHEMA minikafka_data TO intruder;
SET ROLE owner;
SELECT minikafka.create_topic('named', 1, segment_records => 10, cleanup_policy => 'compact');
GRANT ALL ON minikafka_topics.named TO client;
RESET ROLE;
SELECT count(minikafka.send('named', i::text, 'k')) FROM generate_series(0, 34) i;
CALL minikafka.compact('named');
});
my ($partition, @segments) = tables('named', 0);
my ($names, $newest) = $segments[-1] =~ /^(.*_)(\d+)$/;

sub taken { return sql("SELECT to_regclass('$_[0]') IS NOT NULL") eq 't'; }

is(taken("${names}0"), '', 'a segment was dropped');
for my $name ((map { "$names$_" } 0 .. $newest + 3), $partition =~ s/_0$/_1/r)
{
	next if taken($name);
	sql(qq{SET ROLE intruder;
CREATE TABLE $name ("offset" bigint PRIMARY KEY, ts timestamptz NOT NULL,
	partition int NOT NULL, key bytea, value bytea, headers jsonb);
INSERT INTO $name SELECT i, '2000-01-01', 0, 'k', 'forged', NULL FROM generate_series(0, 60) i;
GRANT ALL ON $name TO PUBLIC});
}
my $intruder = new_session($node);
ask($intruder, "SET ROLE intruder; BEGIN;
	INSERT INTO ${names}0 VALUES (70, now(), 0, 'k', 'forged', NULL)");

my $read = q{SET ROLE client;
SELECT string_agg("offset" || ':' || value, ',') FROM minikafka.fetch_text('named', 0, 0)};

is(sql($read), '34:34', 'nothing forged is read, and nothing stops a reader');
sql(q{SET ROLE client;
SELECT minikafka.join_group('g', '{named}', 'm')});
is( sql(q{SET ROLE client;
SELECT string_agg("offset" || ':' || value, ',') FROM minikafka.poll_text('g', 'm')}),
	'34:34', 'nor polled');
is( sqlstate($node,
		qq{SET ROLE client; SELECT minikafka.send('named', '$_', 'k' || $_)}),
	'00000', "record $_")
  for 35 .. 62;
is(sql($read), join(',', map { "$_:$_" } 34 .. 62), 'all is there, in order');
is(sqlstate($node, q{SET ROLE owner; SELECT minikafka.add_partitions('named', 2)}),
	'00000', 'a partition is added');
is(sqlstate($node, q{SET ROLE client; SELECT minikafka.send('named', 'v', 'k', partition => 1)}),
	'00000', 'and takes records');
is(sql($read =~ s/0, 0\)/1, 0)/r), '0:v', 'which are read');
is(problems($node, 'named'), '', 'the topic is sound');
unlike(maintain(''), qr/WARNING/, 'maintain() has nothing to say');
is(sqlstate($node, q{SET ROLE owner; SELECT minikafka.drop_topic('named')}),
	'00000', 'the topic can be dropped');
ask($intruder, 'COMMIT');
cmp_ok(
	sql(q{SELECT count(*) FROM pg_class WHERE relkind = 'r'
		AND relowner = 'intruder'::regrole}),
	'>', 3, 'and the tables of the intruder stay');

# ---------------------------------------------------------------------------
# What makes senders fail at the end of a segment, or lets rows in, is reported

sql(q{CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER nothing FOREIGN DATA WRAPPER nothing});
for my $case (
	[ 'default_in_topic', 'CREATE TABLE public.t0 PARTITION OF :topic DEFAULT' ],
	[ 'default', 'CREATE TABLE public.t1 PARTITION OF :partition DEFAULT' ],
	[ 'foreign', q{CREATE FOREIGN TABLE public.t2 PARTITION OF :partition
		FOR VALUES FROM (20) TO (30) SERVER nothing} ],
	[ 'table', 'CREATE TABLE public.t3 PARTITION OF :partition FOR VALUES FROM (20) TO (30)' ],
	[ 'detached_partition', 'ALTER TABLE :topic DETACH PARTITION :partition' ],
	[ 'detached_segment', 'ALTER TABLE :partition DETACH PARTITION :segment' ],
	[ 'dropped_trigger', 'DROP TRIGGER minikafka_refuse_write ON :segment' ],
	[ 'disabled_trigger', 'ALTER TABLE :segment DISABLE TRIGGER USER' ],
	[ 'row_trigger', 'CREATE TRIGGER mine AFTER INSERT ON :segment FOR EACH ROW
		EXECUTE FUNCTION suppress_redundant_updates_trigger()' ],
	[ 'other_owner', 'ALTER TABLE :segment OWNER TO intruder' ],
	[ 'foreign_key', 'CREATE TABLE public.t4 (o bigint REFERENCES :segment ON DELETE CASCADE)' ])
{
	my ($topic, $sql) = @$case;

	sql(qq{
SELECT minikafka.create_topic('$topic', 1, segment_records => 10, retention => '1 hour');
SELECT minikafka.send('$topic', 'v');
});
	my ($parent, $segment) = tables($topic, 0);

	$sql =~ s/:topic/minikafka_topics.$topic/;
	$sql =~ s/:partition/$parent/;
	$sql =~ s/:segment/$segment/;
	sql($sql);
	cmp_ok(
		sql(qq{SELECT count(*) FROM minikafka.check_topic('$topic') WHERE severity = 'error'}),
		'>', 0, "$topic: check_topic() reports it");
	like(maintain('SET client_min_messages = warning;'),
		qr/WARNING:.*topic "$topic"/, "$topic: maintain() warns");

	# and a sender fails clearly, if at all
	my @states = map { sqlstate($node, "SELECT minikafka.send('$topic', 'v')") } 1 .. 25;

	is(join(' ', grep { !/^(?:00000|55000)$/ } @states), '', "$topic: clear errors");
	sql(q{DROP FOREIGN TABLE IF EXISTS t2; DROP TABLE IF EXISTS t0, t1, t3, t4 CASCADE});
	is(sqlstate($node, "SELECT minikafka.drop_topic('$topic')"),
		'00000', "$topic: dropped");
}

# ---------------------------------------------------------------------------
# Default privileges: the owner's count for the topic's table, and none below

sql(q{
CREATE ROLE spy;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO spy;
ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT ALL ON TABLES TO spy;
ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA minikafka_topics
	GRANT SELECT ON TABLES TO client;
ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT ALL ON TABLES TO intruder;
SET ROLE owner;
SELECT minikafka.create_topic('private', 1, segment_records => 2);
} =~ s/ROLE postgres/'ROLE ' . sql('SELECT current_user')/er);
sql(q{SELECT count(minikafka.send('private', 'v')) FROM generate_series(1, 9)});
is( sqlstate($node, q{SET ROLE spy; SELECT minikafka.fetch_text('private', 0, 0)}),
	'42501', 'what the superuser gives for tables of the superuser does not count');
is( sqlstate($node, q{SET ROLE client; SELECT minikafka.fetch_text('private', 0, 0)}),
	'00000', 'what the owner gives counts');
is( sql(q{SELECT relid, grantee FROM pg_partition_tree('minikafka_topics.private')
	JOIN pg_class c ON c.oid = relid, aclexplode(relacl) a
	WHERE level > 0 AND grantee <> relowner}),
	'', 'no role has rights below the topic');

is(server_errors($node), '', 'no internal error');

done_testing();
