# Segments: their boundary crossed by many sessions at once, and where new ones
# go.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'allow_in_place_tablespaces = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---------------------------------------------------------------------------
# Eight sessions cross boundaries; one has sent and holds its transaction open,
# another reads in one transaction all the time

sql(q{
SELECT minikafka.create_topic('t', 2, segment_records => 50);
SELECT minikafka.send('t', '0:0', partition => p) FROM generate_series(0, 1) p;
});

my $open = $node->background_psql('postgres');
$open->query_safe(q{BEGIN;
	SELECT minikafka.send('t', 'open:' || i, partition => p)
	FROM generate_series(0, 1) p, generate_series(1, 120) i;
	SAVEPOINT s;
	SELECT minikafka.send('t', 'undone', partition => 0)});
my $long = $node->background_psql('postgres');
$long->query_safe(q{BEGIN ISOLATION LEVEL REPEATABLE READ;
	DECLARE c CURSOR FOR SELECT * FROM minikafka_topics.t; FETCH 1 FROM c});

my $load = start_pgbench(
	$node, {
		'one' => q{
\set n :n + 1
SELECT minikafka.send('t', value => format('%s:%s', :client_id, :n),
partition => :client_id % 2);
},
		'some' => q{
\set n :n + 1
SELECT minikafka.send('t', value => format('%s:%s', :client_id, :n),
partition => :client_id % 2) FROM generate_series(1, 7);
},
		'more_than_a_segment' => q{
\set n :n + 1
SELECT minikafka.send('t', value => format('%s:%s', :client_id, :n),
partition => :client_id % 2) FROM generate_series(1, 60);
},
	},
	'-c8', '-j2', '-t40', '-D', 'n=0');
finish_ok($load, 'all went on');
like($long->query_safe('FETCH 5 FROM c; COMMIT'),
	qr/^\d+\|/, 'the long reader ended too');
$open->query_safe('ROLLBACK TO s; COMMIT');
is(problems($node, 't'), '', 'no offset is in a wrong segment, nothing missing');
is( sql(q{SELECT string_agg(DISTINCT value, ',')
		FROM minikafka.offsets('t', 0) o,
		minikafka.fetch_text('t', 0, o.end_offset - 120, 1000)
		WHERE value NOT LIKE 'open:%'}),
	'', 'what was held open comes last');

my ($gaps, $order, $total) = (0, 0, 0);
for my $partition (0, 1)
{
	my $next = 0;
	my %last;

	for (rows($node, qq{SELECT "offset", value
			FROM minikafka.fetch_text('t', $partition, 0, 10000000)}))
	{
		my ($offset, $value) = @$_;
		my ($session, $number) = split /:/, $value;

		$gaps++ if $offset != $next++;
		$order++ if $number < ($last{$session} // 0);
		$last{$session} = $number;
		$total++;
	}
}
is($gaps,  0, 'offsets are 0, 1, 2, ...');
is($order, 0, 'each session\'s records are in its order');
cmp_ok($total, '>', 4000, 'many segments were crossed');
is( sql(q{SELECT count(*) FROM minikafka.partitions WHERE topic = 't'
		AND segments NOT BETWEEN (end_offset - 1) / 50 + 1 AND (end_offset - 1) / 50 + 2}),
	'0', 'one segment at most was made ahead');
is( sql(q{SELECT count(*) FROM minikafka_topics.t
		WHERE tableoid::regclass::text !~ format('p\d+_%s_%s$', partition, "offset" / 50)}),
	'0', 'each record is in the segment of its offset');
$open->quit;
$long->quit;

# ---------------------------------------------------------------------------
# A session that makes a segment and fails leaves nothing

sql(q{SELECT minikafka.create_topic('f', 1, segment_records => 10)});
my $late = library('late');
is( sqlstate(
		$node, qq{LOAD '$late'; BEGIN; SET LOCAL late.fail = 1;
		SELECT minikafka.send('f', 'x') FROM generate_series(1, 35); COMMIT}),
	'40001', 'three segments were made and are gone');
is( sql(q{SELECT segments, end_offset FROM minikafka.partitions
		WHERE topic = 'f'}), '1|0', 'nothing is left');
sql(q{SELECT minikafka.send('f', 'x') FROM generate_series(1, 35)});
is(problems($node, 'f'), '', 'sending goes on over them');
is( sql(q{SELECT end_offset FROM minikafka.partitions WHERE topic = 'f'}),
	'35', 'all are there');

# after delete_records to the end of a segment that was never made ahead of
sql(q{SELECT minikafka.delete_records('f', 0, -1);
	SELECT minikafka.send('f', 'x') FROM generate_series(1, 100)});
is(problems($node, 'f'), '', 'delete_records() and on');

# ---------------------------------------------------------------------------
# Made while a long SELECT is open, and the other way round

sql(q{SELECT minikafka.create_topic('l', 1, segment_records => 10);
	SELECT minikafka.send('l', 'x')});
$long = $node->background_psql('postgres');
$long->query_safe(q{BEGIN; SELECT * FROM minikafka_topics.l LIMIT 1});
is( sqlstate(
		$node, q{SELECT minikafka.send('l', 'x') FROM generate_series(1, 99)}),
	'00000', 'a long SELECT stops no sender');
is($long->query_safe('SELECT count(*) FROM minikafka_topics.l'),
	'100', 'and sees the new segments');
$long->query_safe('COMMIT');
$long->quit;

# ---------------------------------------------------------------------------
# Tablespaces: the topic's, not the session's

sql($_)
  for q{CREATE TABLESPACE topics LOCATION ''},
  q{CREATE TABLESPACE sessions LOCATION ''};
sql(q{
SET default_tablespace = sessions;
SELECT minikafka.create_topic('plain', 1, segment_records => 10);
SELECT minikafka.create_topic('placed', 1, segment_records => 10);
ALTER TABLE minikafka_topics.placed SET TABLESPACE topics;
SELECT minikafka.send('plain', 'x') FROM generate_series(1, 26);
SELECT minikafka.send('placed', 'x') FROM generate_series(1, 26);
SELECT minikafka.add_partitions('placed', 2);
});

sub tablespaces
{
	my ($topic) = @_;

	return sql(
		qq{SELECT string_agg(format('%s %s', regexp_replace(c.relname, '^p\\d+_', ''),
			COALESCE(s.spcname, 'default')), ', ' ORDER BY c.relname)
		FROM pg_partition_tree('minikafka_topics.$topic') t
		JOIN pg_class c ON c.oid = t.relid AND c.relkind = 'r'
		LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace});
}
is(tablespaces('plain'), '0_0 default, 0_1 default, 0_2 default, 0_3 default',
	'the database\'s');
is(tablespaces('placed'), '0_0 default, 0_1 topics, 0_2 topics, 0_3 topics, 1_0 topics',
	'the topic\'s, from then on');
is(problems($node, 'placed'), '', 'the topic is sound');

done_testing();
