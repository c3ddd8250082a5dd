# examples/try.sh: a server that outlives the script, and is stopped by it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $try = "$FindBin::RealBin/../../examples/try.sh";

# The server's whereabouts; minikafka is installed.
local $ENV{XDG_STATE_HOME} = PostgreSQL::Test::Utils::tempdir();
local $ENV{INSTALLED} = 1;

# Runs a program with that standard input.
sub run_with
{
	my ($in, @command) = @_;
	my ($out, $err);

	IPC::Run::run(\@command, '<', \$in, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

my ($status, $out, $err) = run_with(<<'SQL', 'bash', $try);
\pset format unaligned
\pset tuples_only on
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'flights';
SELECT minikafka.send('flights', 'x', partition => 0);
SQL
is($status, 0, 'statements are read from standard input')
  or diag($out, $err);
like($out, qr/^5000\n0\n\z/m, 'the topic has the flights');

my ($uri) = $err =~ m{^  psql (postgresql://\S+)$}m;
my ($folder) = $err =~ m{ runs in (\S+)\.$}m;
ok(-d $folder, 'the greeting names the folder');
ok($uri, 'and the connection string');

my ($export) = $err =~ /^  (export PGHOST=.*)$/m;
ok($export, 'and the variables of libpq');

# what the greeting proposes to type
my ($proposed) = $err =~ /Try:\n(.*)\nConnect/s;
($status, $out, $err) = run_with($proposed, 'bash', $try);
is($status, 0, 'the statements of the greeting run, on the server that is there')
  or diag($out, $err);
like($out, qr/^ flights \| +0 \| +0 \| +\d+ \| +5 \|/m, 'and consume');
like($err, qr/\Q$uri\E/, 'the connection string stays the same');

my $count =
  q{SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'flights'};
($status, $out, $err) = run_with('', 'psql', '-XAt', '-c', $count, $uri);
is($out, "5002\n", 'a client connects with it')
  or diag($err);
($status, $out, $err) = run_with('', 'bash', '-c', "$export; psql -XAt -c \"$count\"");
is($out, "5002\n", 'or by the variables')
  or diag($err);
($status) = run_with('', 'psql', '-Xw', '-c', 'SELECT', $uri =~ s/:\w+@/:wrong@/r);
isnt($status, 0, 'and with no other password');

($status, $out, $err) = run_with('SELECT 1/0;', 'bash', $try);
is($status, 3, 'an error is told by the exit status');

($status, $out, $err) = run_with('', 'bash', $try, 'stop');
is($status, 0, 'it stops');
like($err, qr/minikafka stays installed/, 'the message says what stays');
ok(!-e $folder, 'the folder is gone');
($status) = run_with('', 'psql', '-Xw', '-c', 'SELECT', $uri);
isnt($status, 0, 'the server too');
($status, $out, $err) = run_with('', 'bash', $try, 'stop');
like($err, qr/no server runs.*\Q$ENV{XDG_STATE_HOME}\E/,
	'there is nothing more to stop, and the message names the file that says so');

done_testing();

END
{
	my $result = $?;

	system("bash '$try' stop >/dev/null 2>&1");
	$? = $result;
}
