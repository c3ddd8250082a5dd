# The roles of doc/operations.md: each can do its part and nothing else, also in a
# restored dump, which a role that only reads has made.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');

# The programs of the section "Roles"
my $text = slurp_file("$FindBin::RealBin/../../doc/operations.md");
my ($section) = $text =~ /^## Roles\n(.*?)^## /ms;
my ($make, undef, $give_away) = $section =~ /^```sql\n(.*?)^```/msg;

sub sql
{
	my ($database, $role, $text) = @_;

	return $node->safe_psql($database, $text, extra_params => [ '-U', $role ]);
}

# The SQLSTATE that a role gets, or 00000.
sub told
{
	my ($database, $role, $text) = @_;
	my ($status, $out, $err) = $node->psql($database, $text,
		extra_params => [ '-U', $role, '-v', 'VERBOSITY=sqlstate' ]);

	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : '00000';
}

my $superuser = $node->safe_psql('postgres', 'SELECT current_user');

# Roles are of the cluster, rights of the database.
sub roles_ok
{
	my ($name, $records) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(sql($name, 'shop', q{SELECT minikafka.send('orders', 'v', key => 'k',
			producer => 'shop', sequence => } . $records . q{) IS NOT NULL}),
		't', "$name: shop sends");
	is(sql($name, 'billing', q{SELECT count(*) FROM minikafka.poll('billing', 'm');
			SELECT count(*) FROM minikafka.commit('billing', 'm')}),
		"1\n1", "$name: billing consumes");
	is(sql($name, 'billing', q{SELECT count(*) FROM minikafka_topics.orders}),
		$records + 1, "$name: and looks at the table");
	is(sql($name, 'billing', q{SELECT minikafka.inbox_accept('billing', 'event')}),
		'f', "$name: and has its inbox");
	is(told($name, 'janitor', 'CALL minikafka.maintain()'),
		'00000', "$name: the janitor maintains");
	is( sql($name, 'watcher',
			q{SELECT sum(end_offset) FROM minikafka.partitions;
			SELECT group_id, owner FROM minikafka.groups;
			SELECT sum(lag) FROM minikafka.consumer_lag}),
		$records + 1 . "\nbilling|billing\n0",
		"$name: the watcher sees all");

	for (
		[ shop => q{minikafka.fetch('orders', 0, 0)} ],
		[ shop => q{minikafka.join_group('shop', '{orders}')} ],
		[ shop => q{minikafka.heartbeat('billing', 'm')} ],
		[ shop => q{minikafka.create_topic('shop')} ],
		[ shop => q{minikafka.drop_topic('orders')} ],
		[ billing => q{minikafka.send('orders', 'v')} ],
		[ billing => q{minikafka.init_producer('billing')} ],
		[ billing => q{minikafka.init_producer('shop')} ],
		[ billing => q{minikafka.delete_records('orders', 0, 0)} ],
		[ janitor => q{minikafka.fetch('orders', 0, 0)} ],
		[ janitor => q{minikafka.join_group('janitor', '{orders}')} ],
		[ janitor => q{minikafka.join_group('janitor', '{none}')} ],
		[ janitor => q{minikafka.init_producer('janitor')} ],
		[ watcher => q{minikafka.fetch('orders', 0, 0)} ],
		[ watcher => q{minikafka.poll('billing', 'm')} ],
		[ watcher => q{minikafka.set_group_owner('billing', 'watcher')} ],
		[ stranger => q{minikafka.inbox_accept('stranger', 'event')} ],
		[ stranger => q{minikafka.init_producer('stranger')} ],
		[ stranger => q{minikafka.join_group('stranger', '{none}')} ],
		[ stranger => q{minikafka.send('orders', 'v')} ],
		[ stranger => q{minikafka.murmur2('k')} ])
	{
		is(told($name, $_->[0], "SELECT $_->[1]"),
			'42501', "$name: $_->[0] may not $_->[1]");
	}
	return;
}

sql('postgres', $superuser, $make);
sql('postgres', $superuser, 'CREATE ROLE stranger LOGIN; CREATE ROLE invoices LOGIN;
	CREATE ROLE dumper LOGIN IN ROLE pg_read_all_data;
	GRANT USAGE ON SCHEMA minikafka TO invoices;
	GRANT SELECT, INSERT ON minikafka_topics.orders TO invoices');
# what a role has that is to go
sql('postgres', 'invoices', q{
SELECT minikafka.join_group('billing', '{orders}', 'm', session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.grant_group('billing', 'invoices');
SELECT minikafka.send('orders', 'v', key => 'k', producer => 'shop', sequence => 0);
SELECT minikafka.inbox_accept('billing', 'event');
SELECT minikafka.poll('billing', 'm')});
sql('postgres', 'invoices', q{SELECT minikafka.commit('billing', 'm')});
sql('postgres', $superuser, $give_away);
sql('postgres', $superuser,
	q{SELECT minikafka.set_producer_owner('shop', 'shop');
	DROP OWNED BY invoices; DROP ROLE invoices});
my ($status, $out, $err) = $node->psql('postgres', 'CALL minikafka.maintain()');
is($err, '', 'nothing is left of the role');
roles_ok('postgres', 1);

# A dump by a role that can only read is that of a superuser.  (What comes at the
# ends of newer ones is random.)
my $folder = PostgreSQL::Test::Utils::tempdir('dumps');

for my $role ($superuser, 'dumper')
{
	$node->command_ok(
		[
			'pg_dump', '-f', "$folder/$role.sql", '-U', $role, '-d',
			$node->connstr('postgres')
		],
		"pg_dump by $role");
}
my ($all, $read) = map { slurp_file("$folder/$_.sql") =~ s/^\\(un)?restrict .*\n//mgr }
  $superuser, 'dumper';
ok($all eq $read, 'both are the same');

sql('postgres', $superuser, 'CREATE DATABASE restored');
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f',
		"$folder/dumper.sql", '-d', $node->connstr('restored')
	],
	'restored');
roles_ok('restored', 2);

# Where a role is dropped that has something, maintenance says so
sql('postgres', $superuser, 'DROP OWNED BY billing');
sql('restored', $superuser, 'DROP OWNED BY billing; DROP ROLE billing');
($status, $out, $err) = $node->psql('postgres', 'CALL minikafka.maintain()');
like($err, qr/WARNING: .*group "billing" belongs to role "billing", which does not exist/,
	'a role that is gone');
like($err, qr/It is named by 1 other /, 'and all that it had');
is(told('postgres', 'shop', q{SELECT minikafka.poll('billing', 'm')}),
	'42501', 'no role has it');

done_testing();
