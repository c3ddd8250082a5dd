# The examples in Python: idempotency keys, and the pipeline.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my $examples = "$FindBin::RealBin/../../examples";

# psycopg2 is there for the distribution's Python, not for any other
my $python = '/usr/bin/python3';

plan(skip_all => 'psycopg2 is not installed')
  unless works($python, '-c', 'import psycopg2');

my $node = new_node('primary');

# A file of the examples; true if there was no error.
sub run_psql
{
	my ($database, $file) = @_;

	return ended(
		start($node, { PGDATABASE => $database },
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$examples/$file")) == 0;
}

sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

# idempotency keys
ok(run_psql('postgres', 'drivers/setup.sql'), 'drivers: set up');
my $web = start($node, { PGDATABASE => 'postgres', PGUSER => 'shop' },
	$python, "$examples/drivers/web.py");

end_ok({ 'web.py' => $web }, 'ran');
is($web->{out},
	"120 200 as before\n60 201 created\n1 409 conflict\n15 no answer\n",
	'each request was done once');
is(value('SELECT count(*) FROM purchase'), 60, 'rows');
is(value(q{SELECT count(*), count(DISTINCT value) FROM minikafka_topics.purchases}),
	'60|60', 'events');

# the pipeline
$node->safe_psql('postgres', 'CREATE DATABASE pipeline');
ok(run_psql('pipeline', 'pipeline/setup.sql'), 'pipeline: set up');
my $pipeline = start($node, { PGDATABASE => 'pipeline' },
	$python, "$examples/pipeline/pipeline.py");

end_ok({ 'pipeline.py' => $pipeline }, 'ran');
like($pipeline->{out}, qr/booking: 2 quarantined before, 54 repeated\n/,
	'a replay changes nothing');
ok(run_psql('pipeline', 'pipeline/reconcile.sql'), 'the reconciliation passes');
$node->safe_psql('pipeline',
	"UPDATE position SET settled = settled + 1 WHERE instrument = 'ACME'");
ok(!run_psql('pipeline', 'pipeline/reconcile.sql'),
	'the reconciliation fails when a position is wrong');

done_testing();
