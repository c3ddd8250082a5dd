# A share group and an imported snapshot: a record is handed out only if the
# snapshot sees what the session itself has done for the earlier ones of its key.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');

$node->safe_psql('postgres', q{
SELECT minikafka.create_topic('t', 1);
SELECT minikafka.send('t', 'v' || i, 'k') FROM generate_series(0, 1) i;
SELECT minikafka.create_share_group('g', '{t}');
});

my $exporter = $node->background_psql('postgres', on_error_die => 1);
my $snapshot = $exporter->query_safe(
	q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()});
my $got = $node->safe_psql('postgres', qq{
SELECT "offset" FROM minikafka.acquire('g', accept => true);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET TRANSACTION SNAPSHOT '$snapshot';
SELECT 'early', "offset" FROM minikafka.acquire('g', accept => true);
COMMIT;
SELECT "offset" FROM minikafka.acquire('g', accept => true);
});
$exporter->quit;
is($got, "0\n1", 'nothing that the imported snapshot does not see the past of');
done_testing();
