# maintain(), expire() and compact(): which code runs as which role, broken topics, and
# sessions that do it at once or are stopped.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub topic_id
{
	return sql(qq{SELECT topic_id FROM minikafka.topic
		WHERE rel = 'minikafka_topics.$_[0]'::regclass});
}

# What maintain() says, at a time, without the server's prefixes.
sub maintain
{
	my ($seconds) = @_;
	my ($status, $out, $err) = $node->psql('postgres',
		"SET minikafka.clock_offset = $seconds; CALL minikafka.maintain()",
		extra_params => [ '-v', 'VERBOSITY=terse' ]);

	is($status, 0, 'maintain() comes to its end') or diag($err);
	$err =~ s/^psql:[^ ]* //gm;
	return $err;
}

# ---------------------------------------------------------------------------
# The owner's code

sql(q{
CREATE ROLE owner;
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA minikafka TO owner, reader;
GRANT CREATE ON SCHEMA minikafka_topics TO owner;
-- so that the owner can make indexes
GRANT CREATE ON SCHEMA minikafka_data TO owner;
CREATE SCHEMA owner AUTHORIZATION owner;
SET ROLE owner;
SELECT minikafka.create_topic('o', 1, segment_records => 3000,
	cleanup_policy => 'compact,delete', retention => '2 hours');
CREATE TABLE owner.log (who name, session name, restricted text);
CREATE FUNCTION owner.note() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO owner.log SELECT current_user, session_user
	WHERE NOT EXISTS (SELECT FROM owner.log WHERE who = current_user);
	-- what a security-restricted operation forbids
	BEGIN
		CREATE TEMP TABLE caught (x int);
		INSERT INTO owner.log VALUES (current_user, session_user, 'no');
	EXCEPTION WHEN insufficient_privilege OR duplicate_table THEN
	END;
END $$;
-- said to be immutable, and volatile at heart
CREATE FUNCTION owner.code(v bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT owner.note()';
	RETURN length(v);
END $$;
CREATE FUNCTION owner.trigger_code() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM owner.code(NULL);
	RETURN NULL;
END $$;
RESET ROLE;
SELECT count(minikafka.send('o', key => 'k' || i % 10, value => repeat('v', 300)))
FROM generate_series(1, 6100) i;
});
my $o = topic_id('o');
sql(qq{
SET ROLE owner;
CREATE INDEX ON minikafka_topics.o (owner.code(value));
CREATE INDEX ON minikafka_topics.o (owner.code(value)) WHERE owner.code(key) > 0;
CREATE TRIGGER mine AFTER DELETE ON minikafka_data.p${o}_0_0
	FOR EACH STATEMENT EXECUTE FUNCTION owner.trigger_code();
CREATE TRIGGER mine AFTER DELETE OR TRUNCATE ON minikafka_data.p${o}_0_1
	FOR EACH STATEMENT EXECUTE FUNCTION owner.trigger_code();
ALTER TABLE minikafka_data.p${o}_0_0 ENABLE ALWAYS TRIGGER mine;
ALTER TABLE minikafka_data.p${o}_0_1 ADD CONSTRAINT c CHECK (owner.code(key) > -1);
DELETE FROM owner.log;
RESET ROLE;
});
sql(q{SELECT minikafka.send('o', key => 'only', value => 'v')});
is(sql(q{CALL minikafka.compact('o')}), 6090, 'compact()');
is( sql(qq{SELECT count(*) FROM pg_class WHERE relname = 'p${o}_0_0'}),
	0, 'an empty segment is dropped');
sql(q{SELECT count(minikafka.send('o', key => 'k' || i % 9, value => repeat('v', 300)))
	FROM generate_series(1, 3000) i});
is(sql(q{CALL minikafka.compact('o')}), 3000, 'compact() again');
is(problems($node, 'o'), '', 'the topic is sound');
is( sql(q{SELECT DISTINCT who FROM owner.log WHERE who <> 'owner'}),
	'', 'the owner\'s code ran as the owner only');
is(sql(q{SELECT count(*) FROM owner.log WHERE restricted IS NOT NULL}),
	0, 'and could do no more than such code may');
unlike(maintain(7100), qr/WARNING/, 'maintain()');
unlike(maintain(7300), qr/WARNING/, 'maintain(), when all is old');
is(sql(q{SELECT log_start_offset = end_offset FROM minikafka.partitions}),
	't', 'it has expired');
is( sql(q{SELECT DISTINCT who FROM owner.log WHERE who <> 'owner'}),
	'', 'the owner\'s code ran as the owner only');

# CLUSTER, of a segment whose rows are few: its indexes are built again
sql(q{SELECT minikafka.drop_topic('o')});
sql(q{
SET ROLE owner;
SELECT minikafka.create_topic('o', 1, segment_records => 3000,
	cleanup_policy => 'compact');
RESET ROLE;
SELECT count(minikafka.send('o', key => CASE WHEN i % 500 = 0 THEN 'only ' || i
	ELSE 'k' END, value => repeat('v', 300))) FROM generate_series(1, 3100) i;
});
$o = topic_id('o');
sql(qq{
SET ROLE owner;
CREATE INDEX ON minikafka_topics.o (owner.code(value));
DELETE FROM owner.log;
});
my $pages = "SELECT pg_relation_size('minikafka_data.p${o}_0_0') / 8192";
my $before = sql($pages);
is(sql(q{CALL minikafka.compact('o')}), 3093, 'compact()');
cmp_ok(sql($pages), '<', $before / 10, 'the segment is small');
is(sql(q{SELECT DISTINCT who FROM owner.log}),
	'owner', 'the owner\'s code has run, and as the owner');
is(sql(q{SELECT count(*) FROM owner.log WHERE restricted IS NOT NULL}),
	0, 'and could do no more than such code may');
is( sql(qq{SET enable_seqscan = off; SELECT count(*) FROM minikafka_data.p${o}_0_0
		WHERE owner.code(value) = 300}),
	'6', 'the owner\'s index is as it should be');
is(problems($node, 'o'), '', 'the topic is sound');

# code that fails stops nothing else
sql(q{
SET ROLE owner;
CREATE OR REPLACE FUNCTION owner.code(v bytea) RETURNS int IMMUTABLE
LANGUAGE plpgsql AS $$ BEGIN RAISE 'owner says no'; END $$;
RESET ROLE;
SELECT minikafka.create_topic('sound', 1, retention => '1 hour');
SELECT minikafka.send('sound', 'v');
});
sql(q{SELECT count(minikafka.send('sound', 'v')) FROM generate_series(1, 9)});
maintain(7200);
is(sql(q{SELECT * FROM minikafka.offsets('sound', 0)}),
	'10|10', 'other topics are done');
is( sqlstate($node, q{SET ROLE reader; CALL minikafka.compact('o')}),
	'42501', 'compact() is the owner\'s');
is( sqlstate($node, q{SET ROLE reader; CALL minikafka.expire('o')}),
	'42501', 'so is expire()');
is( sqlstate($node, q{SET ROLE reader; CALL minikafka.maintain()}),
	'42501', 'maintain() is to be granted');
sql(q{GRANT EXECUTE ON PROCEDURE minikafka.maintain() TO reader;
	SELECT minikafka.drop_topic('o')});
is( sqlstate($node, q{SET ROLE reader; CALL minikafka.maintain()}),
	'00000', 'and then does what belongs to others');
is( sqlstate($node, q{BEGIN; CALL minikafka.maintain()}),
	'2D000', 'not in a transaction block');

# ---------------------------------------------------------------------------
# Broken topics are reported, each time, and stop nothing else

sql(q{
SELECT minikafka.create_topic('a_' || n, 2, segment_records => 10,
	retention => '1 hour', cleanup_policy => CASE WHEN n = 'altered'
		THEN 'compact,delete' ELSE 'delete' END)
FROM unnest(ARRAY['gone', 'segment', 'partition', 'altered', 'detached']) n;
SELECT count(minikafka.send('a_' || n, key => 'k', value => 'v', partition => p))
FROM unnest(ARRAY['gone', 'segment', 'partition', 'altered', 'detached']) n,
	generate_series(0, 1) p, generate_series(1, 25) i;
SELECT count(minikafka.send('sound', 'v')) FROM generate_series(1, 9);
});
my $segment   = 'p' . topic_id('a_segment') . '_0_1';
my $partition = 'p' . topic_id('a_partition') . '_0';
my $altered   = 'p' . topic_id('a_altered') . '_0';
my $detached  = 'p' . topic_id('a_detached') . '_0';
sql(qq{
DROP TABLE minikafka_topics.a_gone;
DROP TABLE minikafka_data.$segment;
DROP TABLE minikafka_data.$partition;
ALTER TABLE minikafka_data.${altered}_0 DROP CONSTRAINT ${altered}_0_pkey;
ALTER TABLE minikafka_data.$detached DETACH PARTITION minikafka_data.${detached}_0;
});
my $said = maintain(3000);
like($said, qr/WARNING:  topic number \d+ is removed because its table is gone/,
	'a topic dropped by hand is forgotten');
like($said, qr/topic "a_segment" partition 0 failed: table of segment 1 of topic/,
	'a segment dropped by hand is reported');
like($said, qr/topic "a_partition" partition 0 failed: /,
	'a partition dropped by hand is reported');
$said = maintain(7200);
unlike($said, qr/is removed/, 'once');
like($said, qr/topic "a_segment" partition 0 failed: /, 'the others again');
like($said, qr/topic "a_partition" partition 0 failed: /, 'each time');
like($said, qr/topic "a_altered" partition 0 failed: table "${altered}_0"/,
	'an altered one');
unlike($said, qr/partition 1 failed/, 'the other partitions are not');
is( sql(q{SELECT string_agg(topic || ':' || log_start_offset, ' ' ORDER BY topic)
		FROM minikafka.partitions WHERE topic LIKE 'a\_%' AND partition = 1}),
	'a_altered:25 a_detached:25 a_partition:25 a_segment:25',
	'the sound partitions are done');
is( sql(q{SELECT log_start_offset FROM minikafka.partitions WHERE topic = 'sound'}),
	19, 'and the sound topic');
is(sql(q{SELECT count(*) FROM minikafka.topic WHERE rel NOT IN
		(SELECT oid FROM pg_class)}), 0, 'nothing of the one that is gone is left');
is( sql(q{SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p')
		AND relnamespace = 'minikafka_data'::regnamespace
		AND substring(relname FROM '^p([0-9]+)_')::int NOT IN
			(SELECT topic_id FROM minikafka.topic)}),
	0, 'nor of its tables');
for my $topic ('a_segment', 'a_partition', 'a_altered', 'a_detached')
{
	is(sqlstate($node, "SELECT minikafka.drop_topic('$topic')"),
		'00000', "$topic can be dropped");
}
is(maintain(7200), '', 'then all is quiet');

# ---------------------------------------------------------------------------
# Four sessions at once over all there is, and some of them terminated

sql(q{
SELECT minikafka.create_topic('m' || t, 3, segment_records => 50,
	retention_bytes => 50000, cleanup_policy =>
	(ARRAY['delete', 'compact', 'compact,delete'])[1 + t % 3])
FROM generate_series(1, 6) t;
SELECT minikafka.set_topic_option('m' || t, 'min_compaction_lag', '0')
FROM generate_series(1, 6) t;
});
my $load = start_pgbench(
	$node, {
		'send@4' => q{
\set t random(1, 6)
SELECT count(minikafka.send('m' || :t, key => 'k' || i % 40,
	value => repeat('v', 100))) FROM generate_series(1, 30) i;
},
		'offset@2' => q{
\set t random(1, 6)
SELECT minikafka.commit_offset('g' || :t, 'm' || :t, 0,
	log_start_offset) FROM minikafka.offsets('m' || :t, 0);
},
		'inbox@1' => q{
\set n random(1, 1000000000)
SELECT minikafka.inbox_accept('c', :n::text);
},
		'maintain@2' => q{CALL minikafka.maintain();},
	},
	'-c8', '-j2', '-t150', '--max-tries=100');
for (1 .. 5)
{
	my $pid = sql(q{SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
		AND query LIKE 'CALL minikafka.maintain%' AND state = 'active' LIMIT 1});
	sql("SELECT pg_cancel_backend($pid)") if $pid;
	$node->poll_query_until('postgres',
		q{SELECT pg_sleep(0.05) IS NOT NULL});
}
$load->{run}->finish;
note($load->{err} =~ s/(.{2000}).*/$1/sr);
unlike($load->{err}, qr/ERROR:  (?!canceling)/, 'no errors but of the cancelled');
is(maintain(0), '', 'maintain() is quiet');
for my $t (1 .. 6)
{
	is(problems($node, "m$t"), '', "m$t is sound");
	next if $t % 3 == 0;
	is( sql(qq{SELECT count(*) FROM minikafka.latest('m$t')
			WHERE "offset" <> (SELECT max("offset") FROM minikafka_topics.m$t r
				WHERE r.key = latest.key AND r.partition = latest.partition)}),
		0, 'latest() has the newest');
}
is(server_errors($node), '', 'no internal error');
is( sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}),
	0, 'no lock is left');

done_testing();
