# The examples: the drivers, with what each does about errors; idempotency keys;
# the pipeline.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $examples = "$FindBin::RealBin/../../examples";

# psycopg2 is there for the distribution's Python, not for any other
my $python = '/usr/bin/python3';
$ENV{NODE_PATH} = join ':', grep { defined } $ENV{NODE_PATH}, '/usr/share/nodejs';

my %drivers = (psql => [ 'bash', "$examples/drivers/purchases.sh" ]);
my $have_python = works($python, '-c', 'import psycopg2');
$drivers{python} = [ $python, "$examples/drivers/purchases.py" ]
  if $have_python;
$drivers{node} = [ 'node', "$examples/drivers/purchases.js" ]
  if works('node', '-e', 'require("pg")');

my $node = new_node('primary');

# Whether a program runs at all.
sub works
{
	my @command = @_;
	my $ok = eval { IPC::Run::run(\@command, '<', \undef, '>&', \my $log) };

	return $ok;
}

# A program that finds the database by its environment, in the background; as a role,
# if there is one, or else as the superuser.
sub start
{
	my ($database, $role, @command) = @_;
	my %program = (out => '', err => '');

	local %ENV = ($node->_get_env(), PGDATABASE => $database);
	local $ENV{PGUSER} = $role if defined $role;
	$program{run} = IPC::Run::start(
		\@command, '<', \undef, '>', \$program{out}, '2>', \$program{err},
		IPC::Run::timeout($MinikafkaTest::TIMEOUT));
	return \%program;
}

sub ended
{
	my ($program) = @_;

	$program->{run}->finish;
	return $program->{run}->result(0);
}

