# Runs the SQL of the documents, and compares what it prints with what they show.
#
# A document is a Markdown file.  Its fenced blocks are of these kinds:
#
#   sql       Statements to run.  psql runs all blocks of a document in order, in
#             one session, in a database of its own, as a superuser.
#   text      The output of the block of SQL right before it.  A block of SQL
#             without one must print nothing.
#
# The test ignores blocks of other kinds, and text blocks elsewhere.  A comment on
# the line before a block of SQL keeps the block from being run:
#
#   <!-- not run: REASON -->
#
# or has it run without comparing its output: it only must not fail.
#
#   <!-- output not compared -->
#
# A comment on a line of its own runs statements that the document does not show:
#
#   <!-- run: CREATE EXTENSION minikafka; -->
#
# To add a document, add its name to @documents.
#
# The comparison ignores command tags, results of one column without a value (as
# of functions that return void), widths of columns, times, UUIDs, the SQLSTATEs
# of errors if the document leaves them out, and what it abbreviates as "…".

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @documents = qw(README.md doc/tutorial.md doc/reference.md
  doc/operations.md doc/recipes.md doc/which-group.md
  doc/concepts/share-groups.md doc/concepts/tables.md);

my $root = "$FindBin::RealBin/../..";

my $node = new_node('primary', 'statement_timeout = 0');

# ---------------------------------------------------------------------------
# Reading a document

# The blocks of a document, in order: kind, line, text, the last line before it
# that is not empty, and whether it follows another block directly.
sub blocks
{
	my ($text) = @_;
	my (@blocks, $block, $number);
	my $before = '';

	for my $line (split /\n/, $text)
	{
		$number++;
		if (defined $block)
		{
			if ($line =~ /^```\s*$/)
			{
				push @blocks, $block;
				$block  = undef;
				$before = '';
				next;
			}
			$block->{text} .= "$line\n";
		}
		elsif ($line =~ /^```(\S*)/)
		{
			$block = {
				kind   => $1,
				line   => $number,
				text   => '',
				before => $before,
				near   => $before eq '',
			};
		}
		elsif ($line =~ /^<!-- run: (.*) -->$/)
		{
			push @blocks,
			  { kind => 'sql', line => $number, text => "$1\n", before => '' };
			$before = $line;
		}
		elsif ($line =~ /\S/)
		{
			$before = $line;
		}
	}
	die 'a block is not closed' if defined $block;
	return @blocks;
}

# The blocks of SQL to run, each with the output that the document shows.
sub examples
{
	my @examples;
	my $last;

	for my $block (blocks(@_))
	{
		if ($block->{kind} eq 'sql' && $block->{before} !~ /^<!-- not run: /)
		{
			push @examples, {
				%$block,
				output => '',
				any    => $block->{before} eq '<!-- output not compared -->',
			};
			$last = $examples[-1];
		}
		else
		{
			$last->{output} = $block->{text}
			  if $last && $block->{kind} eq 'text' && $block->{near};
			$last = undef;
		}
	}
	return @examples;
}

# ---------------------------------------------------------------------------
# Running it

# What psql prints for each example.  Output and errors go through one pipe,
# unbuffered, so that they stay in order.
sub run
{
	my ($database, @examples) = @_;
	my $mark = '---- end of example ----';
	my $script =
	  join '', "\\set QUIET on\n", "\\set VERBOSITY verbose\n",
	  map { "$_->{text}\n\\echo '$mark'\n" } @examples;
	my $output;

	local %ENV = ($node->_get_env(), PGDATABASE => $database);
	IPC::Run::run(
		[ 'stdbuf', '-oL', 'psql', '-X', '-v', 'ON_ERROR_STOP=0' ],
		'<', \$script, '>&', \$output,
		IPC::Run::timeout($MinikafkaTest::TIMEOUT));
	return split /^$mark\n/m, $output, -1;
}

# The part of an output that counts.
sub plain
{
	my ($output) = @_;

	for ($output)
	{
		# empty results: of void, or no rows
		s/^ *\w+ *\n-+\n(?: *\n)*\(\d+ rows?\)\n//mg;
		s/^(?:(?:SCHEMA|TABLE|COLUMN|DATATYPE|CONSTRAINT) NAME|LOCATION): .*\n//mg;
		s/^(?:psql:\S+:\d+: )?(ERROR|WARNING|NOTICE): +/$1: /mg;
		# as wide as their contents
		s/-{3,}/---/g;
		s/ {2,}/ /g;
		s/ +$//mg;
		s/\n{2,}/\n/g;
		s/^\n//;
		s/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:[-+]\d\d(?::\d\d)?)?/TIME/g;
		s/\b[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}\b/UUID/g;
	}
	return $output;
}

