# No definition that an owner gives to the tables of a topic hurts another role.
#
# The list at the end of this file goes through the grammar of ALTER TABLE,
# ALTER INDEX and what else defines something on a table.  Each form is run on a
# fresh topic: on the topic's table, on a partition's table, on a segment; as
# the topic's owner, and where PostgreSQL refuses that, as superuser.  Then
# another role sends, reads, polls and commits, and the owner maintains.
#
# The list says what comes of it on PostgreSQL 15, see outcome(): the versions
# differ in what they refuse.  What must hold whatever comes is checked for each
# form, on each version:
#
#   - nothing crashes, and no error is an internal one, or one of the
#     extension's own DDL;
#   - no row is in a table that the table's definition rules out;
#   - what compiled code reads from the table is what fetch() returns;
#   - heaps and indexes are sound;
#   - what is dumped is restored;
#   - a topic of another role goes on meanwhile, and is maintained.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Forms share a few databases, which are done side by side.
my $DATABASES = 6;

# A client does a hundred forms.
$MinikafkaTest::TIMEOUT *= 4;

my $node = new_node(
	'main',
	'log_error_verbosity = verbose',
	'max_locks_per_transaction = 512',
	'allow_in_place_tablespaces = on',
	'autovacuum_naptime = 5min');
my $major = $node->pg_version->major;

sub sql { return $node->safe_psql($_[0], $_[1]); }

# ---------------------------------------------------------------------------
# The forms, each as { n, targets, sql, super, expected }; a case is a form on
# one target.

my %TARGETS = (topic => 't', partition => 'p', segment => 's');
my @cases;
# What came of each: states of the steps by the number of the case
my %got;