# A file of the examples; true if there was no error.
sub run_psql
{
	my ($database, $file) = @_;

	return ended(start($database, undef, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-f', "$examples/$file")) == 0;
}

# Waits for the programs to end, which is a test of each.
sub end_ok
{
	my ($programs, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (sort keys %$programs)
	{
		is(ended($programs->{$_}), 0, "$_ $name")
		  or diag($programs->{$_}{out}, $programs->{$_}{err});
	}
	return;
}

# Waits until each has said something to stderr.
sub all_say
{
	my ($programs, $what) = @_;

	for (sort keys %$programs)
	{
		my $program = $programs->{$_};

		$program->{run}->pump
		  until $program->{err} =~ $what || !$program->{run}->pumpable;
		like($program->{err}, $what, "$_ says $what");
	}
	return;
}

sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

sub wait_for
{
	my ($sql) = @_;

	$node->poll_query_until('postgres', $sql)
	  or die "this did not come true: $sql";
	return;
}

# One program of each driver; @arguments may have %s for the driver's name.  Producers
# and consumers are roles of their own.
sub start_all
{
	my (@arguments) = @_;
	my $role = $arguments[0] eq 'produce' ? 'shop' : 'billing';

	return {
		map {
			my $name = $_;
			$name => start('postgres', $role, @{ $drivers{$name} },
				map { s/%s/$name/r } @arguments)
		} keys %drivers
	};
}

# What the groups have counted is what was bought.
sub counted_ok
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( value(
			q{SELECT group_id, customer, purchases, amount FROM spent EXCEPT
			SELECT group_id, customer, count(*), sum(amount)
			FROM purchase, (SELECT DISTINCT group_id FROM spent) g GROUP BY 1, 2}),
		'', $name);
	return;
}

# ---------------------------------------------------------------------------
# The drivers

my $n = keys %drivers;

ok(run_psql('postgres', "drivers/$_"), $_) for qw(setup.sql purchases.sql);

end_ok(start_all('produce', 50), 'produces');
is(value('SELECT count(*) FROM purchase'), 50 * $n, 'all rows are there');
is( value(
		q{SELECT count(*) FROM purchase p JOIN minikafka_topics.purchases t
		ON (convert_from(value, 'UTF8')::jsonb->>'id')::bigint = p.id
			AND convert_from(key, 'UTF8') = p.customer
			AND (convert_from(value, 'UTF8')::jsonb->>'amount')::numeric = p.amount}),
	50 * $n,
	'and each has its event');
is(value(q{SELECT sum(end_offset) FROM minikafka.partitions}),
	50 * $n, 'and nothing else');

end_ok(start_all('consume', 'alone %s', 'worker', 50 * $n), 'consumes alone');
counted_ok('each group has counted all');

# All share a group, and produce meanwhile.
my $consumers = start_all('consume', 'shared', 'worker %s', 100 * $n);
wait_for("SELECT members = $n FROM minikafka.groups WHERE group_id = 'shared'");
end_ok(start_all('produce', 50), 'produces while others consume');
end_ok($consumers, 'has its share of a group');
end_ok(start_all('consume', 'alone %s', 'worker', 100 * $n), 'comes back');
counted_ok('each purchase was counted once');
is(value('SELECT sum(members) FROM minikafka.groups'), 0, 'all have left');

# ---------------------------------------------------------------------------
# What each does about errors

my $count = 100 * $n;

sub buy
{
	value(q{WITH new AS (
			INSERT INTO purchase (customer, amount)
			SELECT 'customer 0', i FROM generate_series(1, 5) i RETURNING *)
		SELECT minikafka.send('purchases', to_jsonb(new), key => customer) FROM new});
	$count += 5;
	return;
}

# All have a batch in hand, and wait for a row.
my $holder = new_session($node);
my $pid = ask($holder, q{SELECT pg_backend_pid()});

ask($holder, q{BEGIN; SELECT FROM spent WHERE customer = 'customer 0' FOR UPDATE});
$consumers = start_all('consume', 'alone %s', 'worker', $count + 10);
buy();
wait_for(qq{SELECT count(*) = $n FROM pg_stat_activity
	WHERE $pid = ANY (pg_blocking_pids(pid))});
value(q{SELECT minikafka.poll(group_id, member_id) FROM minikafka.group_members});
ask($holder, 'ROLLBACK');
all_say($consumers, qr/^MK101: goes on/m);

value(q{SELECT minikafka.leave_group(group_id, member_id) FROM minikafka.group_members});
all_say($consumers, qr/^MK025: goes on/m);
wait_for(qq{SELECT count(*) = $n FROM (SELECT FROM spent WHERE group_id LIKE 'alone %'
	GROUP BY group_id HAVING sum(purchases) = $count) c});

my $others = start_all('consume', 'alone %s', 'worker', $count + 5);
all_say($consumers, qr/^another process has taken over as worker/m);
for (sort keys %$consumers)
{
	isnt(ended($consumers->{$_}), 0, "$_ stops");
}
buy();
end_ok($others, 'has taken over');
value(q{DELETE FROM spent WHERE group_id = 'shared'});
counted_ok('each purchase was counted once');

# ---------------------------------------------------------------------------
# The examples in Python

SKIP:
{
	skip 'psycopg2 is not installed', 9 unless $have_python;

	# idempotency keys
	my $before = value('SELECT count(*) FROM purchase');
	my $web = start('postgres', 'shop', $python, "$examples/drivers/web.py");

	end_ok({ 'web.py' => $web }, 'ran');
	is($web->{out},
		"120 200 as before\n60 201 created\n1 409 conflict\n15 no answer\n",
		'each request was done once');
	is(value('SELECT count(*) FROM purchase') - $before, 60, 'rows');
	is( value(q{SELECT count(*), count(DISTINCT value) FROM minikafka_topics.purchases
			WHERE convert_from(key, 'UTF8') LIKE 'web %'}),
		'60|60',
		'events');

	# the pipeline
	$node->safe_psql('postgres', 'CREATE DATABASE pipeline');
	ok(run_psql('pipeline', 'pipeline/setup.sql'), 'pipeline: set up');
	my $pipeline = start('pipeline', undef, $python, "$examples/pipeline/pipeline.py");

	end_ok({ 'pipeline.py' => $pipeline }, 'ran');
	like($pipeline->{out}, qr/booking: 2 quarantined before, 54 repeated\n/,
		'a replay changes nothing');
	ok(run_psql('pipeline', 'pipeline/reconcile.sql'), 'it comes out even');
	$node->safe_psql('pipeline',
		"UPDATE position SET settled = settled + 1 WHERE instrument = 'ACME'");
	ok(!run_psql('pipeline', 'pipeline/reconcile.sql'),
		'it does not when a position is wrong');
}

SKIP:
{
	skip 'the drivers in Python: psycopg2 is not installed', 1 unless $have_python;
	pass('there was psycopg2');
}
SKIP:
{
	skip 'the driver in Node: node or its module pg is not installed', 1
	  unless $drivers{node};
	pass('there was node with pg');
}

done_testing();
