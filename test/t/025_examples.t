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

sub pipeline_value
{
	return $node->safe_psql('pipeline', $_[0]);
}

is(pipeline_value(q{
		SELECT string_agg(isin, ' ') FROM unnest(ARRAY['US0378331005', 'AU0000XVGZA3', 'CH0038863350', 'US0378331006',
			'AU0000XVGZA4', 'US037833100', 'US03783310055', 'us0378331005', 'US037833100X', '']) isin
		WHERE is_isin(isin)}),
	'US0378331005 AU0000XVGZA3 CH0038863350', 'check digits');

my $pipeline = start($node, { PGDATABASE => 'pipeline' },
	$python, "$examples/pipeline/pipeline.py");

end_ok({ 'pipeline.py' => $pipeline }, 'ran');

# These depend on the speed of the machine; zero matches neither.
$pipeline->{out} =~ s/ [1-9]\d* failed,/ N failed,/;
$pipeline->{out} =~ s/^  [1-9]\d* times/  N times/m;
# with several records of a trade in a batch
$pipeline->{out} =~ s/, \d+ released//;

is($pipeline->{out}, <<'OUT', 'what the stages did');
the first day: the reference data is away, and workers die
  the contract refused 4 events
  enrichment: 329 enriched, N failed, 2 quarantined, 2 rejected: unknown security, 2 rejected: wrong ISIN, 10 repeated
  booking: 329 accepted
  clearing: 359 accepted
  settling: 359 accepted
  N times, a worker was ended in the middle of its work
the second day: amendments, one of them late
  enrichment: 3 enriched
  booking: 3 accepted
  clearing: 3 accepted
  settling: 3 accepted
the reference data is mended
  4 dead letters sent back
  0 dead letters sent back
  enrichment: 4 enriched
  booking: 4 accepted
  clearing: 3 accepted
  settling: 3 accepted
a replay from the beginning
  enrichment: 2 quarantined before, 350 repeated
  booking: 336 repeated
  clearing: 365 repeated
  settling: 365 repeated
OUT
is(pipeline_value('TABLE position ORDER BY account, isin'), <<'OUT' =~ s/\n\z//r, 'positions');
account 0|DE0007164600|6750|6750
account 0|GB0002634946|6260|6260
account 0|US0378331005|-6539|-6539
account 0|US5949181045|6325|6325
account 1|CH0038863350|1|1
account 1|DE0007164600|6850|6850
account 1|GB0002634946|6238|6238
account 1|US0378331005|-6700|-6700
account 1|US5949181045|5964|5964
account 2|DE0007164600|6500|6500
account 2|GB0002634946|6375|6375
account 2|US0378331005|-6622|-6622
account 2|US5949181045|6225|6225
OUT
is(pipeline_value(q{
		SELECT f.value->>'event_id', headers->>'__dlq.errors.message'
		FROM generate_series(0, 3) p, minikafka.fetch_json('executions.dead', p, 0) f ORDER BY 1}),
	"X50|wrong ISIN\nX60|wrong ISIN\nX61|unknown security\nX61/2|unknown security",
	'dead letters: none because the reference data was away');
is(pipeline_value(q{
		SELECT event_id, current FROM trade_history WHERE trade IN ('T7', 'T60', 'T61') ORDER BY trade, number}),
	"X60/2|t\nX60|f\nX61|t\nX61/2|t\nX7|t\nX7/2|t\nX7/1|f",
	'the order of late and of redriven events');
is(pipeline_value(q{
		SELECT way = 'redriven', count(*) FROM time_to_position
		WHERE effective_at + to_position <= now() AND to_position > to_enriched GROUP BY 1 ORDER BY 1}),
	"f|332\nt|4", 'times to the position');
cmp_ok(pipeline_value("SELECT count(*) FROM time_to_position WHERE way = 'tried again'"),
	'>', 0, 'some waited for the reference data');

ok(run_psql('pipeline', 'pipeline/reconcile.sql'), 'the reconciliation passes');
for my $damage (
	"UPDATE position SET settled = settled + 1 WHERE isin = 'US0378331005'",
	"DELETE FROM trade_history WHERE event_id = 'X9'",
	"UPDATE trade_history SET event_id = 'X9 again' WHERE event_id = 'X10'",
	"UPDATE trade_history SET number = DEFAULT WHERE event_id = 'X7'",
	"DELETE FROM trade WHERE id = 'T9'")
{
	my $reconciliation = start($node, { PGDATABASE => 'pipeline' },
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-c', "BEGIN; $damage",
		'-f', "$examples/pipeline/reconcile.sql");

	isnt(ended($reconciliation), 0, "the reconciliation fails after $damage");
	like($reconciliation->{err}, qr/ERROR: .* the reconciliation failed/, 'and says so');
}

done_testing();