while (my $line = <DATA>)
{
	chomp $line;
	next if $line =~ /^\s*(#|$)/;
	if ($line =~ /^\t(\w+): (.*)$/)
	{
		push @cases, { %{ $cases[-1] } } if defined $cases[-1]{target};
		$cases[-1]{target} = $1;
		$cases[-1]{expected} = $2;
		die "no target \"$1\"" unless exists $TARGETS{$1};
	}
	else
	{
		pop @cases if @cases && !defined $cases[-1]{target};
		my $since = $line =~ s/^(\d+)\+ // ? $1 : 0;
		push @cases, { sql => $line, since => $since };
	}
}
@cases = grep { $_->{since} <= $major } @cases;
# PostgreSQL itself fails an assertion where a subtransaction is rolled back
# inside of a COMMIT, as of a deferred trigger.
@cases = grep { $_->{sql} !~ /own\.subtransactions/ } @cases
  if $node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on';
$cases[$_]{n} = $_ for 0 .. $#cases;
if (my $only = $ENV{MINIKAFKA_FORMS})
{
	@cases = grep { $_->{sql} =~ /$only/ } @cases;
}

# ---------------------------------------------------------------------------
# What each database has

sql('postgres', q{
CREATE ROLE owner;
CREATE ROLE other;
CREATE ROLE client;
CREATE ROLE witness LOGIN;
GRANT other TO owner;
CREATE TABLESPACE other_space LOCATION '';
GRANT CREATE ON TABLESPACE other_space TO owner;
CREATE DATABASE template;
});

my $amcheck = sql('template',
	q{SELECT count(*) FROM pg_available_extensions WHERE name = 'amcheck'});
my $jit = sql('template', 'SET jit = on; SELECT pg_jit_available()') eq 't';

note($amcheck ? 'with amcheck' : 'amcheck is not installed');
note($jit ? 'with compiled code' : 'no JIT compilation here');
sql('template', 'CREATE EXTENSION amcheck') if $amcheck;
sql('template', q{
CREATE EXTENSION minikafka;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics TO owner, other, client, witness;
GRANT USAGE ON SCHEMA minikafka_data TO owner, other, client;
GRANT CREATE ON SCHEMA minikafka_topics TO owner, other, witness;
GRANT EXECUTE ON PROCEDURE minikafka.maintain() TO witness;
GRANT pg_execute_server_program TO owner;
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nothing FOREIGN DATA WRAPPER nothing;
GRANT USAGE ON FOREIGN SERVER nothing TO owner;
CREATE SCHEMA own AUTHORIZATION owner;
GRANT USAGE ON SCHEMA own TO PUBLIC;
GRANT CREATE ON SCHEMA own TO other;
SELECT format('GRANT CREATE ON DATABASE %I TO owner', current_database()) \gexec

-- Code of the owner's, most of it said to be immutable and volatile at heart.
-- Values of seven bytes are what some of it fails at.
SET ROLE owner;
CREATE DOMAIN own.short AS bytea CHECK (length(VALUE) < 100);
CREATE TYPE own.row AS ("offset" bigint, ts timestamptz, partition int,
	key bytea, value bytea, headers jsonb);
CREATE TABLE own.base OF own.row;
ALTER TABLE own.base NOT OF;
CREATE TABLE own.parent (partition int PRIMARY KEY);
INSERT INTO own.parent VALUES (0), (1);
CREATE TABLE own.empty (partition int PRIMARY KEY);
CREATE FUNCTION own.raises(v bytea) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN RAISE 'raised'; END $$;
CREATE FUNCTION own.divides(v bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN RETURN 1 / (octet_length(v) - 1); END $$;
CREATE FUNCTION own.sends(v bytea) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN
	-- not where the test itself evaluates it, as superuser
	IF current_setting('hostile.checking', true) IS DISTINCT FROM 'on' THEN
		PERFORM minikafka.send('witness', 'forged', partition => 0);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION own.sets(v bytea) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN PERFORM set_config('search_path', 'own', false); RETURN true; END $$;
CREATE FUNCTION own.subtransactions(v bytea) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN RETURN true; END $$;
CREATE FUNCTION own.alters(t text, v bytea) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN EXECUTE format('ALTER TABLE %s ADD COLUMN x int', t); RETURN true; END $$;
CREATE FUNCTION own.volatile(v bytea) RETURNS boolean VOLATILE LANGUAGE sql
AS 'SELECT octet_length($1) > random() OR true';
CREATE FUNCTION own.own_sql(v bytea) RETURNS boolean IMMUTABLE LANGUAGE sql
AS 'SELECT $1 IS NULL OR octet_length($1) < 100000';
CREATE FUNCTION own.first(v bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN RETURN octet_length(v); END $$;
CREATE FUNCTION own.words(v bytea) RETURNS text IMMUTABLE LANGUAGE sql
AS $$ SELECT encode($1, 'hex') $$;
CREATE FUNCTION own.row_of(o bigint, v bytea) RETURNS own.row IMMUTABLE LANGUAGE sql
AS $$ SELECT ROW(o, NULL, 0, NULL, substr(v, 1, 10), NULL)::own.row $$;
CREATE FUNCTION own.late_raises(v bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN IF octet_length(v) = 7 THEN RAISE 'raised'; END IF; RETURN 0; END $$;
CREATE FUNCTION own.late_sends(v bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS $$ BEGIN IF octet_length(v) = 7 THEN PERFORM own.sends(v); END IF; RETURN 0; END $$;
CREATE FUNCTION own.trigger() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE 'raised'; END $$;
RESET ROLE;

CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;

-- The names of a topic's tables, and of the segment's primary key
CREATE FUNCTION hostile.names(name text, OUT topic_oid oid, OUT topic regclass,
	OUT p regclass, OUT s regclass, OUT index regclass, OUT pkey text)
LANGUAGE plpgsql AS $$
BEGIN
	topic_oid := format('minikafka_topics.%I', name)::regclass;
	topic := topic_oid;
	SELECT inhrelid INTO p FROM pg_inherits WHERE inhparent = topic;
	SELECT inhrelid INTO s FROM pg_inherits WHERE inhparent = p
		ORDER BY inhrelid LIMIT 1;
	SELECT conindid, quote_ident(conname) INTO index, pkey FROM pg_constraint
		WHERE conrelid = s AND contype = 'p';
END $$;

-- All tables of records below a topic's table
CREATE FUNCTION hostile.tables(topic oid) RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT relid FROM pg_partition_tree(topic) JOIN pg_class c ON c.oid = relid
	WHERE isleaf AND relkind = 'r' $$;

-- A digest of what fetch() returns, and of what a query reads
CREATE FUNCTION hostile.fetched(topic text) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(row("offset", ts, partition, key, value, headers)::text,
		',' ORDER BY "offset")) FROM minikafka.fetch(topic, 0, 0, 1000) $$;
CREATE FUNCTION hostile.selected(topic regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text;
BEGIN
	EXECUTE format($q$SELECT md5(string_agg(row("offset", ts, partition, key, value,
		coalesce(headers, '{}'))::text, ',' ORDER BY "offset")) FROM %s$q$, topic)
	INTO digest;
	RETURN digest;
END $$;

-- What a table's definition rules out, and a row has: of NOT VALID constraints
-- only for rows that came later than the first
CREATE FUNCTION hostile.violations(topic oid) RETURNS text
LANGUAGE plpgsql SET jit = off SET search_path = pg_catalog SET hostile.checking = on
AS $$
DECLARE
	result text := '';
	t regclass;
	what text;
	ruled_out text;
	n bigint;
BEGIN
	FOR t IN SELECT hostile.tables(topic) LOOP
		FOR what, ruled_out IN
			SELECT attname, format('num_nulls(%I) > 0', attname)
			FROM pg_attribute WHERE attrelid = t AND attnum > 0 AND attnotnull
			UNION ALL
			SELECT conname, format('NOT (%s) AND (%L OR "offset" > 0)',
				pg_get_expr(conbin, conrelid), convalidated)
			FROM pg_constraint c WHERE conrelid = t AND contype = 'c'
				-- from 18 on
				AND to_jsonb(c)->>'conenforced' IS DISTINCT FROM 'false'
			UNION ALL
			SELECT 'bound', format('NOT (%s)', pg_get_partition_constraintdef(t))
			WHERE pg_get_partition_constraintdef(t) IS NOT NULL
		LOOP
			BEGIN
				EXECUTE format('SELECT count(*) FROM ONLY %s WHERE %s', t, ruled_out)
				INTO n;
			EXCEPTION WHEN OTHERS THEN
				-- code that fails
				n := 0;
			END;
			IF n > 0 THEN
				result := result || format('%s: %s of %s; ', n, what, t);
			END IF;
		END LOOP;
	END LOOP;
	RETURN result;
END $$;

-- What is stored in all topics
CREATE FUNCTION hostile.contents() RETURNS TABLE (name text, records bigint, digest text)
LANGUAGE plpgsql AS $$
BEGIN
	FOR name IN SELECT c.oid::regclass::text FROM pg_class c
		WHERE relkind = 'p' AND NOT relispartition ORDER BY c.oid::regclass::text
	LOOP
		BEGIN
			EXECUTE format('SELECT count(*), md5(string_agg(r::text, '','' ORDER BY r::text))
				FROM %s r', name) INTO records, digest;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			-- a foreign table of nothing
			SELECT NULL, NULL INTO records, digest;
		END;
		RETURN NEXT;
	END LOOP;
END $$;

-- Sends, reads and maintains until it is told to stop
CREATE TABLE hostile.done ();
GRANT SELECT ON hostile.done TO PUBLIC;
CREATE PROCEDURE hostile.witness(INOUT rounds bigint = 0) LANGUAGE plpgsql AS $$
BEGIN
	WHILE NOT EXISTS (SELECT FROM hostile.done) LOOP
		PERFORM minikafka.send('witness', rounds::text, partition => 0);
		COMMIT;
		IF (SELECT value FROM minikafka.fetch_text('witness', 0, rounds)) <> rounds::text THEN
			RAISE 'record % is not there', rounds;
		END IF;
		IF rounds % 16 = 0 THEN
			CALL minikafka.maintain();
		END IF;
		COMMIT;
		rounds := rounds + 1;
		PERFORM pg_sleep(0.02);
	END LOOP;
END $$;
});
sql('template', q{
CREATE FUNCTION hostile.sound(topic oid) RETURNS bigint
LANGUAGE plpgsql SET hostile.checking = on AS $$
DECLARE
	t regclass;
	found bigint := 0;
BEGIN
	FOR t IN SELECT hostile.tables(topic) LOOP
		PERFORM bt_index_check(i.indexrelid, true)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE indrelid = t AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')
			AND indisvalid AND indisready AND indislive;
		found := found + (SELECT count(*) FROM verify_heapam(t, check_toast => true));
	END LOOP;
	RETURN found;
END $$;
}) if $amcheck;

# ---------------------------------------------------------------------------
# The scripts.  What they say of a case are lines "@ NUMBER STEP STATE".

my $script_as_client = <<'SQL';
SET SESSION AUTHORIZATION client;
SELECT minikafka.send(:'c', 'v', 'k', '{"h":"1"}');
\echo @ :n full :SQLSTATE
SELECT minikafka.send(:'c', 'v', partition => 0, headers => '{"h":"1"}');
\echo @ :n nokey :SQLSTATE
SELECT minikafka.send(:'c', NULL::text, 'k', '{"h":"1"}');
\echo @ :n novalue :SQLSTATE
SELECT minikafka.send(:'c', 'v', 'k');
\echo @ :n noheaders :SQLSTATE
SELECT minikafka.send(:'c', big, 'k', '{"h":"1"}') FROM hostile.big;
\echo @ :n big :SQLSTATE
SELECT minikafka.send(:'c', '7 bytes', 'k', '{"h":"1"}');
\echo @ :n seven :SQLSTATE
SELECT minikafka.append(:'c', 0, 'k', 'v', '{"h":"1"}');
\echo @ :n append :SQLSTATE
SELECT minikafka.send_many(:'c', array_agg('v'::text), array_agg('k'::text), array_agg(jsonb '{"h":"1"}'))
FROM generate_series(1, 9);
\echo @ :n many :SQLSTATE
BEGIN;
SELECT minikafka.send(:'c', 'v', 'k', '{"h":"1"}') FROM generate_series(1, 3);
SAVEPOINT s;
SELECT minikafka.append(:'c', 0, 'k', 'v', '{"h":"1"}');
ROLLBACK TO s;
SELECT minikafka.send(:'c', 'v', 'k', '{"h":"1"}');
COMMIT;
\echo @ :n block :SQLSTATE
ROLLBACK;
SELECT current_setting('search_path') = reset_val AS path
FROM pg_settings WHERE name = 'search_path' \gset
\echo @ :n path :path
SQL

my $script_reads = <<'SQL';
SET jit_above_cost = 0;
SELECT hostile.fetched(:'c') AS fetched \gset
\echo @ :n fetch :SQLSTATE
SELECT hostile.selected(:topic_oid) AS selected \gset
\echo @ :n select :SQLSTATE
SELECT :'fetched' IS NOT DISTINCT FROM :'selected' AS equal \gset
\echo @ :n equal :equal
RESET jit_above_cost;
SELECT minikafka.join_group('g' :'n', ARRAY[:'c'], 'm');
\echo @ :n join :SQLSTATE
SELECT count(*) FROM minikafka.poll('g' :'n', 'm', 1000);
\echo @ :n poll :SQLSTATE
SELECT minikafka.commit('g' :'n', 'm');
\echo @ :n commit :SQLSTATE
SET SESSION AUTHORIZATION owner;
CALL minikafka.expire(:'c');
\echo @ :n expire :SQLSTATE
SELECT count(*) AS errors FROM minikafka.check_topic(:'c') WHERE severity = 'error' \gset
\echo @ :n check :SQLSTATE
\echo @ :n errors :errors
RESET SESSION AUTHORIZATION;
SELECT hostile.violations(:topic_oid) AS violations \gset
\echo @ :n violations :violations
RESET search_path;
SQL
$script_reads =~ s/'g' :'n'/'g' || :'n'/g;
$script_reads .= <<'SQL' if $amcheck;
SELECT hostile.sound(:topic_oid) AS unsound \gset
\echo @ :n sound :SQLSTATE
\echo @ :n unsound :unsound
SQL

# The statements of a form; whether one was accepted, so that something of it is
# there, and whether one was refused for a lack of rights.
sub run_form
{
	my ($step, @statements) = @_;

	return "\\set accepted false\n\\set refused false\n"
	  . join('', map { <<"SQL" } @statements) . "\\echo @ :n $step :state\n";
$_;
\\set state :SQLSTATE
SELECT :'accepted'::boolean OR :'state' = '00000' AS accepted,
	:'refused'::boolean OR :'state' = '42501' AS refused \\gset
SQL
}

sub script_of
{
	my ($case) = @_;
	my $target = { topic => ':topic', partition => ':p', segment => ':s' }
	  ->{ $case->{target} };

	my @parts = split /; /, $case->{sql};

	return <<"SQL";
\\set n $case->{n}
\\set c c:n
\\set fetched
\\set selected
\\set equal ?
\\set errors ?
\\set violations ?
\\set unsound ?
\\echo @ :n begin
SET SESSION AUTHORIZATION owner;
SELECT minikafka.create_topic(:'c', 1, segment_records => 4);
GRANT ALL ON minikafka_topics.:c TO client;
SET SESSION AUTHORIZATION client;
SELECT minikafka.send(:'c', 'v', 'k', '{"h":"1"}');
RESET SESSION AUTHORIZATION;
SELECT * FROM hostile.names(:'c') \\gset
\\set t $target
SELECT quote_ident(relname) AS name FROM pg_class WHERE oid = :'t'::regclass \\gset
SET SESSION AUTHORIZATION owner;
@{[ run_form('ddl', @parts) ]}
RESET SESSION AUTHORIZATION;
\\if :refused
@{[ run_form('super', @parts) ]}
\\endif
\\if :accepted
SELECT coalesce((SELECT relname FROM pg_class WHERE oid = :topic_oid), :'c') AS c \\gset
\\echo @ :n name :c
$script_as_client
$script_reads
\\else
SELECT minikafka.drop_topic(:'c');
\\endif
SQL
}

# What comes of a case.  Of the form: "ok", or the SQLSTATE; "42501, as
# superuser ...".  Of sending: nothing if all works; the SQLSTATE if it is the
# same for all; else which kinds of records are refused, and how.  Then what
# else fails, and "reported" if check_topic() tells of an error.
my @SENDS = qw(full nokey novalue noheaders big seven append many block);
my @READS = qw(fetch select join poll commit expire check);

sub outcome
{
	my ($got) = @_;
	my $result = $got->{ddl} eq '00000' ? 'ok' : $got->{ddl};
	my ($differ, %states) = (0);

	if (defined $got->{super})
	{
		$result .= ', as superuser ' . ($got->{super} eq '00000' ? 'ok' : $got->{super});
	}
	return $result unless exists $got->{full};
	$states{$_}++ for map { $got->{$_} // 'nothing' } @SENDS;
	if (keys %states == 1)
	{
		my ($state) = keys %states;
		$result .= "; send $state" unless $state eq '00000';
	}
	else
	{
		my %kinds;
		for (@SENDS)
		{
			my $state = $got->{$_} // 'nothing';
			push @{ $kinds{$state} }, $_ unless $state eq '00000';
		}
		$result .= "; @{$kinds{$_}} $_" for sort keys %kinds;
	}
	my %reads;
	for (@READS)
	{
		my $state = $got->{$_} // 'nothing';
		push @{ $reads{$state} }, $_ unless $state eq '00000';
	}
	$result .= "; @{$reads{$_}} $_" for sort keys %reads;
	$result .= '; reported' if ($got->{errors} // '') =~ /^[1-9]/;
	return $result;
}

# What a client may get: not an internal error, nor one of DDL that is not its own.
my $CLEAN = qr/^(?:00000|55000|23502|23514|23505|23P01|54000|0A000|42501|42704|22012|P0001|MK001|MK025)$/;

# What must not be, whatever the form is; '' if all is well.
sub faults
{
	my ($case) = @_;
	my $got = $got{ $case->{n} } // {};
	my @faults;

	# a form that PostgreSQL refuses
	return '' unless exists $got->{full};
	for my $step (@SENDS, @READS)
	{
		my $state = $got->{$step} // 'nothing';

		# a column may have another name, or the table be gone
		next if $step eq 'select' && $state =~ /^42/;
		push @faults, "$step $state" unless $state =~ $CLEAN;
	}
	# records in a partition that was taken away are still fetched
	push @faults, 'fetch() and SELECT differ'
	  if $case->{sql} !~ /DETACH PARTITION :p/
	  && $got->{fetch} && $got->{fetch} eq '00000'
	  && $got->{select} && $got->{select} eq '00000'
	  && $got->{equal} ne 't';
	push @faults, "violations: $got->{violations}"
	  if ($got->{violations} // '?') ne '';
	# amcheck refuses other access methods
	push @faults, "unsound: $got->{sound} $got->{unsound}"
	  if $amcheck && $got->{sound} ne '0A000' && "$got->{sound} $got->{unsound}" ne '00000 0';
	push @faults, 'the settings of the client were changed' if ($got->{path} // '') ne 't';
	return join '; ', @faults;
}

# ---------------------------------------------------------------------------
# Running

my @databases = map { "forms$_" } 1 .. $DATABASES;
my (%cases_of, %psql, %witness);

push @{ $cases_of{ $databases[ $_ % $DATABASES ] } }, $cases[$_] for 0 .. $#cases;
@databases = grep { $cases_of{$_} } @databases;

# psql that reads a script; its output is all in one
sub start_script
{
	my ($database, $name, $script) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$database.$name.sql";

	unlink $file;
	append_to_file($file, $script);
	return start_in($node, 'psql', '-XAtq', '-v', 'VERBOSITY=verbose',
		'-d', $node->connstr($database), '-f', $file);
}

sub read_steps
{
	my ($out) = @_;
	my $last = '';

	while ($out =~ /^@ (\d+) (\w+) ?(.*)$/mg)
	{
		$got{$1}{$2} = $3;
		$last = $1;
	}
	return $last;
}

sub restored { return "$_[0]_restored"; }

for my $database (@databases)
{
	sql('postgres', "CREATE DATABASE $database TEMPLATE template");
	sql($database, qq{
GRANT CREATE ON DATABASE $database TO owner;
SET ROLE witness;
SELECT minikafka.create_topic('witness', 1, segment_records => 50);
RESET ROLE;
CREATE TABLE hostile.big AS SELECT string_agg(md5(i::text), '') AS big
	FROM generate_series(1, 300) i;
GRANT SELECT ON hostile.big TO PUBLIC;
});
}
for my $database (@databases)
{
	$witness{$database} = start_in($node, 'psql', '-XAtq',
		'-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-c', "SET client_min_messages = error",
		'-c', "SET lock_timeout = '5min'", '-c', 'SET ROLE witness',
		'-c', 'SET statement_timeout = 0', '-c', 'CALL hostile.witness()');
	$psql{$database} = start_script($database, 'forms', <<'SQL'
SET client_min_messages = error;
SET statement_timeout = '20min';
SET lock_timeout = '5min';
SQL
		. join '', map { script_of($_) } @{ $cases_of{$database} });
}
for my $database (@databases)
{
	my $run = $psql{$database}{run};

	$run->finish;
	my $last = read_steps($psql{$database}{out});
	ok($run->result(0) == 0, "$database: the server lives")
	  or diag("the last form was: "
		  . join('', map { "$_->{sql} on $_->{target}" }
			  grep { $_->{n} eq $last } @cases));
	sql($database, 'INSERT INTO hostile.done DEFAULT VALUES');
	my $rounds = finish_ok($witness{$database},
		"$database: another topic goes on meanwhile");
	cmp_ok(($rounds =~ /(\d+)/)[0] // 0, '>', 0, "$database: and did something");
}
for my $case (@cases)
{
	my $got = $got{ $case->{n} } // {};
	my $name = "$case->{sql} ($case->{target})";
	my $outcome = defined $got->{ddl} ? outcome($got) : 'nothing';
	my $faults = faults($case);

	is($faults, '', $name);
	# "*": minor releases differ
	if ($major == 15 && $case->{expected} ne '*')
	{
		is($outcome, $case->{expected}, "$name: outcome");
	}
	elsif ($outcome ne $case->{expected})
	{
		note("$name: $outcome");
	}
}

# ---------------------------------------------------------------------------
# A dump of all that was accepted is restored, and goes on there

# the owner's code in constraints does not send now
$ENV{PGOPTIONS} = '-c hostile.checking=on';
my %restore;

for my $database (@databases)
{
	sql('postgres', 'CREATE DATABASE ' . restored($database));
	$restore{$database} = start_in($node, 'sh', '-c',
		'pg_dump -Fc -d "$0" -f "$2" && pg_restore -d "$1" "$2"',
		$node->connstr($database), $node->connstr(restored($database)),
		"$PostgreSQL::Test::Utils::tmp_check/$database.dump");
}
for my $database (@databases)
{
	finish_ok($restore{$database}, "$database: dump and restore");
	is( sql(restored($database), 'SELECT * FROM hostile.contents()'),
		sql($database, 'SELECT * FROM hostile.contents()'),
		"$database: all is there");
}
delete $ENV{PGOPTIONS};

# There, and here after maintenance that takes all that is old, a client that
# could send all can send again.  A topic can always be dropped.

sub script_later
{
	my ($case) = @_;
	my $name = $got{ $case->{n} }{name};

	return <<"SQL";
SET SESSION AUTHORIZATION client;
SELECT minikafka.send('$name', 'v', 'k', '{"h":"1"}');
\\echo @ $case->{n} later :SQLSTATE
RESET SESSION AUTHORIZATION;
SELECT minikafka.drop_topic('$name');
\\echo @ $case->{n} drop :SQLSTATE
SQL
}

for my $where ('restored', 'maintained')
{
	my %run;

	for my $database (@databases)
	{
		my $in = $where eq 'restored' ? restored($database) : $database;

		$run{$database} = start_script($in, 'later',
			"SET client_min_messages = error;\n"
			. ($where eq 'restored' ? '' : <<'SQL')
SELECT format('SELECT minikafka.set_topic_option(%L, %L, %L)', topic, o, v)
FROM minikafka.topics, (VALUES ('retention', '1 hour'),
	('cleanup_policy', 'compact,delete')) options (o, v) ORDER BY topic \gexec
SET minikafka.clock_offset = 7200;
CALL minikafka.maintain();
\echo @ 0 maintain :SQLSTATE
SQL
			. join '', map { script_later($_) }
			grep { defined $got{ $_->{n} }{name} } @{ $cases_of{$database} });
	}
	for my $database (@databases)
	{
		my $out;

		$run{$database}{run}->finish;
		$out = $run{$database}{out};
		ok($run{$database}{run}->result(0) == 0, "$database: $where: the server lives")
		  or diag($run{$database}{err});
		read_steps($out);
		is($got{0}{maintain}, '00000', "$database: maintain()")
		  if $where eq 'maintained';
		is( join("\n",
				map { "$_->{sql} ($_->{target}): $got{$_->{n}}{later}, $got{$_->{n}}{drop}" }
				  grep { later_is_wrong($got{ $_->{n} }) } @{ $cases_of{$database} }),
			'', "$database: $where: topics go on, and can be dropped");
	}
}

sub later_is_wrong
{
	my ($got) = @_;

	return 0 unless defined $got->{name};
	return 1 unless defined $got->{later} && $got->{later} =~ $CLEAN;
	# what depends on it is in the way, or it has left the schema
	return 1 unless $got->{drop} =~ /^(?:00000|2BP01|42704)$/;
	return $got->{later} ne '00000' && !grep { $got->{$_} ne '00000' } @SENDS;
}

# but for those of forms
my $internal = grep { /^XX/ } map { ($_->{ddl} // '', $_->{super} // '') } values %got;
is(scalar(split /\n/, server_errors($node)), $internal, 'no internal error');

done_testing();

__DATA__
# columns
ALTER TABLE :t ADD COLUMN x int
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42809
	segment: 42809
ALTER TABLE :t ADD COLUMN x int DEFAULT 7
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42809
	segment: 42809
ALTER TABLE :t ADD COLUMN x float8 NOT NULL DEFAULT random()
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42809
	segment: 42809
ALTER TABLE :t ADD COLUMN x int GENERATED ALWAYS AS (partition + 1) STORED
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42809
	segment: 42809
ALTER TABLE :t ADD COLUMN x bigint GENERATED BY DEFAULT AS IDENTITY
	topic: 42P16
	partition: 42809
	segment: 42809
ALTER TABLE :t ADD COLUMN x bytea COLLATE "C"
	topic: 42804
ALTER TABLE :t ADD COLUMN IF NOT EXISTS key bytea
	topic: ok
	partition: 42809
	segment: 42809
ALTER TABLE ONLY :t ADD COLUMN x int
	topic: 42P16
	partition: 42809
	segment: 42809
ALTER TABLE :t DROP COLUMN headers
	topic: ok; send 55000; select 42703; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t DROP COLUMN IF EXISTS none
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ADD COLUMN x int, DROP COLUMN IF EXISTS none, ADD COLUMN y int; ALTER TABLE :t DROP COLUMN x, DROP COLUMN y
	topic: ok
ALTER TABLE :t ADD COLUMN x int NOT NULL DEFAULT 7; ALTER TABLE :t DROP COLUMN x
	topic: ok
ALTER TABLE :t ADD COLUMN x int GENERATED ALWAYS AS (partition + 1) STORED; ALTER TABLE :t DROP COLUMN x
	topic: ok
ALTER TABLE :t DROP COLUMN headers; ALTER TABLE :t ADD COLUMN headers jsonb
	topic: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP COLUMN "offset"
	topic: 42P16
ALTER TABLE :t DROP COLUMN partition CASCADE
	topic: 42P16
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN value TYPE text USING encode(value, 'hex')
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN value TYPE bytea
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN key TYPE bytea USING key || key
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN key TYPE own.short
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN "offset" TYPE int
	topic: 42P16
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN partition TYPE bigint
	topic: 42P16
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN headers TYPE json USING headers::json
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN headers TYPE jsonb USING '{"other": "1"}'
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN ts TYPE timestamp
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN ts TYPE timestamptz(0)
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN ts TYPE timestamptz USING 'infinity'
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN value SET DEFAULT '\x00'
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN key SET DEFAULT own.raises(NULL)::text::bytea
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value DROP DEFAULT
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN key SET NOT NULL
	topic: ok; nokey 23502
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ALTER COLUMN value SET NOT NULL
	topic: ok; novalue 23502
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ALTER COLUMN headers SET NOT NULL
	topic: ok; noheaders 23502
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ALTER COLUMN key SET NOT NULL, ALTER COLUMN value SET NOT NULL, ALTER COLUMN headers SET NOT NULL
	topic: ok; nokey novalue noheaders 23502
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE ONLY :t ALTER COLUMN value SET NOT NULL
	topic: 42P16
	partition: 42P16
	segment: ok; send 55000; reported
ALTER TABLE :t ALTER COLUMN value SET NOT NULL; ALTER TABLE :t ALTER COLUMN value DROP NOT NULL
	topic: ok
ALTER TABLE :t ALTER COLUMN "offset" DROP NOT NULL
	topic: 42P16
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN ts DROP NOT NULL
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN partition DROP NOT NULL
	topic: ok
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN "offset" ADD GENERATED ALWAYS AS IDENTITY
	topic: ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
ALTER TABLE :t ALTER COLUMN partition ADD GENERATED BY DEFAULT AS IDENTITY
	topic: ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
ALTER TABLE :t ALTER COLUMN "offset" SET GENERATED ALWAYS
	topic: 55000
	partition: 55000
	segment: 55000
ALTER TABLE :t ALTER COLUMN "offset" DROP IDENTITY IF EXISTS
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value DROP EXPRESSION IF EXISTS
	topic: *
	partition: 42P16
	segment: 42P16
ALTER TABLE :t ALTER COLUMN key SET STATISTICS 0
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN key SET (n_distinct = 1)
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN key RESET (n_distinct)
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value SET STORAGE PLAIN
	topic: ok; big 54000
	partition: ok; big 54000
	segment: ok
ALTER TABLE :t ALTER COLUMN value SET STORAGE EXTERNAL
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value SET STORAGE MAIN
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value SET STORAGE EXTENDED
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN headers SET STORAGE PLAIN
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ALTER COLUMN value SET COMPRESSION pglz
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t RENAME COLUMN key TO k
	topic: ok; send 55000; select 42703; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16
ALTER TABLE :t RENAME COLUMN key TO "KEY"
	topic: ok; send 55000; select 42703; fetch poll expire 55000; reported
	partition: 42P16
	segment: 42P16

# constraints: the topic's contract
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL)
	topic: ok; novalue 23514
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL) NOT VALID
	topic: ok; novalue 23514
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL) NO INHERIT
	topic: 42P16
	partition: 42P16
	segment: ok; send 55000; reported
ALTER TABLE ONLY :t ADD CONSTRAINT c CHECK (value IS NOT NULL)
	topic: 42P16
	partition: 42P16
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL) NOT VALID; ALTER TABLE :t VALIDATE CONSTRAINT c
	topic: ok; novalue 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL); ALTER TABLE :t RENAME CONSTRAINT c TO d
	topic: ok; novalue 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL); ALTER TABLE :t DROP CONSTRAINT c
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL); ALTER TABLE :s RENAME CONSTRAINT c TO d
	topic: 42P16; novalue 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL); ALTER TABLE :s DROP CONSTRAINT c
	topic: 42P16; novalue 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NULL) NOT VALID; ALTER TABLE :t VALIDATE CONSTRAINT c
	topic: 23514; full nokey noheaders big seven append many 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NOT NULL); ALTER TABLE :t ALTER CONSTRAINT c DEFERRABLE
	topic: 42809; novalue 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (octet_length(key) > 0 AND headers ? 'h')
	topic: ok
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK (NULL)
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (false) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many 23514
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK (random() >= 0)
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.volatile(value))
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.raises(value)) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many P0001
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.raises('constant')) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many P0001
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.divides(value) > 0) NOT VALID
	topic: ok; full nokey noheaders append many 22012; big seven 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.sends(value)) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many 42501
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.sends('constant')) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many 42501
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.sets(value)) NOT VALID
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.subtransactions(value)) NOT VALID
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.alters(:'t', value)) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many 0A000
ALTER TABLE :t ADD CONSTRAINT c CHECK (own.own_sql(value))
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (ts > '2000-01-01' AND "offset" >= 0)
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK ("offset" < 6) NOT VALID
	topic: ok; seven append many block 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (partition = 1) NOT VALID
	topic: ok; full nokey novalue noheaders big seven append many 23514
