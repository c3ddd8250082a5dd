# Dumps of a part, and restores over what is there: what can go on goes on, and
# the rest is told, with a way out.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir('dumps');

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', $_)
  for 'CREATE EXTENSION minikafka',
  'CREATE TABLE business (id int)',
  q{SELECT minikafka.create_topic('a', 1, segment_records => 100);
	SELECT minikafka.create_topic('b', 2)},
  q{SELECT count(minikafka.send('a', 'v' || i)) FROM generate_series(0, 249) i},
  q{SELECT minikafka.commit_offset('g', 'a', 0, 120)};
my $segment = $node->safe_psql('source',
	q{SELECT tableoid::regclass FROM minikafka_topics.a WHERE "offset" = 150});
my ($segment_name) = $segment =~ /\.(.*)/;
my $parent = $node->safe_psql('source',
	qq{SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = '$segment'::regclass});

sub dump_source
{
	my ($name, @options) = @_;

	$node->command_ok(
		[ 'pg_dump', @options, '-d', $node->connstr('source'), '-f', "$folder/$name" ],
		"$name: pg_dump @options");
	return "$folder/$name";
}

# A database; returns how to ask it.
sub database
{
	my ($name) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	return sub { return $node->safe_psql($name, $_[0]); };
}

sub load
{
	my ($name, $file) = @_;

	return $node->psql($name, slurp_file($file) =~ s/^\\(un)?restrict.*$//mgr,
		on_error_stop => 0);
}

# What comes of a statement: the text of its first error or warning, with detail and hint.
sub message
{
	my ($name, $sql) = @_;
	my ($status, $out, $err) = $node->psql($name, $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err =~ /^psql\S* (?:ERROR|WARNING):\s+(.*?)(?:LOCATION|\z)/ms ? $1 : 'nothing';
}

# ---------------------------------------------------------------------------
# The schema only, as structure.sql of web frameworks has it

my $structure = dump_source('structure.sql', '--schema-only');
my $sql = database('structure');
my ($status, $out, $err) = load('structure', $structure);
is($err, '', 'structure.sql: loaded without an error');
is(message('structure', q{SELECT minikafka.create_topic('new')}), 'nothing',
	'structure.sql: a new topic works the first time');
is($sql->(q{SELECT minikafka.append('new', 0, NULL, 'v')}), '0', 'structure.sql: and takes records');
like(message('structure', q{SELECT minikafka.send('a', 'v')}),
	qr/^0A000: table "a" in schema "minikafka_topics" is not a topic.*a dump of the schema only.*or drop it, and create the topic with minikafka\.create_topic\(\)/s,
	'structure.sql: a hint that fits');
like(message('structure', q{SELECT minikafka.create_topic('a')}),
	qr/^42710: .*Use DROP TABLE minikafka_topics\.a first/s, 'structure.sql: and one for create_topic()');
is(message('structure', 'CALL minikafka.maintain()'), 'nothing', 'structure.sql: maintenance');
$sql->('DROP TABLE minikafka_topics.a');
$sql->(q{SELECT minikafka.create_topic('a', 1)});
is($sql->(q{SELECT minikafka.append('a', 0, NULL, 'v')}), '0', 'structure.sql: the way out');
is($sql->(q{SELECT * FROM minikafka.check_topic('a')}), '', 'structure.sql: which is sound');

# without the topics, which are made anew
$structure = dump_source('business.sql', '--schema-only', '-N', 'minikafka_topics',
	'-N', 'minikafka_data');
$sql = database('business');
($status, $out, $err) = load('business', $structure);
is($err, '', 'without topics: loaded without an error');
is($sql->(q{SELECT count(*) FROM business}), '0', 'without topics: the rest is there');
$sql->(q{SELECT minikafka.create_topic('a', 1)});
is($sql->(q{SELECT minikafka.append('a', 0, NULL, 'v')}), '0', 'without topics: they can be made');

# ---------------------------------------------------------------------------
# pg_restore --clean over what is newer

my $whole = dump_source('whole', '-Fc');
$sql = database('cleaned');
$node->run_log([ 'pg_restore', '-d', $node->connstr('cleaned'), $whole ]);
$sql->(q{SELECT minikafka.create_topic('newer', 1, retention => '1 hour')});
$sql->(q{SELECT minikafka.append('newer', 0, NULL, 'v')});
$node->command_fails(
	[ 'pg_restore', '--clean', '-d', $node->connstr('cleaned'), $whole ],
	'--clean: the restore has errors');
like(message('cleaned', 'CALL minikafka.maintain()'),
	qr/^55000: topic number 1 has no table, but there are tables of its partitions.*Restore the dump into a database without the extension/s,
	'--clean: maintenance tells');
is($sql->(q{SELECT minikafka.append('newer', 0, NULL, 'v')}), '1', '--clean: the newer topic goes on');
$sql->('SET minikafka.clock_offset = 1000000; CALL minikafka.maintain()');
is($sql->(q{SELECT log_start_offset FROM minikafka.offsets('newer', 0)}), '2',
	'--clean: and is maintained');
is($sql->('SELECT count(*) FROM minikafka_topics.a'), '250', '--clean: nothing is lost by that');
$sql->(q{SELECT minikafka.create_topic('newest', 1)});
is($sql->('SELECT count(*) - count(DISTINCT topic_id) FROM minikafka.topic'), '0',
	'--clean: a number of its own');
# the way out
$sql->('DROP EXTENSION minikafka CASCADE; DROP TABLE business');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('cleaned'), $whole ], '--clean: restored anew');
is(message('cleaned', 'CALL minikafka.maintain()'), 'nothing', '--clean: then it is well');
is($sql->(q{SELECT minikafka.append('a', 0, NULL, 'v')}), '250', '--clean: and goes on');

