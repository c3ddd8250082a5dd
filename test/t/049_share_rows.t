# Rows of share groups: what maintenance removes, and what it keeps while a
# snapshot may need it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub maintain { return sql('CALL minikafka.maintain()'); }

# rows of this group in this topic; it has no record
sql(q{SELECT minikafka.create_topic('t', 1)});
sql(q{SELECT minikafka.create_share_group('g', '{t}')});
my $partition = sql('SELECT group_no, topic_id, 0 FROM minikafka.share_topic') =~ tr/|/,/r;

sub checkpoint
{
	my ($number, $era, $high, $exceptions) = @_;

	return sql(qq{INSERT INTO minikafka.share_checkpoint
		SELECT $partition, $number, $era, $high, '{$exceptions}',
			array_fill(1, ARRAY[cardinality('{$exceptions}'::bigint[])]), now()});
}

sub done
{
	my ($era, @runs) = @_;
	my $values = join ', ', map { "($partition, $era, $_->[1], $_->[0])" } @runs;

	return sql("INSERT INTO minikafka.share_done VALUES $values");
}

sub delivery
{
	my ($era, $offset, $number) = @_;

	return sql(qq{INSERT INTO minikafka.share_delivery VALUES
		($partition, $era, $offset, $number, 0, 'failed', $number, 1, NULL, now(), NULL)});
}

# What is there: checkpoints, runs, deliveries.
sub rows_left
{
	return sql(q{
SELECT concat_ws(' / ',
	(SELECT string_agg(format('%s:%s', number, high), ' ' ORDER BY number)
		FROM minikafka.share_checkpoint),
	(SELECT string_agg(format('%s:%s-%s', era, first_offset, last_offset), ' ' ORDER BY era, last_offset)
		FROM minikafka.share_done),
	(SELECT string_agg(format('%s:%s.%s', era, record_offset, number), ' ' ORDER BY era, record_offset, number)
		FROM minikafka.share_delivery))});
}

# ---------------------------------------------------------------------------
# Without a checkpoint no run goes, and of deliveries only what has a successor

done(0, [ 0, 1 ], [ 3, 4 ], [ 8, 9 ]);
delivery(0, @$_) for [ 2, 1 ], [ 2, 2 ], [ 2, 3 ], [ 4, 1 ], [ 6, 1 ];
maintain();
is(rows_left(), '0:0-1 0:3-4 0:8-9 / 0:2.3 0:4.1 0:6.1', 'no checkpoint');

# ---------------------------------------------------------------------------
# A checkpoint that a snapshot does not see changes nothing, nor does a successor

my $old = $node->background_psql('postgres');
my $begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1';

$old->query_safe($begin);
checkpoint(1, 0, 10, '2, 5, 6, 7');
delivery(0, 6, 2);
my $before = '1:10 / 0:0-1 0:3-4 0:8-9 / 0:2.3 0:4.1 0:6.1 0:6.2';
maintain();
is(rows_left(), $before, 'not while a snapshot does not see it');
# the snapshot of the next one sees that
$old->query_safe("COMMIT; $begin");
checkpoint(2, 0, 10, '6');
maintain();
is(rows_left(), '1:10 2:10 / 0:3-4 0:8-9 / 0:2.3 0:6.2',
	'what the checkpoint that it sees counts as done, and no more');
$old->query_safe('COMMIT');
maintain();
is(rows_left(), '2:10 / 0:8-9 / 0:6.2', 'up to the newest afterwards');

# ---------------------------------------------------------------------------
# Eras

delivery(1, 3, 1);
done(1, [ 0, 2 ], [ 5, 5 ]);
maintain();
is(rows_left(), '2:10 / 0:8-9 1:0-2 1:5-5 / 0:6.2 1:3.1',
	'a newer era than that of the checkpoint is left alone');
$old->query_safe($begin);
checkpoint(3, 1, 3, '');
maintain();
is(rows_left(), '2:10 3:3 / 0:8-9 1:0-2 1:5-5 / 0:6.2 1:3.1',
	'the former era stays while a snapshot needs it');
$old->query_safe('COMMIT');
maintain();
is(rows_left(), '3:3 / 1:5-5 / 1:3.1', 'and goes then');

# ---------------------------------------------------------------------------
# More rows than a call removes, and a long list

sql(qq{INSERT INTO minikafka.share_done SELECT $partition, 1, 2 * i, 2 * i FROM generate_series(5, 45004) i});
sql(qq{INSERT INTO minikafka.share_delivery
	SELECT $partition, 1, i / 3, 2 + i % 3, 0, 'locked', 1, 1, now(), now(), 'e' FROM generate_series(12, 60011) i});
sql(qq{INSERT INTO minikafka.share_checkpoint
	SELECT $partition, 4, 1, 90008, array_agg(50000 + 2 * i), array_agg(i), now() FROM generate_series(1, 20000) i});
maintain();
is( sql(q{SELECT count(*), min(last_offset) FROM minikafka.share_done}),
	'20004|50002', 'runs from the start on');
is(sql('SELECT count(*) FROM minikafka.share_delivery'), '0', 'no delivery');
is(sql('SELECT string_agg(number::text, NULL) FROM minikafka.share_checkpoint'),
	'4', 'one checkpoint');

# ---------------------------------------------------------------------------
# Two at once, and one that another transaction has removed

checkpoint(5, 1, 100000, '');
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; DELETE FROM minikafka.share_done WHERE last_offset < 50100');
maintain();
is(sql('SELECT count(*) FROM minikafka.share_done'),
	'49', 'what another transaction removes is left to that');
$other->query_safe('ROLLBACK');
maintain();
is(rows_left(), '5:100000', 'and goes later');

# ---------------------------------------------------------------------------
# A session that remembers how far the group was before a checkpoint, whose runs have
# gone since

sql(q{SELECT minikafka.create_topic('work', 1)});
sql(q{SELECT minikafka.create_share_group('workers', '{work}')});
sql(q{SELECT count(minikafka.send('work', 'v' || i)) FROM generate_series(0, 19) i});
my $acquire = q{SELECT string_agg("offset"::text, ' ') FROM minikafka.acquire('workers', %d, accept => true)};
my $idle = new_session($node);
my $holder = $node->background_psql('postgres');
$holder->query_safe(q{BEGIN; SELECT count(*) FROM minikafka.acquire('workers')});
is(ask($idle, sprintf $acquire, 1), '1', 'one that remembers what is held');
$holder->query_safe('ROLLBACK');
is(sql(sprintf $acquire, 9), '0 2 3 4 5 6 7 8 9', 'another does more');
sql(q{INSERT INTO minikafka.share_checkpoint
	SELECT group_no, topic_id, 0, 1, 0, 10, '{}', '{}', now()
	FROM minikafka.share_topic JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'workers'});
maintain();
is(sql(q{SELECT count(*) FROM minikafka.share_done}), '0', 'no run is left');
is(ask($idle, sprintf $acquire, 3), '10 11 12', 'nothing is done twice');

$_->quit for $old, $other, $idle, $holder;
is(server_errors($node), '', 'no error');
done_testing();