ALTER TABLE :t ADD CONSTRAINT c CHECK (tableoid <> 0)
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (tableoid <> 0) NOT VALID
	topic: ok
ALTER TABLE :t ADD CONSTRAINT c CHECK (ctid IS NOT NULL) NOT VALID
	topic: 42P10
ALTER TABLE :t ADD CONSTRAINT c CHECK (:name IS NOT NULL) NOT VALID
	topic: 42703
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT c CHECK ((SELECT true))
	topic: 0A000
ALTER TABLE :t DROP CONSTRAINT IF EXISTS none
	topic: ok
	partition: ok
	segment: ok

# keys
ALTER TABLE :t ADD PRIMARY KEY ("offset", partition)
	topic: 42501, as superuser 42P16
	partition: 42501, as superuser 42P16
	segment: 42501, as superuser 42P16
ALTER TABLE :t ADD PRIMARY KEY ("offset", partition) INCLUDE (value)
	topic: 42501, as superuser 42P16
ALTER TABLE :t DROP CONSTRAINT :pkey
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset")
	segment: 42501, as superuser ok
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") INCLUDE (value)
	segment: 42501, as superuser ok
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") INCLUDE (partition, value)
	segment: 42501, as superuser ok
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") INCLUDE (key, headers, ts)
	segment: 42501, as superuser ok
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") DEFERRABLE
	segment: 42501, as superuser ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") DEFERRABLE INITIALLY DEFERRED
	segment: 42501, as superuser ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY (partition, "offset")
	segment: 42501, as superuser ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD UNIQUE ("offset")
	segment: 42501, as superuser ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY ("offset") WITH (fillfactor = 10)
	segment: 42501, as superuser ok
