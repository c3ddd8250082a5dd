# The programs of examples/drivers and what doc/drivers.md shows of them: each
# produces and consumes, alone and in a group that it shares with the others,
# and each record has its effect once whatever happens.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my $root    = "$FindBin::RealBin/../..";
my $folder  = "$root/examples/drivers";
my $built   = PostgreSQL::Test::Utils::tempdir();
my $python  = '/usr/bin/python3';    # the distribution's, as its modules are
my $jar     = '/usr/share/java/postgresql.jar';
my $records = 12;

$ENV{NODE_PATH} = join ':', grep { defined } $ENV{NODE_PATH}, '/usr/share/nodejs';

# ---------------------------------------------------------------------------
# The document shows the programs' own lines.

my %shown;
my ($program, @block);

for (split /^/, slurp_file("$root/doc/drivers.md"))
{
	if (/^<!-- from (\S+) -->$/)
	{
		$program = $1;
	}
	elsif (defined $program && /^```/)
	{
		if (@block)
		{
			$shown{$program} .= join '', @block[ 1 .. $#block ];
			like(
				slurp_file("$root/$program"),
				qr/\Q@{[ join '', @block[ 1 .. $#block ] ]}\E/,
				"the document shows $program, at: $block[1]");
			undef $program;
			@block = ();
			next;
		}
		@block = ($_);
	}
	elsif (@block)
	{
		push @block, $_;
	}
}
is_deeply(
	[ sort keys %shown ],
	[
		sort map { s{^\Q$root\E/}{}r } glob("$folder/[Pp]urchases_*"),
		"$folder/Purchases.java",
		map { "$root/examples/share/$_" } qw(worker.py worker_psycopg2.py worker.js Worker.java worker.go)
	],
	'the document shows each program');

# ---------------------------------------------------------------------------
# The drivers that are here

# build(COMMAND ...): false if it fails
sub build
{
	my (@command) = @_;
	my $log = '';

	return 1
	  if eval {
		IPC::Run::run(\@command, '<', \undef, '>&', \$log, init => sub {
			$ENV{GO111MODULE} = 'off';
			$ENV{GOPATH}      = '/usr/share/gocode';
			$ENV{GOCACHE} ||= "$built/gocache";
		});
	  };
	diag("could not build: @command\n$log");
	return 0;
}

my %all = (
	psql => sub { 1 },
	psycopg2 => sub { works($python, '-c', 'import psycopg2') },
	psycopg3 => sub { works($python, '-c', 'import psycopg') },
	asyncpg  => sub { works($python, '-c', 'import asyncpg') },
	pg       => sub { works('node', '-e', 'require("pg")') },
	postgresjs => sub { works('node', '-e', 'require("postgres")') },
	libpq      => sub {
		my ($include, $lib) =
		  map { chomp(my $dir = `pg_config $_`); $dir } qw(--includedir --libdir);
		works('cc', '--version')
		  && build('cc', "-I$include", "-L$lib", "-Wl,-rpath,$lib",
			"$folder/purchases_libpq.c", '-lpq', '-o', "$built/purchases_libpq");
	},
	pgx => sub {
		works('go', 'version')
		  && -d '/usr/share/gocode/src/github.com/jackc/pgx/v4'
		  && build('go', 'build', '-o', "$built/purchases_pgx",
			"$folder/purchases_pgx.go");
	},
	jdbc => sub {
		works('javac', '-version')
		  && -e $jar
		  && build('javac', '-d', $built, "$folder/Purchases.java");
	});
my %commands = (
	psql       => [ 'bash', "$folder/purchases.sh" ],
	psycopg2   => [ $python, "$folder/purchases_psycopg2.py" ],
	psycopg3   => [ $python, "$folder/purchases_psycopg3.py" ],
	asyncpg    => [ $python, "$folder/purchases_asyncpg.py" ],
	pg         => [ 'node', "$folder/purchases_pg.js" ],
	postgresjs => [ 'node', "$folder/purchases_postgresjs.js" ],
	libpq      => ["$built/purchases_libpq"],
	pgx        => ["$built/purchases_pgx"],
	jdbc       => [ 'java', '-Xshare:auto', '-cp', "$built:$jar", 'Purchases' ]);
my %drivers;

for my $name (sort keys %all)
{
  SKIP:
	{
		skip "driver $name: it is not installed", 1 unless $all{$name}->();
		pass("driver $name is here");
		$drivers{$name} = $commands{$name};
	}
}

my $n = keys %drivers;

# JDBC knows no Unix-domain sockets.
my $node = new_node('primary', "listen_addresses = '127.0.0.1'");

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

# Starts one program of each driver; %s in an argument stands for the driver's
# name.  Producers and consumers connect as different roles.
sub start_all
{
	my (@arguments) = @_;
	my %environment = (
		PGDATABASE => 'postgres',
		PGHOST     => '127.0.0.1',
		PGUSER     => $arguments[0] eq 'produce' ? 'shop' : 'billing');

	return {
		map {
			my $name = $_;
			$name => start($node, \%environment, @{ $drivers{$name} },
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
			q{SELECT group_id, customer, purchases, amount FROM customer_total EXCEPT
			SELECT group_id, customer, count(*), sum(amount)
			FROM purchase, (SELECT DISTINCT group_id FROM customer_total) g GROUP BY 1, 2}),
		'', $name);
	return;
}

# ---------------------------------------------------------------------------
# Produce and consume

value(slurp_file("$folder/$_")) for qw(setup.sql purchases.sql);
$node->safe_psql('postgres', 'CREATE DATABASE another');
$node->safe_psql('another', slurp_file("$folder/setup.sql"));
pass('setup.sql runs where its roles exist');

end_ok(start_all('produce', $records), 'produces');
is(value('SELECT count(*) FROM purchase'), $records * $n, 'all rows are there');
is( value(
		q{SELECT count(*) FROM purchase p JOIN minikafka_topics.purchases t
		ON (convert_from(value, 'UTF8')::jsonb->>'id')::bigint = p.id
			AND convert_from(key, 'UTF8') = p.customer
			AND (convert_from(value, 'UTF8')::jsonb->>'amount')::numeric = p.amount}),
	$records * $n,
	'each row has its event');
is(value(q{SELECT sum(end_offset) FROM minikafka.partitions}),
	$records * $n, 'and there are no other events');

end_ok(start_all('consume', 'alone %s', 'worker', $records * $n),
	'consumes alone');
counted_ok('each group has counted all');

# All share a group, while others produce.
my $consumers = start_all('consume', 'shared', 'worker %s', 2 * $records * $n);
wait_for("SELECT members = $n FROM minikafka.groups WHERE group_id = 'shared'");
end_ok(start_all('produce', $records), 'produces while others consume');
end_ok($consumers, 'has its share of a group');
end_ok(start_all('consume', 'alone %s', 'worker', 2 * $records * $n),
	'comes back');
counted_ok('each purchase was counted once');
is(value('SELECT sum(members) FROM minikafka.groups'), 0, 'all have left');

# ---------------------------------------------------------------------------
# Errors that a consumer handles

my $count = 2 * $records * $n;

sub buy
{
	value(q{WITH new AS (
			INSERT INTO purchase (customer, amount)
			SELECT 'customer 0', i FROM generate_series(1, 5) i RETURNING *)
		SELECT minikafka.send('purchases', to_jsonb(new), key => customer) FROM new});
	$count += 5;
	return;
}

# Locks the rows of customer 0 in some groups, which stops consumers in the
# middle of a batch; returns the session that does.
sub hold
{
	my ($groups) = @_;
	my $holder = new_session($node);

	ask($holder,
		qq{BEGIN; SELECT FROM customer_total WHERE customer = 'customer 0' AND group_id LIKE '$groups' FOR UPDATE}
	);
	return $holder;
}

# Waits until a consumer of each driver is stopped so.
sub wait_until_held
{
	my ($holder) = @_;
	my $pid = ask($holder, 'SELECT pg_backend_pid()');

	wait_for(qq{SELECT count(*) = $n FROM pg_stat_activity
		WHERE $pid = ANY (pg_blocking_pids(pid))});
	return;
}

my $holder = hold('alone %');
$consumers = start_all('consume', 'alone %s', 'worker', $count + 10);
buy();
wait_until_held($holder);
# Another session polls for each member, and seeks back, so that no record is skipped.
value(
	q{BEGIN;
	SELECT minikafka.poll(group_id, member_id) FROM minikafka.group_members;
	SELECT minikafka.seek(group_id, m.member_id, topic, partition, o."offset")
	FROM minikafka.group_members m JOIN minikafka.group_offsets o USING (group_id);
	COMMIT});
ask($holder, 'ROLLBACK');
all_say($consumers, qr/^MK101: goes on/m);

value(q{SELECT minikafka.leave_group(group_id, member_id) FROM minikafka.group_members});
all_say($consumers, qr/^MK025: goes on/m);
wait_for(qq{SELECT count(*) = $n FROM (SELECT FROM customer_total WHERE group_id LIKE 'alone %'
	GROUP BY group_id HAVING sum(purchases) = $count) c});

my $others = start_all('consume', 'alone %s', 'worker', $count + 5);
all_say($consumers, qr/^another process has taken over as worker/m);
for (sort keys %$consumers)
{
	isnt(ended($consumers->{$_}), 0, "$_ stops");
}
buy();
end_ok($others, 'has taken over');
value(q{DELETE FROM customer_total WHERE group_id = 'shared'});
counted_ok('each purchase was counted once');

# ---------------------------------------------------------------------------
# Two consumers of each driver: one dies in a batch, and one transaction is
# rolled back.

for (keys %drivers)
{
	value(qq{INSERT INTO customer_total VALUES ('faults $_', 'customer 0', 0, 0)});
}
$count += $records * $n;
$holder = hold('faults %');
$consumers = start_all('consume', 'faults %s', 'worker a', $count);
wait_until_held($holder);

# batches of other partitions may come first
my $counted = q{SELECT sum(purchases) FROM customer_total WHERE group_id LIKE 'faults %'};
my $before  = value($counted);

for (keys %$consumers)
{
	my $run = $consumers->{$_}{run};

	# a signal would end bash only, not psql
	if ($_ eq 'psql')
	{
		value(
			q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE query LIKE 'CALL consume(''faults psql''%'});
	}
	else
	{
		$run->signal('KILL');
	}
	eval { $run->finish };
	isnt($?, 0, "$_ dies in a batch");
}
ask($holder, 'ROLLBACK');
wait_for(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'billing'});
is(value($counted), $before,
	'the batch of a consumer that dies before COMMIT has no effect');

# From here on the third row of each group fails, once.
value(
	q{CREATE FUNCTION fail_once() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
	BEGIN
		IF nextval(format('%I', 'fault_' || NEW.group_id)::regclass) = 3 THEN
			RAISE 'made to fail' USING ERRCODE = '40001';
		END IF;
		RETURN NEW;
	END $$;
	CREATE TRIGGER fail_once BEFORE INSERT ON customer_total FOR EACH ROW
		WHEN (NEW.group_id LIKE 'faults %') EXECUTE FUNCTION fail_once();}
);
value(qq{CREATE SEQUENCE "fault_faults $_"}) for keys %drivers;
$consumers = start_all('consume', 'faults %s', 'worker a', $count);
$others = start_all('consume', 'faults %s', 'worker b', $count);
wait_for(qq{SELECT count(*) = $n FROM minikafka.groups WHERE group_id LIKE 'faults %' AND members = 2});
end_ok(start_all('produce', $records), 'produces');
end_ok($consumers, 'worker a ends');
end_ok($others, 'worker b ends');
for (sort keys %drivers)
{
	like($consumers->{$_}{err} . $others->{$_}{err},
		qr/^40001: goes on/m, "$_: a transaction was rolled back");
}
value(q{DELETE FROM customer_total WHERE group_id LIKE 'alone %'});
counted_ok('each purchase was counted once');

# A value that is not JSON stops its partition, and not the program.
value(
	q{SELECT minikafka.send('purchases', 'oops',
		partition => (minikafka.partition_for_key('purchases', 'customer 0') + 1) % 6)});
$consumers = start_all('consume', 'oops %s', 'worker', $count + 5);
all_say($consumers, qr/^22P02: goes on/m);
buy();
end_ok($consumers, 'goes on with the other partitions');
value(q{DELETE FROM customer_total WHERE group_id LIKE 'faults %'});
counted_ok('each purchase was counted once');

# ---------------------------------------------------------------------------
# What the document says of each driver's types: a short program, and its lines

my %said = (
	pg => [
		'node', '-e', q~
const { Client } = require('pg')
async function main () {
  const client = new Client()
  await client.connect()
  const sent = await client.query('SELECT minikafka.send_many($1, $2, $3) AS n', ['said.pg', ['a', 'b'], ['k', 'l']])
  console.log('sent', sent.rows[0].n)
  await client.query('SELECT minikafka.send($1, $2, headers => $3)', ['said.pg', [1, 2], { attempts: 2 }])
  await client.query('SELECT minikafka.send($1, $2::jsonb)', ['said.pg', JSON.stringify([1, 2])])
  const { rows } = await client.query('SELECT "offset", value, headers FROM minikafka.fetch_text($1, 0, 0)', ['said.pg'])
  console.log(rows[2].offset + 1, rows[2].value, JSON.stringify(rows[2].headers))
  console.log(rows[3].value)
  const json = [[1, 2], { a: [1] }].map(value => JSON.stringify(value))
  await client.query('SELECT minikafka.send_many_json($1, $2, $3, $4)', ['said.pg', json, ['k', 'l'], [{ a: 1 }, { a: 2 }]])
  await client.query('SELECT minikafka.send_many_bytes($1, $2, $3)', ['said.pg', [Buffer.from('x')], [Buffer.from('k')]])
  const many = await client.query('SELECT value, headers FROM minikafka.fetch_text($1, 0, 4)', ['said.pg'])
  console.log(many.rows.map(({ value }) => value).join(' '), JSON.stringify(many.rows[1].headers))
  await client.query('SELECT minikafka.send_many_json($1, $2)', ['said.pg', [[1, 2]]])
    .catch(error => console.log(error.code))
  await client.end()
}
main()~,
		qq(sent 2\n21 {"1","2"} {"attempts":"2"}\n[1, 2]\n[1, 2] {"a": [1]} x {"a":"2"}\n22023\n)
	],
	postgresjs => [
		'node', '-e', q~
const sql = require('postgres')()
async function main () {
  const [{ n }] = await sql`SELECT minikafka.send_many('said.postgresjs', ${['a', 'b']}, ${['k', 'l']}) AS n`
  console.log('sent', n)
  await sql`SELECT minikafka.send('said.postgresjs', ${sql.json([1, 2])})`
  const rows = await sql`SELECT "offset", value FROM minikafka.fetch_json('said.postgresjs', 0, 2)`
  console.log(rows[0].offset + 1, JSON.stringify(rows[0].value))
  await sql`SELECT minikafka.send('said.postgresjs', ${JSON.stringify({ a: 1 })}::jsonb)`
  await sql`SELECT minikafka.send_many_json('said.postgresjs', ${[{ a: 1 }, { a: [1] }]}, ${['k', 'l']})`
  await sql`SELECT minikafka.send_many_bytes('said.postgresjs', ${sql.array([Buffer.from('x')], 1001)})`
  const many = await sql`SELECT value FROM minikafka.fetch_text('said.postgresjs', 0, 3)`
  console.log(many.map(({ value }) => value).join(' '))
  await sql.end()
}
main()~, qq(sent 2\n21 [1,2]\n"{\\"a\\":1}" {"a": 1} {"a": [1]} x\n) ],
	psycopg2 => [
		$python, '-c', q~
import psycopg2
connection = psycopg2.connect("")
cursor = connection.cursor()
cursor.execute("SELECT minikafka.send_many(%s, %s, %s)", ("said.psycopg2", ["a", "b"], ["k", "l"]))
print("sent", cursor.fetchone()[0])
connection.close()
connection = psycopg2.connect("")
with connection, connection.cursor() as cursor:
    cursor.execute("SELECT (minikafka.offsets('said.psycopg2', 0)).end_offset")
    print(cursor.fetchone()[0])
print(connection.closed)
with connection, connection.cursor() as cursor:
    cursor.execute("SELECT minikafka.send_many(%s, %s, %s, %s::jsonb[])", ("said.psycopg2", ["a"], ["k"], ['{"a": 1}']))
    cursor.execute("SELECT minikafka.send_many_json(%s, %s::jsonb[], %s)", ("said.psycopg2", ['{"a": 1}'], ["k"]))
    cursor.execute("SELECT minikafka.send_many_bytes(%s, %s, %s)", ("said.psycopg2", [b"x"], [b"k"]))
with connection, connection.cursor() as cursor:
    cursor.execute("SELECT value FROM minikafka.fetch('said.psycopg2', 0, 0)")
    print(*(bytes(value).decode() for value, in cursor))
for call, arguments in (("send_many(%s, %s, %s, %s)", (["a"], ["k"], ['{"a": 1}'])),
                        ("send_many_json(%s, %s, %s)", (['{"a": 1}'], ["k"])),
                        ("send_many_bytes(%s, %s, %s)", ([b"x"], ["k"])),
                        ("send(%s, %s, key => %s)", ("v", 5))):
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT minikafka." + call, ("said.psycopg2", *arguments))
    except psycopg2.Error as error:
        print(error.pgcode)
~, qq(sent 2\n0\n0\na {"a": 1} x\n42883\n42883\n42883\n42883\n) ],
	psycopg3 => [
		$python, '-c', q~
import psycopg
with psycopg.connect(autocommit=True) as connection:
    print("sent", connection.execute("SELECT minikafka.send_many(%s, %s, %s)",
        ("said.psycopg3", ["a", "b"], ["k", "l"])).fetchone()[0])
    try:
        connection.execute("SELECT minikafka.send(%s, %s)", ("said.psycopg3", {"a": 1}))
    except psycopg.ProgrammingError as error:
        print(error)
    connection.execute("SELECT minikafka.send_many_json(%s, %s, %s)",
        ("said.psycopg3", ['{"a": 1}'], ["k"]))
    connection.execute("SELECT minikafka.send_many_json(%s, %s, %s, %s)",
        ("said.psycopg3", [psycopg.types.json.Jsonb([1])], ["k"], ['{"a": 1}']))
    connection.execute("SELECT minikafka.send_many_bytes(%s, %s, %s)", ("said.psycopg3", [b"x"], [b"k"]))
    print(*(value for value, in connection.execute("SELECT value FROM minikafka.fetch_text('said.psycopg3', 0, 2)")))
~, qr/^sent 2\ncannot adapt type 'dict'.*^\{"a": 1\} \[1\] x\n/ms ],
	asyncpg => [
		$python, '-c', q~
import asyncio, asyncpg
async def main():
    connection = await asyncpg.connect()
    print("sent", await connection.fetchval("SELECT minikafka.send_many($1, $2, $3)",
        "said.asyncpg", ["a", "b"], ["k", "l"]))
    await connection.execute("SELECT minikafka.send($1, $2::jsonb)", "said.asyncpg", '{"a": 1}')
    print(type(await connection.fetchval("SELECT value FROM minikafka.fetch_json($1, 0, 2)", "said.asyncpg")).__name__)
    for sql, argument in (("SELECT minikafka.poll('g', 'm', max_wait => $1)", "1s"),
                          ("SELECT minikafka.poll('g', 'm', max_wait => $1::interval)", "1s"),
                          ("SELECT minikafka.send('said.asyncpg', 'v', key => $1)", 5)):
        try:
            await connection.execute(sql, argument)
        except asyncpg.DataError as error:
            print("DataError")
asyncio.run(main())
~, qq(sent 2\nstr\nDataError\nDataError\nDataError\n) ],
	sqlalchemy => [
		$python, '-c', q~
from sqlalchemy import create_engine, text
engine = create_engine("postgresql://", future=True)
send = text("SELECT minikafka.send('said.sqlalchemy', CAST(:value AS jsonb))")
end = text("SELECT (minikafka.offsets('said.sqlalchemy', 0)).end_offset")
with engine.connect() as connection:
    connection.execute(send, {"value": "1"})
with engine.begin() as connection:
    print(connection.execute(end).scalar())
    connection.execute(send, {"value": "1"})
with engine.connect() as connection:
    print(connection.execute(end).scalar())
~, qq(0\n1\n) ]);
$drivers{sqlalchemy} = 1
  if works($python, '-c', 'import sqlalchemy, psycopg2');
for my $name (sort keys %said)
{
  SKIP:
	{
		skip "driver $name: it is not installed", 1 unless $drivers{$name};
		my $expected = pop @{ $said{$name} };

		value("SELECT minikafka.create_topic('said.$name', 1)");
		my $program = start($node, { PGDATABASE => 'postgres' }, @{ $said{$name} });

		ended($program);
		if (ref $expected) { like($program->{out}, $expected, "types of $name"); }
		else { is($program->{out}, $expected, "types of $name"); }
		diag($program->{err}) if $program->{err} ne '';
	}
}

# The select list is computed for rows that are skipped, too.
value(q{CREATE TABLE job AS SELECT i AS id, 'job ' || i AS payload FROM generate_series(1, 5) i;
	SELECT minikafka.create_topic('jobs', 1)});
$holder = new_session($node);
ask($holder, 'BEGIN; SELECT FROM job WHERE id = 1 FOR UPDATE');
is( value(
		q{SELECT count(*) FROM (SELECT minikafka.send('jobs', payload) FROM job FOR UPDATE SKIP LOCKED) s}
	),
	4,
	'four rows are locked');
is(value(q{SELECT end_offset FROM minikafka.offsets('jobs', 0)}),
	5, 'and five are sent');
my ($lock_first) =
  slurp_file("$root/doc/drivers.md") =~ /^```sql\n(WITH locked.*?)^```/ms;
value($lock_first);
is(value(q{SELECT end_offset FROM minikafka.offsets('jobs', 0)}),
	9, 'the statement of the document sends those that it locks');
ask($holder, 'ROLLBACK');

done_testing();
