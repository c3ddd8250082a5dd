# Share groups on a streaming standby: they can be looked at, not used.  Promoted,
# workers go on: what was open on the old primary is handed out again, no record is
# done twice or lost, and acquisition locks hold.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node    = new_node('primary', 'log_error_verbosity = verbose');
my $standby = new_standby($node, 'standby');

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub there { return $standby->safe_psql('postgres', $_[0]); }

# Records of ten keys in turn, in partition 1
sql(q{
SELECT minikafka.create_topic('t', 2, segment_records => 50), minikafka.create_topic('dead', 1);
SELECT count(minikafka.send('t', (i / 10 + 1)::text, 'k' || i % 10, partition => 1)) FROM generate_series(0, 399) i;
SELECT minikafka.create_share_group('g', '{t}', backoff => '1 h', max_backoff => '1 h', dead_letter_topic => 'dead');
SELECT minikafka.create_share_group('storm', '{t}');
CREATE TABLE effect (group_id text, "offset" bigint, key text, n int, seen int);
});

# What a session gets
my $get = q{SELECT string_agg("offset"::text, ' ' ORDER BY "offset") FROM minikafka.acquire('g', %d, accept => true)};

# ---------------------------------------------------------------------------
# Of each kind: done, failed, a dead letter, under a lock, and held in a transaction

is(sql(sprintf $get, 2), '0 1', 'done');
sql(q{SELECT minikafka.acknowledge('g', receipt, 'fail', 'busy') FROM minikafka.acquire('g')});
sql(q{SELECT minikafka.acknowledge('g', receipt, 'reject', 'bad') FROM minikafka.acquire('g')});
my ($receipt) = map { sql($_) }
  q{SELECT receipt FROM minikafka.acquire('g', lock_duration => '1 day')};
my ($lost) = map { sql($_) }
  q{SELECT receipt FROM minikafka.acquire('g', lock_duration => '1 min')};
my $holder = new_session($node);
is(ask($holder, q{BEGIN; SELECT "offset" FROM minikafka.acquire('g')}), '6', 'held');
sql('CALL minikafka.maintain()');
wait_standby($node, $standby);

# ---------------------------------------------------------------------------
# Looking

my $looking = new_session($standby);
is(ask($looking, q{SELECT group_id, kind, state FROM minikafka.groups ORDER BY 1}),
	"g|share|Stable\nstorm|share|Stable", 'view groups');
is(ask($looking, q{SELECT group_id, ordering, topics, dead_letter_topic, paused FROM minikafka.share_groups ORDER BY 1}),
	"g|key|{t}|dead|f\nstorm|key|{t}||f", 'view share_groups');
my $deliveries = q{SELECT "offset", state, delivery_count, error, receipt IS NOT NULL, pid IS NOT NULL
	FROM minikafka.share_deliveries ORDER BY 1};
is(sql($deliveries), "2|failed|1|busy|t|f\n4|locked|1||t|f\n5|locked|1||t|f\n6|held|1||t|t", 'deliveries on the primary');
is(ask($looking, $deliveries), "2|failed|1|busy|t|f\n4|locked|1||t|f\n5|locked|1||t|f",
	'view share_deliveries: all but what is held, of which the standby does not know');
# what is held is behind nothing there
my $lag = q{SELECT partition, lag, ready + in_flight, waiting, lost FROM minikafka.lag('g') ORDER BY 1};
is(ask($looking, $lag), sql($lag), 'lag()');
is(ask($looking, q{SELECT sum(in_flight) FROM minikafka.lag('g')}), '2', 'lag() counts what is under a lock');
is(ask($looking, q{SELECT count(*) FROM minikafka.consumer_lag}), '4', 'view consumer_lag');
# what changes there is seen by a session that has looked before
is(sql(sprintf $get, 1), '7', 'another one is done');
sql(q{SELECT minikafka.set_group_option('storm', 'max_in_flight', '7')});
sql(q{SELECT minikafka.acknowledge('g', receipt, 'fail', 'busy too') FROM minikafka.acquire('g')});
wait_standby($node, $standby);
is(ask($looking, $lag), sql($lag), 'lag() after that');
is(ask($looking, q{SELECT max_in_flight FROM minikafka.share_groups WHERE group_id = 'storm'}), '7', 'an option');
is(ask($looking, q{SELECT error FROM minikafka.share_deliveries WHERE "offset" = 17}), 'busy too', 'a delivery');

# ---------------------------------------------------------------------------
# Using is refused, whatever it is; in a read-only transaction on the primary too