CREATE UNIQUE INDEX i:n ON :t ("offset" DESC); ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY USING INDEX i:n
	segment: 42704, as superuser 42809
CREATE UNIQUE INDEX i:n ON :t ("offset"); ALTER TABLE :t DROP CONSTRAINT :pkey, ADD PRIMARY KEY USING INDEX i:n
	segment: 42704, as superuser ok
CREATE UNIQUE INDEX i:n ON :t ("offset") INCLUDE (value); ALTER TABLE :t DROP CONSTRAINT :pkey, ADD CONSTRAINT p PRIMARY KEY USING INDEX i:n
	segment: 42704, as superuser ok
ALTER TABLE :t RENAME CONSTRAINT :pkey TO other
	segment: ok
ALTER TABLE :t ALTER CONSTRAINT :pkey DEFERRABLE
	segment: 42809
ALTER TABLE :t ADD UNIQUE ("offset", partition)
	topic: 42501, as superuser ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
ALTER TABLE :t ADD UNIQUE NULLS NOT DISTINCT (key, "offset", partition)
	topic: 42501, as superuser ok
ALTER TABLE :t ADD UNIQUE (key) DEFERRABLE
	topic: 0A000
	partition: 42501, as superuser 0A000
	segment: 42501, as superuser ok; send 55000; reported