# Whether an output matches what the document shows; both are plain.
sub same
{
	my ($output, $shown) = @_;

	# without SQLSTATEs, if they are left out
	$output =~ s/^(ERROR|WARNING|NOTICE): \w{5}: /$1: /mg
	  unless $shown =~ /^(?:ERROR|WARNING|NOTICE): [0-9A-Z]{5}: /m;
	return 1 if $output eq $shown;

	my $pattern = join '.*', map { quotemeta } split /…/, $shown, -1;
	return $output =~ /\A$pattern\z/s;
}

sub check_document
{
	my ($document, $database) = @_;
	my @examples = examples(slurp_file("$root/$document"));

	cmp_ok(scalar @examples, '>', 0, "$document has examples");
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my @outputs = run($database, @examples);

	for my $i (0 .. $#examples)
	{
		my $output = $outputs[$i] // '(psql ended)';

		if ($examples[$i]{any})
		{
			unlike(
				$output, qr/^(?:psql:\S+ )?(?:ERROR|FATAL|PANIC):|\(psql ended\)/m,
				"$document, line $examples[$i]{line}, runs");
			next;
		}
		ok( same(plain($output), plain($examples[$i]{output})),
			"$document, line $examples[$i]{line}")
		  or diag("what it prints:\n$output\n"
			  . "what $document shows:\n$examples[$i]{output}");
	}

	# roles belong to no database
	$node->safe_psql('postgres', "DROP DATABASE $database");
	$node->safe_psql('postgres', "DROP ROLE $_")
	  for split /\n/, $node->safe_psql('postgres', <<'SQL');
SELECT quote_ident(rolname) FROM pg_roles
WHERE rolname <> current_user AND rolname NOT LIKE 'pg\_%'
SQL
	return;
}

# ---------------------------------------------------------------------------
# The comparison itself

my @found = examples(<<'MARKDOWN');
```sql
SELECT 1;
```

```text
 1
```

```sql
BEGIN;
```

Prose.

```text
no output
```

<!-- run: SELECT 3; -->

<!-- not run: it takes a week -->

```sql
SELECT 2;
```

<!-- output not compared -->

```sql
SELECT now();
```
MARKDOWN

is_deeply(
	[ map { [ $_->{text}, $_->{any} ? 'any' : $_->{output} ] } @found ],
	[
		[ "SELECT 1;\n",     " 1\n" ],
		[ "BEGIN;\n",        '' ],
		[ "SELECT 3;\n",     '' ],
		[ "SELECT now();\n", 'any' ]
	],
	'blocks are found');
ok(same(plain(" a | b\n---+----\n"), plain(" a |  b\n---+-----\n")),
	'widths do not count');
is(plain(" f\n---\n \n(1 row)\n"), '', 'an empty result does not count');
ok(!same(plain(" f\n---\n 1\n(1 row)\n"), ''), '... another does');
ok(!same(" a\n 1\n", " a\n 2\n"), 'values count');
ok(!same("ERROR: MK022: x\n", ''), 'an error that is not shown counts');
ok(same("ERROR: MK022: x\n", "ERROR: x\n"), 'a SQLSTATE may be left out');
ok(!same("ERROR: MK022: x\n", "ERROR: MK025: x\n"), '... or else counts');
ok(same("one two three\n", "one … three\n"), 'an abbreviation');
ok(!same("one two\n", "one … three\n"), '... of a part only');

my $number = 0;
check_document($_, 'document_' . ++$number) for @documents;

# ---------------------------------------------------------------------------
# The tour is the tutorial's statements, and runs without an error.

sub statements
{
	my ($sql) = @_;

	return join "\n", grep { /\S/ && !/^--/ } split /\n/, $sql;
}

is( statements(slurp_file("$root/examples/tour.sql")),
	statements(
		join '',
		map { $_->{text} } examples(slurp_file("$root/doc/tutorial.md"))),
	'examples/tour.sql has the statements of doc/tutorial.md');

$node->safe_psql('postgres', 'CREATE DATABASE tour');
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr('tour'), '-f', "$root/examples/tour.sql"
	],
	'examples/tour.sql runs');

$node->stop;
done_testing();