# ---------------------------------------------------------------------------
# One segment

$sql = database('segment');
$node->run_log([ 'pg_restore', '-d', $node->connstr('segment'), $whole ]);
$sql->("DROP TABLE $segment");
like($sql->(q{SELECT problem FROM minikafka.check_topic('a')}), qr/is missing/, 'segment: check_topic() tells');
$node->command_ok(
	[ 'pg_restore', '-t', $segment_name, '-d', $node->connstr('segment'), $whole ],
	'segment: pg_restore -t');
$sql->(qq{
ALTER TABLE $segment ADD PRIMARY KEY ("offset");
CREATE TRIGGER minikafka_refuse_write BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON $segment
	FOR EACH STATEMENT EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE INSERT OR UPDATE OR DELETE ON $segment
	FOR EACH ROW EXECUTE FUNCTION minikafka.refuse_write();
ALTER TABLE $parent ATTACH PARTITION $segment FOR VALUES FROM (100) TO (200);
UPDATE minikafka.segment SET rel = '$segment' WHERE topic_id = 1 AND partition = 0 AND segment = 1;
});
is($sql->(q{SELECT problem FROM minikafka.check_topic('a')}), '', 'segment: it is the topic\'s again');
is($sql->(q{SELECT count(*) FROM minikafka.fetch('a', 0, 0, 1000)}), '250', 'segment: all is there again');

# its rows only
$sql = database('rows');
$node->run_log([ 'pg_restore', '-d', $node->connstr('rows'), $whole ]);
$sql->("ALTER TABLE $segment DISABLE TRIGGER ALL; DELETE FROM $segment; ALTER TABLE $segment ENABLE TRIGGER ALL");
like($sql->(q{SELECT problem FROM minikafka.check_topic('a')}), qr/hole of 100 offsets/, 'rows: check_topic() tells');
$node->command_ok(
	[ 'pg_restore', '-a', '--disable-triggers', '-t', $segment_name, '-d', $node->connstr('rows'), $whole ],
	'rows: pg_restore -a -t');
is($sql->(q{SELECT problem FROM minikafka.check_topic('a')}), '', 'rows: sound again');

# ---------------------------------------------------------------------------
# Without one topic

my $topic = $node->safe_psql('source',
	q{SELECT string_agg('-T ' || relid::regclass, ' ') FROM pg_partition_tree('minikafka_topics.b')});
my $without = dump_source('without', split / /, $topic);
$sql = database('without');
($status, $out, $err) = load('without', $without);
like($err, qr/relation "minikafka_topics\.b" does not exist.*COPY topic/s, 'without a table: the restore tells');
like(message('without', q{SELECT minikafka.send('a', 'v')}),
	qr/^0A000: .*a dump of the schema only or of some tables only/s, 'without a table: so does a call');
is($sql->('SELECT count(*) FROM minikafka_topics.a'), '250', 'without a table: it can be read');

# without its records: the others go on
my $names = $topic =~ s/-T /--exclude-table-data=/gr;
$without = dump_source('without_rows', split / /, $names);
$sql = database('without_rows');
($status, $out, $err) = load('without_rows', $without);
is($err, '', 'without the rows of a topic: no error');
is($sql->(q{SELECT minikafka.append('a', 0, NULL, 'v'), minikafka.append('b', 0, NULL, 'v')}),
	'250|0', 'without the rows of a topic: all go on');
$sql->(q{SELECT minikafka.drop_topic('b')});

# the topics' tables only
my $only = dump_source('topics', '-n', 'minikafka_topics');
$sql = database('topics');
$sql->('CREATE EXTENSION minikafka');
load('topics', $only);
like(message('topics', q{SELECT minikafka.send('a', 'v')}),
	qr/^0A000: table "a"/, 'minikafka_topics only: a call tells');
is(message('topics', q{SELECT minikafka.create_topic('new')}), 'nothing',
	'minikafka_topics only: a new topic');

done_testing();