ALTER TABLE :t ADD UNIQUE (key) DEFERRABLE INITIALLY DEFERRED
	topic: 0A000
	partition: 42501, as superuser 0A000
	segment: 42501, as superuser ok; send 55000; reported
ALTER TABLE :t ADD UNIQUE (value, "offset") INCLUDE (headers)
	topic: 0A000
	partition: 42501, as superuser ok; big 54000
	segment: 42501, as superuser ok
ALTER TABLE :t ADD UNIQUE (value, "offset", partition)
	topic: 42501, as superuser ok; big 54000
ALTER TABLE :t ADD EXCLUDE (key WITH =)
	topic: 0A000
	partition: 0A000
	segment: 42501, as superuser ok; full novalue noheaders big seven append many block 23P01
ALTER TABLE :t ADD EXCLUDE USING hash (key WITH =)
	segment: 42501, as superuser ok; full novalue noheaders big seven append many block 23P01
ALTER TABLE :t ADD EXCLUDE USING hash (key WITH =) WHERE (key IS NULL)
	segment: 42501, as superuser ok
ALTER TABLE :t ADD EXCLUDE (key WITH =) DEFERRABLE INITIALLY DEFERRED
	segment: 42501, as superuser ok; send 55000; reported
ALTER TABLE :t ADD FOREIGN KEY (partition) REFERENCES own.parent
	topic: ok; send 55000; reported
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ADD FOREIGN KEY (partition) REFERENCES own.parent DEFERRABLE INITIALLY DEFERRED
	topic: ok; send 55000; reported
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
ALTER TABLE :t ADD FOREIGN KEY (partition) REFERENCES own.empty NOT VALID
	segment: ok; send 55000; reported
ALTER TABLE :t ADD FOREIGN KEY (partition) REFERENCES own.parent ON DELETE CASCADE ON UPDATE SET NULL
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT f FOREIGN KEY (partition) REFERENCES own.parent; ALTER TABLE :t ALTER CONSTRAINT f DEFERRABLE INITIALLY DEFERRED
	segment: ok; send 55000; reported
ALTER TABLE :t ADD CONSTRAINT f FOREIGN KEY (partition) REFERENCES own.parent; ALTER TABLE :t DROP CONSTRAINT f
	topic: ok
CREATE TABLE own.child:n (o bigint REFERENCES :t)
	segment: ok; send 55000; reported