for my $call (
	q{SELECT minikafka.acquire('g')},
	q{SELECT minikafka.acquire('g', max_wait => '1 day')},
	q{SELECT minikafka.acquire_text('g', lock_duration => '1 s')},
	q{SELECT minikafka.acquire_json('g', accept => true)},
	qq{SELECT minikafka.acknowledge('g', '$receipt')},
	qq{SELECT minikafka.acknowledge('g', '$receipt', 'fail')},
	q{SELECT minikafka.acknowledge('g', 'no receipt')},
	qq{SELECT minikafka.renew('g', '$receipt', '1 min')},
	q{SELECT minikafka.create_share_group('new', '{t}')},
	q{SELECT minikafka.set_group_option('g', 'paused', 'true')},
	q{SELECT * FROM minikafka.reset_offsets('g', 't', 'earliest')},
	q{SELECT minikafka.redrive('dead')},
	q{SELECT minikafka.send_at('t', 'x', now())},
	q{SELECT minikafka.cancel_send(1)},
	q{SELECT minikafka.delete_group('g')})
{
	for my $where ('standby', 'read-only')
	{
		my ($state, $text);

		if ($where eq 'standby')
		{
			($state, $text) = state_after($looking, $call);
		}
		else
		{
			my ($status, $out, $err) = $node->psql('postgres',
				"BEGIN READ ONLY; $call; COMMIT", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
			$text = $err;
			$state = $1 if $err =~ /ERROR:\s+(\w{5})/;
		}
		is($state, '25006', "$where: refused: $call");
		my ($name) = $call =~ /minikafka\.(\w+)/;
		$name = 'acquire' if $name =~ /acquire/;
		like($text, qr/cannot execute $name\(\) in a read-only transaction/, "$where: and says why: $call");
	}
}
for my $call (q{CALL minikafka.wait_for_records('g', NULL, '1 day')}, q{CALL minikafka.deliver_due()})
{
	is(state_after($looking, $call), '25006', "standby: refused: $call");
	is(sqlstate($node, "SET default_transaction_read_only = on; $call"), '25006', "read-only: refused: $call");
}
is(ask($looking, $lag), sql($lag), 'nothing has changed');

# ---------------------------------------------------------------------------
# Workers at work, with the primary gone in their midst

my %work = (
	work => q{BEGIN;
INSERT INTO effect SELECT 'storm', "offset", key, value::int, (SELECT coalesce(max(n), 0) FROM effect e WHERE e.key = r.key)
	FROM minikafka.acquire_text('storm', accept => true) r;
COMMIT;
});
my $load = start_pgbench($node, \%work, '-c4', '-T', 600);
$node->poll_query_until('postgres', 'SELECT count(*) > 30 FROM effect') or die;
wait_standby($node, $standby);
$node->stop('immediate');
$load->{run}->finish;
eval { $holder->quit };
$standby->promote;

my $before = there('SELECT count(*) FROM effect');
cmp_ok($before, '>', 30, "promoted: $before records are done");
finish_ok(start_pgbench($standby, \%work, '-c4', '-t', 120), 'promoted: workers go on');
is(there(q{SELECT count(*), count(DISTINCT "offset") FROM effect}), '400|400', 'promoted: each is done once');
is(there(q{SELECT count(*) FROM effect WHERE seen <> n - 1}), '0', 'promoted: in the order of each key');

# The session that has looked until now works; the lock holds
is(ask($looking, $deliveries), "2|failed|1|busy|t|f\n4|locked|1||t|f\n5|locked|1||t|f\n17|failed|1|busy too|t|f",
	'promoted: the deliveries are those of the old primary');
is( ask($looking, sprintf $get, 400),
	join(' ', 6, grep { $_ !~ /[2457]$/ } 8 .. 399),
	'promoted: what was held is handed out again; what is locked or waits is not, nor what comes behind it');
is(ask($looking, qq{SELECT minikafka.acknowledge('g', '$receipt')}), 'accepted',
	'promoted: the worker that has the lock answers');
is(state_after($looking, qq{SELECT minikafka.acknowledge('g', '$receipt')}), 'MK121', 'promoted: once');
my $late = new_session($standby);
at($late, 100);
is(ask($late, q{SELECT "offset", fencing_token FROM minikafka.acquire('g', 100, lock_duration => '1 day') WHERE "offset" = 5}),
	'5|2', 'promoted: a lock that has expired is another worker\'s');
is(state_after($looking, qq{SELECT minikafka.acknowledge('g', '$lost')}), 'MK121', 'promoted: the first one has lost it');
is(there(q{SELECT count(*) FROM minikafka.fetch('dead', 0, 0)}), '1', 'promoted: the dead letter is there');
there(q{SELECT minikafka.send('t', 'new', 'new')});
is(ask($looking, q{SELECT value FROM minikafka.acquire_text('g', accept => true, max_wait => '1 day')}), 'new', 'promoted: new records come');
there('CALL minikafka.maintain()') for 1, 2;
is(problems($standby, 't'), '', 'the topic is sound');
is(server_errors($standby), '', 'no internal error');
$_->quit for $looking, $late;

done_testing();
