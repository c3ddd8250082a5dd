# Records are as the definition of their topic's table says: compiled code of
# the server relies on it, and a dump restores.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'jit = on', 'jit_above_cost = 0',
	'jit_optimize_above_cost = 0', 'jit_inline_above_cost = 0');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---------------------------------------------------------------------------
# Compiled code does not look whether a NOT NULL column is null

sql(q{SELECT minikafka.create_topic('jn', 1);
	ALTER TABLE minikafka_topics.jn ALTER key SET NOT NULL,
		ALTER value SET NOT NULL, ALTER headers SET NOT NULL});
my @refused = map { sqlstate($node, $_) } (
	q{SELECT minikafka.send('jn', repeat('A', 19))},
	q{SELECT minikafka.send('jn', NULL::text, 'k', '{"h": "1"}')},
	q{SELECT minikafka.append('jn', 0, 'k', 'v')},
	q{SELECT minikafka.send_many('jn', ARRAY['v'])});
is("@refused", '23502 23502 23502 23502', 'a null is refused');
is( sqlstate(
		$node, q{BEGIN;
		ALTER TABLE minikafka_topics.jn ALTER key DROP NOT NULL;
		SELECT minikafka.send('jn', repeat('A', 19), headers => '{"h": "1"}');
		ALTER TABLE minikafka_topics.jn ALTER key SET NOT NULL;
		COMMIT}),
	'23502',
	'also where it was none when it was sent');
sql(qq{SELECT minikafka.send('jn', repeat('A', $_), 'key', '{"h": "1"}')})
  for 1 .. 20;
is( sql(
		q{SELECT count(*), min(encode(key, 'escape')), max(encode(key, 'escape')), sum(length(value)),
			sum(length(headers::text)) FROM minikafka_topics.jn}),
	'20|key|key|210|200',
	'compiled code reads what was sent');

# ---------------------------------------------------------------------------
# A dump of topics with constraints restores

sql(q{SELECT minikafka.create_topic('ck', 1, segment_records => 5);
	ALTER TABLE minikafka_topics.ck ADD CONSTRAINT c CHECK (value IS NOT NULL),
		ADD CONSTRAINT json CHECK (minikafka.is_json(value)),
		ADD CONSTRAINT many CHECK ("offset" < 1000);
	SELECT minikafka.set_topic_option('ck', 'value_format', 'json')});
is(sqlstate($node, q{SELECT minikafka.send('ck', NULL::text, 'k')}),
	'23514', 'what a CHECK rules out is refused');
sql(q{SELECT minikafka.send('ck', '{}', 'k')}) for 1 .. 7;
sql(q{SELECT minikafka.commit_offset('g', 'ck', 0, 3)});
# a version that older records do not have, in segments of before and after
sql(q{SELECT minikafka.create_topic('nv', 1, segment_records => 3)});
sql(q{SELECT minikafka.send('nv', 'old')}) for 1 .. 4;
sql(q{ALTER TABLE minikafka_topics.nv ADD CONSTRAINT v2 CHECK (value = 'new') NOT VALID});
sql(q{SELECT minikafka.send('nv', 'new')}) for 1 .. 4;

my $dump = $node->basedir . '/dump';
command_ok(
	[
		'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ],
	'dumped');
sql('CREATE DATABASE copy');
command_ok(
	[ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), $dump ],
	'restored');
is( $node->safe_psql(
		'copy',
		q{SELECT end_offset FROM minikafka.offsets('ck', 0);
		SELECT minikafka.committed('g', 'ck', 0);
		SELECT value_format FROM minikafka.topics WHERE topic = 'ck';
		SELECT minikafka.append('ck', 0, 'k', '[]')}),
	"7\n3\njson\n7",
	'the copy goes on where it was');
my ($status, undef, $err) =
  $node->psql('copy', q{SELECT minikafka.send('ck', 'no JSON')});
like($err, qr/not valid JSON/, 'and has the contract');
$node->safe_psql('copy', q{SELECT minikafka.send('nv', 'new')}) for 1 .. 4;
($status, undef, $err) =
  $node->psql('copy', q{SELECT minikafka.send('nv', 'old')});
like($err, qr/violates check constraint "v2"/,
	'also the one that older records need not keep');
is( $node->safe_psql(
		'copy',
		q{SELECT count(*) FROM minikafka.fetch('nv', 0, 0);
		SELECT * FROM minikafka.check_topic('nv');
		SELECT * FROM minikafka.check_topic('ck')}),
	'12',
	'all records are there');
is(problems($node, 'ck'), '', 'the topic is sound');

done_testing();