CREATE TABLE own.child:n (o bigint REFERENCES :t ("offset") ON DELETE CASCADE)
	segment: ok; send 55000; reported
ALTER TABLE :t ADD PRIMARY KEY ("offset", partition); CREATE TABLE own.child:n (o bigint, p int, FOREIGN KEY (o, p) REFERENCES :t)
	topic: 42704, as superuser 42704

# triggers and rules
ALTER TABLE :t DISABLE TRIGGER ALL
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DISABLE TRIGGER USER
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DISABLE TRIGGER minikafka_refuse_write
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t ENABLE TRIGGER ALL
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ENABLE REPLICA TRIGGER minikafka_refuse_write
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t ENABLE ALWAYS TRIGGER minikafka_refuse_write
	topic: ok
	partition: ok
	segment: ok
DROP TRIGGER minikafka_refuse_write ON :t
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TRIGGER minikafka_refuse_write ON :t RENAME TO other
	topic: ok
	partition: ok
	segment: ok
CREATE TRIGGER mine BEFORE INSERT OR UPDATE OR DELETE ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger()
	topic: ok; send 55000; reported
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
CREATE TRIGGER mine AFTER INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger()
	topic: ok; send 55000; reported
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
CREATE TRIGGER mine AFTER DELETE ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger()
	segment: ok; send 55000; reported
CREATE TRIGGER mine AFTER UPDATE OF key ON :t FOR EACH ROW WHEN (new.key IS NULL) EXECUTE FUNCTION own.trigger()
	segment: ok; send 55000; reported
CREATE TRIGGER mine BEFORE INSERT ON :t FOR EACH STATEMENT EXECUTE FUNCTION own.trigger()
	topic: ok
	partition: ok
	segment: ok
CREATE TRIGGER mine AFTER INSERT OR TRUNCATE ON :t FOR EACH STATEMENT EXECUTE FUNCTION own.trigger()
	topic: ok
	partition: ok
	segment: ok
CREATE TRIGGER mine AFTER INSERT ON :t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION own.trigger()
	topic: ok
	partition: ok
	segment: ok
CREATE TRIGGER mine AFTER INSERT ON :t REFERENCING NEW TABLE AS new_rows FOR EACH ROW EXECUTE FUNCTION own.trigger()
	topic: 0A000
	partition: 0A000
	segment: 0A000
CREATE TRIGGER mine INSTEAD OF INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger()
	topic: 42809
	partition: 42809
	segment: 42809
CREATE CONSTRAINT TRIGGER mine AFTER INSERT ON :t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION own.trigger()
	topic: ok; send 55000; reported
	partition: ok; send 55000; reported
	segment: ok; send 55000; reported
CREATE TRIGGER mine AFTER INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger(); DROP TRIGGER mine ON :t
	topic: ok
CREATE TRIGGER mine AFTER INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger(); ALTER TABLE :t DISABLE TRIGGER mine
	topic: ok
CREATE TRIGGER mine AFTER INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger(); ALTER TABLE :t ENABLE REPLICA TRIGGER mine
	segment: ok; send 55000; reported
CREATE TRIGGER mine AFTER INSERT ON :t FOR EACH ROW EXECUTE FUNCTION own.trigger(); ALTER TABLE :t ENABLE ALWAYS TRIGGER mine
	segment: ok; send 55000; reported
CREATE RULE mine AS ON INSERT TO :t DO INSTEAD NOTHING
	topic: ok
	partition: ok
	segment: ok
CREATE RULE mine AS ON INSERT TO :t DO ALSO SELECT own.raises(NULL)
	topic: ok
	partition: ok
	segment: ok
CREATE RULE mine AS ON DELETE TO :t DO INSTEAD NOTHING
	topic: ok
	partition: ok
	segment: ok
CREATE RULE "_RETURN" AS ON SELECT TO :t DO INSTEAD SELECT 0::bigint AS "offset", now() AS ts, 0 AS partition, ''::bytea AS key, ''::bytea AS value, '{}'::jsonb AS headers
	topic: 42809
	partition: 42809
	segment: 42809
CREATE RULE mine AS ON INSERT TO :t DO INSTEAD NOTHING; ALTER TABLE :t DISABLE RULE mine
	topic: ok
CREATE RULE mine AS ON INSERT TO :t DO INSTEAD NOTHING; ALTER TABLE :t ENABLE ALWAYS RULE mine
	topic: ok

# row security and rights
ALTER TABLE :t ENABLE ROW LEVEL SECURITY
	topic: ok; full nokey novalue noheaders big seven append many 0A000; fetch join 0A000; poll commit MK025
	partition: ok
	segment: ok
ALTER TABLE :t FORCE ROW LEVEL SECURITY
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY
	topic: ok; full nokey novalue noheaders big seven append many 0A000; fetch join check 0A000; poll commit MK025
	partition: ok
	segment: ok
CREATE POLICY mine ON :t USING (own.raises(value))
	topic: ok
	partition: ok
	segment: ok
CREATE POLICY mine ON :t USING (true); ALTER TABLE :t ENABLE ROW LEVEL SECURITY
	topic: ok; full nokey novalue noheaders big seven append many 0A000; fetch join 0A000; poll commit MK025
ALTER TABLE :t DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY
	topic: ok
REVOKE ALL ON :t FROM owner
	topic: ok; check 42501
	partition: ok
	segment: ok
REVOKE ALL ON :t FROM client
	topic: ok; full nokey novalue noheaders big seven append many 42501; fetch select join 42501; poll commit MK025
GRANT ALL ON :t TO PUBLIC
	topic: ok
ALTER TABLE :t OWNER TO other
	topic: ok; send 55000; fetch poll expire 55000; reported
	partition: 42501, as superuser ok; noheaders big seven append many block 55000; reported
	segment: 42501, as superuser ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t OWNER TO CURRENT_USER
	topic: ok
	partition: ok
	segment: ok

# storage
ALTER TABLE :t CLUSTER ON :pkey
	topic: 42704
	partition: 42809
	segment: ok
ALTER TABLE :t SET WITHOUT CLUSTER
	topic: 0A000
	partition: 0A000
	segment: ok
ALTER TABLE :t SET WITHOUT OIDS
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t SET ACCESS METHOD heap
	topic: 42809
	partition: 42809
	segment: ok
ALTER TABLE :t SET ACCESS METHOD other_heap
	topic: 42809
	partition: 42809
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t SET TABLESPACE other_space
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t SET TABLESPACE other_space; ALTER TABLE :p SET TABLESPACE other_space; ALTER TABLE :s SET TABLESPACE other_space
	topic: ok
ALTER TABLE :t SET LOGGED
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t SET UNLOGGED
	topic: ok
	partition: ok
	segment: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t SET (fillfactor = 10, autovacuum_enabled = false, toast_tuple_target = 128)
	topic: 22023
	partition: 22023
	segment: ok
ALTER TABLE :t SET (user_catalog_table = true)
	topic: 22023
	partition: 22023
	segment: ok
ALTER TABLE :t RESET (autovacuum_vacuum_threshold, vacuum_truncate)
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE ALL IN TABLESPACE other_space SET TABLESPACE pg_default
	segment: ok
CLUSTER :t USING :pkey
	topic: 42704
	partition: 42809
	segment: ok
VACUUM :t
	topic: ok
	partition: ok
	segment: ok
VACUUM (FULL, ANALYZE) :t
	topic: ok
	partition: ok
	segment: ok
VACUUM (FREEZE, INDEX_CLEANUP ON, TRUNCATE ON) :t
	topic: ok
	partition: ok
	segment: ok
ANALYZE :t
	topic: ok
	partition: ok
	segment: ok
REINDEX TABLE :t
	topic: ok
	partition: ok
	segment: ok
REINDEX TABLE CONCURRENTLY :t
	topic: ok
	partition: ok
	segment: ok
TRUNCATE :t
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501

# names, inheritance, partitions
ALTER TABLE :t RENAME TO same:n
	topic: ok
ALTER TABLE :t RENAME TO renamed:n
	topic: ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
