# Databases in other encodings: text is stored as UTF-8 all the same, so that
# any reader can tell what it is; what is no text here is read as bytes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');

# What the databases are asked in, whatever their encoding.
$ENV{PGCLIENTENCODING} = 'UTF8';

# In UTF-8: e with an acute accent, the euro sign, and two
# characters of Japanese.
my $acute    = "\xc3\xa9";
my $euro     = "\xe2\x82\xac";
my $japanese = "\xe6\x97\xa5\xe6\x9c\xac";

sub hex_of { return '\x' . unpack 'H*', $_[0]; }

# The text that each can have, and one that it cannot; SQL_ASCII has any.
my @cases = (
	[ 'LATIN1', $acute, $euro ],
	[ 'EUC_JP', $japanese, $euro ],
	[ 'SQL_ASCII', $japanese, undef ]);

for my $case (@cases)
{
	my ($encoding, $text, $foreign) = @$case;
	my $hex = hex_of($text);
	my $db  = lc $encoding;

	my $sql = sub { return $node->safe_psql($db, $_[0]); };
	my $fails = sub {
		my (undef, undef, $err) = $node->psql($db, $_[0]);
		return $err;
	};

	$node->safe_psql('postgres',
		"CREATE DATABASE $db ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$sql->(
		q{CREATE EXTENSION minikafka; SELECT minikafka.create_topic('t', 1)});

	# each way in
	$sql->(
		qq{SELECT minikafka.send('t', '$text', '$text', '{"h": "$text"}');
		SELECT minikafka.send('t', '["$text"]'::jsonb, '$text');
		SELECT minikafka.send('t', '["$text"]'::json, '$text');
		SELECT minikafka.send_many('t', ARRAY['$text'], ARRAY['$text']);
		SELECT minikafka.append('t', 0, '$text', '$text')});
	is( $sql->(
			q{SELECT "offset", key, value FROM minikafka.fetch('t', 0, 0)}),
		join("\n",
			"0|$hex|$hex",
			(map { "$_|$hex|" . hex_of("[\"$text\"]") } 1, 2),
			"3|$hex|$hex",
			"4|$hex|$hex"),
		"$encoding: text is stored as UTF-8");
	is( $sql->(
			q{SELECT "offset", key, value, headers
			FROM minikafka.fetch_text('t', 0, 0)}),
		join("\n",
			"0|$text|$text|{\"h\": \"$text\"}",
			(map { "$_|$text|[\"$text\"]|{}" } 1, 2),
			"3|$text|$text|{}",
			"4|$text|$text|{}"),
		"$encoding: and read back");
	is( $sql->(
			q{SELECT key, value ->> 0 FROM minikafka.fetch_json('t', 0, 1, 2)}),
		"$text|$text\n$text|$text",
		"$encoding: also as JSON");
	is( $sql->(qq{SELECT minikafka.create_topic('keys', 50);
		SELECT minikafka.partition_for_key('keys', '$text'::text)
			= minikafka.partition_for_key('keys', '$hex'::bytea)}),
		"\nt",
		"$encoding: a key counts in UTF-8");
	is( $sql->(
			qq{SELECT minikafka.commit_offset('$text', 't', 0, 1, '$text');
			SELECT minikafka.committed('$text', 't', 0)}),
		"\n1",
		"$encoding: a group of that name");

	# what is no text at all, and what is none here
	$sql->(q{SELECT minikafka.send('t', '\xe697'::bytea)});
	is( $sql->(
			q{SELECT count(*), max("offset") FROM minikafka.fetch_text('t', 0, 3)}
		),
		'2|4',
		"$encoding: what comes before bytes that are no text is read");
	like(
		$fails->(q{SELECT minikafka.fetch_text('t', 0, 5)}),
		qr/cannot read the record at offset 5 of topic "t" partition 0 as text/,
		"$encoding: these are an error");
	is( $sql->(q{SELECT value FROM minikafka.fetch('t', 0, 5)}),
		'\xe697', "$encoding: and read as bytes");
	next unless defined $foreign;
	my $foreign_hex = hex_of($foreign);

	like(
		$fails->("SELECT minikafka.send('t', '$foreign')"),
		qr/has no equivalent in encoding "$encoding"/,
		"$encoding: what it has not cannot be sent as text");
	$sql->(qq{SELECT minikafka.send('t', 'v'::bytea, '$foreign_hex'::bytea);
		SELECT minikafka.send('t', '$foreign_hex'::bytea);
		SELECT minikafka.send('t', 'after')});
	for my $offset (6, 7)
	{
		like(
			$fails->("SELECT minikafka.fetch_text('t', 0, $offset)"),
			qr/cannot read the record at offset $offset of topic "t"/,
			"$encoding: what it has not, at offset $offset, is an error");
	}
	is( $sql->(q{SELECT key, value FROM minikafka.fetch('t', 0, 6, 2)}),
		"$foreign_hex|\\x76\n|$foreign_hex",
		"$encoding: and read as bytes");
	is($sql->(q{SELECT value FROM minikafka.fetch_text('t', 0, 8)}),
		'after', "$encoding: a reader can step over it");
}

done_testing();