ALTER TABLE :t SET SCHEMA own
	topic: ok; full nokey novalue noheaders big seven append many 42704; join 42501; fetch expire check 42704; poll commit MK025
	partition: ok
	segment: ok
ALTER TABLE :t SET SCHEMA minikafka_topics
	partition: ok
	segment: ok
ALTER TABLE :t INHERIT own.base
	topic: 42809
	partition: 42809
	segment: 42809
ALTER TABLE :t NO INHERIT own.base
	topic: 42P01
	partition: 42809
	segment: 42809
CREATE TABLE own.sub:n () INHERITS (:t)
	topic: 42809
	partition: 42809
	segment: 42809
ALTER TABLE :t OF own.row
	topic: ok
	partition: 42809
	segment: 42809
ALTER TABLE :t NOT OF
	topic: 42809
	partition: 42809
	segment: 42809
CREATE TABLE own.like:n (LIKE :t); ALTER TABLE :t ATTACH PARTITION own.like:n DEFAULT
	topic: ok; reported
	partition: ok; noheaders big seven append many block 55000; reported
	segment: 42P17
CREATE TABLE own.part:n PARTITION OF :t DEFAULT
	topic: ok; reported
	partition: ok; noheaders big seven append many block 55000; reported
	segment: 42P17
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES IN (7)
	topic: ok; reported
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES IN (NULL)
	topic: ok; reported
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES FROM (1000) TO (2000)
	partition: ok; reported
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES FROM (8) TO (MAXVALUE)
	partition: ok; many block 55000; reported
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES FROM (6) TO (10)
	partition: ok; noheaders big seven append many block 55000; reported
CREATE TABLE own.part:n PARTITION OF :t FOR VALUES FROM (1000) TO (2000) PARTITION BY LIST (key)
	partition: ok; reported
CREATE FOREIGN TABLE own.part:n PARTITION OF :t DEFAULT SERVER nothing
	partition: ok; noheaders big seven append many block 55000; select 55000; reported
CREATE FOREIGN TABLE own.part:n PARTITION OF :t FOR VALUES FROM (8) TO (12) SERVER nothing
	partition: ok; many block 55000; select 55000; reported
ALTER TABLE :t DETACH PARTITION :p
	topic: ok; noheaders big seven append many block 55000; reported
ALTER TABLE :t DETACH PARTITION :s
	partition: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DETACH PARTITION :p CONCURRENTLY
	topic: ok; send 55000; reported
ALTER TABLE :t DETACH PARTITION :s CONCURRENTLY
	partition: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DETACH PARTITION :s FINALIZE
	partition: 55000
ALTER TABLE :t DETACH PARTITION :s; ALTER TABLE :t ATTACH PARTITION :s FOR VALUES FROM (0) TO (4)
	partition: ok
ALTER TABLE :t DETACH PARTITION :s; ALTER TABLE :t ATTACH PARTITION :s FOR VALUES FROM (0) TO (1000)
	partition: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DETACH PARTITION :s; ALTER TABLE :t ATTACH PARTITION :s DEFAULT
	partition: ok; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DETACH PARTITION :s; ALTER TABLE :topic ATTACH PARTITION :s DEFAULT
	partition: 23514; send 55000; fetch poll expire 55000; reported
ALTER TABLE :t DETACH PARTITION :p; ALTER TABLE :t ATTACH PARTITION :p FOR VALUES IN (0, 1)
	topic: ok; noheaders big seven append many block 55000; reported
ALTER TABLE :t DETACH PARTITION :p; ALTER TABLE :t ATTACH PARTITION :p DEFAULT
	topic: ok; noheaders big seven append many block 55000; reported
DROP TABLE :t
	partition: ok; send 55000; fetch poll expire 55000; reported
	segment: ok; send 55000; fetch poll expire 55000; reported
DROP TABLE :t CASCADE
	partition: ok; send 55000; fetch poll expire 55000; reported
	segment: ok; send 55000; fetch poll expire 55000; reported
DROP TABLE :t
	topic: ok; full nokey novalue noheaders big seven append many 42704; join 42501; select 42601; fetch expire check 42704; poll commit MK025

# other objects
COMMENT ON TABLE :t IS 'mine'
	topic: ok
	partition: ok
	segment: ok
SECURITY LABEL ON TABLE :t IS 'mine'
	topic: 22023
	partition: 22023
	segment: 22023
CREATE STATISTICS own.st:n ON key, partition FROM :t
	topic: ok
	partition: ok
	segment: ok
CREATE STATISTICS own.st:n ON (own.divides(value)), (own.raises(value)) FROM :t; ANALYZE :t
	segment: 22012
CREATE VIEW own.v:n AS SELECT * FROM :t
	topic: ok
CREATE VIEW own.v:n AS SELECT * FROM :t
	segment: ok
CREATE MATERIALIZED VIEW own.v:n AS SELECT * FROM :t
	topic: ok
CREATE FUNCTION own.f:n(:t) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'
	topic: ok
CREATE TABLE own.uses:n (x :t)
	topic: ok
CREATE TABLE own.uses:n (x :t)
	segment: ok
ALTER TABLE :t REPLICA IDENTITY FULL
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t REPLICA IDENTITY NOTHING
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t REPLICA IDENTITY DEFAULT
	topic: ok
	partition: ok
	segment: ok
ALTER TABLE :t REPLICA IDENTITY USING INDEX :pkey
	segment: ok
CREATE PUBLICATION pub:n FOR TABLE :t
	topic: ok
	partition: ok
	segment: ok
CREATE PUBLICATION pub:n FOR TABLE :t ("offset", key) WHERE ("offset" > 3); ALTER TABLE :t REPLICA IDENTITY NOTHING
	segment: ok
INSERT INTO :t VALUES (2, now(), 0, 'k', 'forged', NULL)
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501
UPDATE :t SET value = 'forged'
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501
DELETE FROM :t
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501
COPY :t FROM PROGRAM 'cat /dev/null'
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501
ALTER TABLE :t DISABLE TRIGGER USER; INSERT INTO :s VALUES (1, '2000-01-01', 0, 'k', 'forged', '"scalar"')
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: ok; send 55000; fetch poll expire 55000; reported
MERGE INTO :t USING (SELECT 0) AS a (x) ON false WHEN NOT MATCHED THEN INSERT VALUES (2, now(), 0, 'k', 'forged', NULL)
	topic: 42501, as superuser 42501
	partition: 42501, as superuser 42501
	segment: 42501, as superuser 42501

# indexes
CREATE INDEX ON :t (key)
	topic: 42501, as superuser ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
CREATE INDEX ON ONLY :t (key)
	topic: ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
CREATE INDEX CONCURRENTLY ON :t (key)
	topic: 0A000
	partition: 0A000
	segment: 42501, as superuser ok
CREATE INDEX ON :t (key DESC NULLS FIRST, partition) INCLUDE (headers)
	topic: 42501, as superuser ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
CREATE INDEX ON :t (value)
	topic: 42501, as superuser ok; big 54000
	partition: 42501, as superuser ok; big 54000
	segment: 42501, as superuser ok
CREATE INDEX ON :t (key) INCLUDE (value)
	topic: 42501, as superuser ok; big 54000
CREATE INDEX ON :t (own.first(value))
	topic: 42501, as superuser ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
CREATE INDEX ON :t ((octet_length(value) + own.first('constant')))
	topic: 42501, as superuser ok
CREATE INDEX ON :t (own.first(value)) WHERE own.first(key) > 0
	topic: 42501, as superuser ok
CREATE INDEX ON :t (own.raises(value))
	segment: 42501, as superuser P0001
CREATE INDEX ON :t (own.late_raises(value))
	segment: 42501, as superuser ok
CREATE INDEX ON :t (own.late_raises(value))
	topic: 42501, as superuser ok; seven P0001
CREATE INDEX ON :t (own.late_sends(value))
	topic: 42501, as superuser ok; seven 42501
CREATE INDEX ON :t (own.subtransactions(value))
	topic: 42501, as superuser ok
CREATE INDEX ON :t (own.row_of("offset", value))
	topic: 42501, as superuser ok
CREATE INDEX ON :t ((:name))
	topic: XX000
CREATE INDEX ON :t (random())
	topic: 42P17
CREATE INDEX ON :t (key) WHERE value IS NULL
	topic: 42501, as superuser ok
	partition: 42501, as superuser ok
	segment: 42501, as superuser ok
CREATE INDEX ON :t (partition) WHERE false
	topic: 42501, as superuser ok
CREATE INDEX ON :t ("offset")
	topic: 42501, as superuser ok
CREATE INDEX ON :t ("offset") WITH (fillfactor = 10, deduplicate_items = off)
	topic: 42501, as superuser ok
CREATE UNIQUE INDEX ON :t (key)
	topic: 0A000
	partition: 42501, as superuser 0A000
	segment: 42501, as superuser ok; full novalue noheaders big seven append many block 23505
CREATE UNIQUE INDEX CONCURRENTLY ON :t (key)
	segment: 42501, as superuser ok; full novalue noheaders big seven append many block 23505
CREATE UNIQUE INDEX ON :t (key, "offset", partition) NULLS NOT DISTINCT
	topic: 42501, as superuser ok
CREATE UNIQUE INDEX ON :t (own.first(value)) NULLS NOT DISTINCT
	segment: 42501, as superuser ok; full nokey noheaders 23505
CREATE INDEX ON :t USING hash (key)
	topic: 42501, as superuser ok
CREATE INDEX ON :t USING hash (value)
	segment: 42501, as superuser ok
CREATE INDEX ON :t USING gin (headers)
	topic: 42501, as superuser ok
CREATE INDEX ON :t USING gin (headers jsonb_path_ops) WITH (fastupdate = off)
	topic: 42501, as superuser ok
CREATE INDEX ON :t USING brin (ts)
	topic: 42501, as superuser ok
CREATE INDEX ON :t USING brin (ts timestamptz_minmax_multi_ops, key bytea_bloom_ops) WITH (autosummarize = on)
	topic: 42501, as superuser ok
CREATE INDEX ON :t USING gist (key)
	topic: 42704
CREATE INDEX ON :t USING spgist (own.words(value))
	topic: 42501, as superuser ok
CREATE INDEX ON :t (own.words(value) COLLATE "C" text_pattern_ops)
	topic: 42501, as superuser ok; big 54000
CREATE INDEX ON :t (key) TABLESPACE other_space
	topic: 42501, as superuser ok
CREATE INDEX ON :t (key) TABLESPACE pg_global
	topic: 42501, as superuser 22023
CREATE INDEX minikafka_taken:n ON :t (key)
	topic: 42501, as superuser ok
SELECT minikafka.create_index(:'c', '(key)')
	topic: ok
SELECT minikafka.create_index(:'c', 'USING hash (key)')
	topic: ok
SELECT minikafka.create_index(:'c', 'USING gin (headers)')
	topic: ok
SELECT minikafka.create_index(:'c', '(own.first(value)) WHERE key IS NOT NULL')
	topic: ok
SELECT minikafka.create_index(:'c', '(own.late_raises(value))')
	topic: ok; seven P0001
SELECT minikafka.create_index(:'c', '(value)')
	topic: ok; big 54000
SELECT minikafka.create_index(:'c', '(key); DROP TABLE own.parent')
	topic: 42601

# ALTER INDEX
ALTER INDEX :index RENAME TO renamed:n
	segment: 42501, as superuser ok
ALTER INDEX :index SET TABLESPACE other_space
	segment: ok
ALTER INDEX :index SET (fillfactor = 50, deduplicate_items = off)
	segment: ok
ALTER INDEX :index RESET (fillfactor)
	segment: ok
ALTER INDEX :index ALTER COLUMN 1 SET STATISTICS 100
	segment: 0A000
ALTER INDEX :index DEPENDS ON EXTENSION plpgsql
	segment: ok
ALTER INDEX :index NO DEPENDS ON EXTENSION minikafka
	segment: ok
ALTER INDEX :index ATTACH PARTITION :index
	segment: 42809
ALTER INDEX ALL IN TABLESPACE other_space SET TABLESPACE pg_default
	segment: ok
ALTER INDEX :index OWNER TO other
	segment: ok
DROP INDEX :index
	segment: 2BP01
REINDEX INDEX :index
	segment: ok
REINDEX INDEX CONCURRENTLY :index
	segment: ok
REINDEX (TABLESPACE other_space) INDEX :index
	segment: ok
COMMENT ON INDEX :index IS 'mine'
	segment: ok
CREATE INDEX i:n ON :t (key); ALTER INDEX minikafka_topics.i:n RENAME TO renamed:n
	topic: 42P01, as superuser ok
CREATE INDEX i:n ON :t (key); ALTER INDEX minikafka_topics.i:n SET TABLESPACE other_space
	topic: 42P01, as superuser ok
CREATE INDEX i:n ON :t (key); ALTER INDEX minikafka_topics.i:n SET (fillfactor = 50)
	topic: 42P01, as superuser 42809
CREATE INDEX i:n ON :t (own.first(value)); ALTER INDEX minikafka_topics.i:n ALTER COLUMN 1 SET STATISTICS 100
	topic: 42P01, as superuser ok
CREATE INDEX i:n ON ONLY :t (key); CREATE INDEX i:n ON :p (key); ALTER INDEX minikafka_topics.i:n ATTACH PARTITION minikafka_data.i:n
	topic: 42P01, as superuser ok
CREATE INDEX i:n ON :t (key); DROP INDEX minikafka_topics.i:n
	topic: 42704, as superuser ok
CREATE INDEX i:n ON :t (key); REINDEX INDEX minikafka_topics.i:n
	topic: 42P01, as superuser ok
CREATE INDEX i:n ON :t (own.first(value)); REINDEX INDEX CONCURRENTLY minikafka_topics.i:n
	topic: 42P01, as superuser ok

# of PostgreSQL 16, 17 and 18
16+ ALTER TABLE :t ALTER COLUMN value SET STORAGE DEFAULT
	topic: any
17+ ALTER TABLE ONLY :t SET ACCESS METHOD other_heap
	topic: any
17+ ALTER TABLE :t SET ACCESS METHOD DEFAULT
	topic: any
17+ ALTER TABLE :t ALTER COLUMN value SET STATISTICS DEFAULT
	topic: any
17+ ALTER TABLE :t ALTER COLUMN value SET EXPRESSION AS (key)
	topic: any
18+ ALTER TABLE :t ADD COLUMN x int GENERATED ALWAYS AS (partition + 1) VIRTUAL
	topic: any
	segment: any
18+ ALTER TABLE :t ADD COLUMN x int GENERATED ALWAYS AS (partition + 1) VIRTUAL; ALTER TABLE :t DROP COLUMN x
	topic: any
18+ ALTER TABLE :t ADD CONSTRAINT c NOT NULL value
	topic: any
	segment: any
18+ ALTER TABLE :t ADD CONSTRAINT c NOT NULL value NOT VALID
	topic: any
	segment: any
18+ ALTER TABLE :t ADD CONSTRAINT c NOT NULL value NO INHERIT
	topic: any
	segment: any
18+ ALTER TABLE :t ADD CONSTRAINT c NOT NULL value NOT VALID; ALTER TABLE :t VALIDATE CONSTRAINT c
	topic: any
18+ ALTER TABLE :t ADD CONSTRAINT c NOT NULL value; ALTER TABLE :t ALTER CONSTRAINT c NO INHERIT
	segment: any
18+ ALTER TABLE :t ADD CONSTRAINT c CHECK (value IS NULL) NOT ENFORCED
	topic: any
	segment: any
18+ ALTER TABLE :t ADD FOREIGN KEY (partition) REFERENCES own.parent NOT ENFORCED
	topic: any
	segment: any
18+ ALTER TABLE :t ADD CONSTRAINT f FOREIGN KEY (partition) REFERENCES own.parent NOT ENFORCED; ALTER TABLE :t ALTER CONSTRAINT f ENFORCED
	segment: any
