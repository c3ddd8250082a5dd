# No message and no line of the server's log holds a key, a value or a header
# of a record, whatever fails.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The statements of the client itself are not to be logged: they are its own.
my $node = new_node(
	'primary',
	'log_error_verbosity = verbose',
	'log_min_messages = debug1',
	'log_min_error_statement = panic',
	'log_parameter_max_length_on_error = 0');

# What no message may show: as text, as a number, and as bytes.
my $text   = 'sekret7251';
my $number = '7251887251887251';
my $bytes  = '72518872';
my $hidden = qr/sekret|7251|0x72|\\x7365/i;

$node->safe_psql(
	'postgres', q{
CREATE ROLE owner;
GRANT USAGE ON SCHEMA minikafka, minikafka_data, minikafka_topics TO owner;
GRANT CREATE ON SCHEMA minikafka_topics TO owner;
SET ROLE owner;
SELECT minikafka.create_topic('plain', 1);
SELECT minikafka.create_topic('json', 1);
SELECT minikafka.create_topic('text', 1);
SELECT minikafka.create_topic('strict', 1);
SELECT minikafka.create_topic('small', 1, max_message_bytes => 5);
SELECT minikafka.create_topic('compacted', 1, cleanup_policy => 'compact');
SELECT minikafka.create_topic('unique', 1);
SELECT minikafka.create_topic('row', 1);
SELECT minikafka.create_topic('big', 1);
SELECT minikafka.set_topic_option('json', 'value_format', 'json');
SELECT minikafka.set_topic_option('text', 'value_format', 'text');
ALTER TABLE minikafka_topics.strict ALTER headers SET NOT NULL,
	ADD CHECK (length(key) < 3),
	ADD CONSTRAINT number CHECK (convert_from(value, 'UTF8')::int > 0);
ALTER TABLE minikafka_topics.row ADD CHECK ("offset" + convert_from(value, 'UTF8')::int < 0);
ALTER TABLE minikafka_topics.big ALTER value SET STORAGE PLAIN, ALTER key SET STORAGE PLAIN;
RESET ROLE;
DO $$
DECLARE
	segment regclass = (SELECT oid FROM pg_class WHERE relkind = 'r' AND relname = format('p%s_0_0',
		(SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.unique'::regclass)));
BEGIN
	EXECUTE format('CREATE UNIQUE INDEX ON %s (key)', segment);
	EXECUTE format('CREATE INDEX ON %s ((encode(value, ''escape'')::int))', segment);
END $$;
CREATE TABLE business (id text, doc text);
CREATE TRIGGER o AFTER INSERT OR UPDATE ON business FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('strict', 'id');
});

# name => statement with TEXT, NUMBER or BYTES, that fails
my @cases = (
	'json value'        => q~SELECT minikafka.send('json', '{"pan": NUMBERx}')~,
	'json escape'       => q~SELECT minikafka.send('json', '{"TEXT": "\u0000"}')~,
	'json number'       => q~SELECT minikafka.send('json', '{"a": NUMBERe1000000}')~,
	'json end'          => q~SELECT minikafka.send('json', '{"TEXT": ')~,
	'json bytes'        => q~SELECT minikafka.send('json', '\xBYTESff'::bytea)~,
	'text bytes'        => q~SELECT minikafka.send('text', '\xBYTESe228'::bytea)~,
	'append json'       => q~SELECT minikafka.append('json', 0, 'TEXT', 'TEXT')~,
	'no headers'        => q~SELECT minikafka.send('strict', '1', 'TEXT')~,
	'check of the key'  => q~SELECT minikafka.send('strict', '1', 'TEXT', '{"h": "TEXT"}')~,
	'check that fails'  => q~SELECT minikafka.send('strict', 'TEXT', 'k', '{"h": "TEXT"}')~,
	'check at COMMIT'   => q~SELECT minikafka.send('row', 'TEXT')~,
	'check of offset'   => q~SELECT minikafka.send('row', '725188')~,
	'too large'         => q~SELECT minikafka.send('small', 'TEXT', 'TEXT')~,
	'no key'            => q~SELECT minikafka.send('compacted', 'TEXT')~,
	'unique index'      => q~SELECT minikafka.send('unique', '1', 'TEXT');
							SELECT minikafka.send('unique', '2', 'TEXT')~,
	'expression index'  => q~SELECT minikafka.send('unique', 'TEXT', 'k')~,
	'large key'         => q~SELECT minikafka.send('unique', '1', (SELECT string_agg(md5('TEXT' || i), 'TEXT') FROM generate_series(1, 300) i))~,
	'large row'         => q~SELECT minikafka.send('big', (SELECT string_agg(md5('TEXT' || i), 'TEXT') FROM generate_series(1, 300) i))~,
	'header value'      => q~SELECT minikafka.send('plain', 'v', headers => '{"h": {"TEXT": 1}}')~,
	'header array'      => q~SELECT minikafka.send('plain', 'v', headers => '["TEXT"]')~,
	'header scalar'     => q~SELECT minikafka.send('plain', 'v', headers => '"TEXT"')~,
	'header key'        => q~SELECT minikafka.send('plain', 'v', headers => '[{"key": NUMBER, "value": "TEXT"}]')~,
	'header base64'     => q~SELECT minikafka.send('plain', 'v', headers => '[{"key": "h", "base64": "TEXT!"}]')~,
	'header both'       => q~SELECT minikafka.send('plain', 'v', headers => '[{"key": "h", "base64": "TEXT", "value": "TEXT"}]')~,
	'no partition'      => q~SELECT minikafka.send('plain', 'TEXT', 'TEXT', partition => 7)~,
	'a sequence'        => q~SELECT minikafka.send('plain', 'TEXT', 'TEXT', producer => 'p', sequence => 9)~,
	'arrays'            => q~SELECT minikafka.send_many('plain', ARRAY['TEXT'], ARRAY['TEXT', 'TEXT'])~,
	'outbox, CHECK'     => q~INSERT INTO business VALUES ('TEXT', 'TEXT')~,
	'outbox, key'       => q~INSERT INTO business VALUES (NULL, 'TEXT')~,
	'inbox payload'     => q~SELECT minikafka.inbox_accept('c', 'e', 'TEXT');
							SELECT minikafka.inbox_accept('c', 'e', 'TEXT2')~,
	'fetch_json'        => q~SELECT minikafka.send('plain', '{"pan": NUMBERx}', 'TEXT');
							SELECT * FROM minikafka.fetch_json('plain', 0, 0)~,
	'fetch_text'        => q~SELECT minikafka.send('plain', '\xBYTESe228'::bytea, '\xBYTESff'::bytea);
							SELECT * FROM minikafka.fetch_text('plain', 0, 1)~,
	'fetch_json, key'   => q~SELECT * FROM minikafka.fetch_json('plain', 0, 1)~,
	'poll_json'         => q~SELECT minikafka.join_group('g', '{plain}', 'm');
							SELECT minikafka.poll_json('g', 'm')~,
	'poll_text'         => q~SELECT minikafka.seek('g', 'm', 'plain', 0, 1);
							SELECT minikafka.poll_text('g', 'm')~,
	'acknowledge'       => q~SELECT minikafka.create_share_group('s', '{plain}');
							SELECT minikafka.acknowledge('s', 'TEXT', 'fail', 'TEXT')~,
	'acknowledge, type' => q~SELECT minikafka.acknowledge('s', receipt, 'accept', 'TEXT', '1 s') FROM minikafka.acquire('s')~,
	'acknowledge, late' => q~SELECT receipt AS r FROM minikafka.acquire('s', lock_duration => '1 h') \gset
							SELECT minikafka.acknowledge('s', :'r', 'reject', 'TEXT');
							SELECT minikafka.acknowledge('s', :'r', 'fail', 'TEXT')~,
	# what cannot be decoded fails, and the call goes on
	'acquire_text'      => q~SELECT minikafka.acquire_text('s', 9, accept => true);
							SELECT minikafka.acquire_text('unknown')~,
	'acquire_json'      => q~SELECT minikafka.create_share_group('j', '{plain}');
							SELECT minikafka.acquire_json('j', 9, accept => true);
							SELECT minikafka.acquire_json('j', 9);
							SELECT 1 / 0~,
	'a worker fails'    => q~SELECT minikafka.send('plain', 'v', 'TEXT', '{"h": "TEXT"}');
							DO 'BEGIN PERFORM minikafka.acquire_text(''j''); PERFORM 1 / 0; END';
							SELECT minikafka.acquire_text('j')~,
	'letter, refused'   => q~SELECT minikafka.create_share_group('d', '{plain}', max_deliveries => 1, dead_letter_topic => 'strict');
							SELECT minikafka.acknowledge('d', receipt, 'fail', 'TEXT') FROM minikafka.acquire('d');
							SELECT 1 / 0~,
	'dead_letter'       => q~SELECT minikafka.dead_letter('g', 'plain', 0, 0, 'strict', 'TEXT')~,
	'dead_letter, none' => q~SELECT minikafka.dead_letter('g', 'plain', 0, 99, 'plain', 'TEXT')~,
	'redrive'           => q~SELECT minikafka.create_topic('letters', 1);
							SELECT minikafka.dead_letter('g', 'plain', 0, 0, 'letters', 'TEXT');
							SELECT minikafka.redrive('letters', target_topic => 'strict')~,
	'send_at'           => q~SELECT minikafka.send_at('json', 'TEXT', now(), 'TEXT')~,
	'send_at, due'      => q~SELECT minikafka.send_at('row', 'TEXT', now(), 'TEXT', '{"h": "TEXT"}');
							CALL minikafka.deliver_due();
							SELECT error FROM minikafka.scheduled WHERE error LIKE '%TEXT%';
							SELECT 1 / 0~,
	'send_at, headers'  => q~SELECT minikafka.send_at('plain', 'v', now(), headers => '{"h": {"TEXT": 1}}')~,
);

while (my ($name, $sql) = splice @cases, 0, 2)
{
	$sql =~ s/TEXT/$text/g;
	$sql =~ s/NUMBER/$number/g;
	$sql =~ s/BYTES/$bytes/g;
	# the contents as results are no messages
	my (undef, undef, $err) = $node->psql('postgres', $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=always' ],
		on_error_stop => 0);

	# psql shows the statement of an error of the parser: none of these is
	like($err, qr/ERROR:  [0-9A-Z]{5}/, "$name: fails");
	unlike($err, $hidden, "$name: and shows nothing");
}

# A database of another encoding, whose text is not all UTF-8
$node->safe_psql('postgres',
	q{CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0});
$node->safe_psql('ascii', q{CREATE EXTENSION minikafka;
	SELECT minikafka.create_topic('t', 1)});
my (undef, undef, $err) = $node->psql('ascii',
	qq{SELECT minikafka.send('t', convert_from('\\x${bytes}e228', 'SQL_ASCII'))},
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($err, qr/ERROR:  22P05: text of encoding "SQL_ASCII" cannot be stored/,
	'text that is not UTF-8 fails');
unlike($err, qr/$hidden|e2/, 'and shows nothing');

my $log = slurp_file($node->logfile);
like($log, qr/ERROR:  22P02: cannot read the record at offset 0/,
	'the log has the errors');
unlike($log, $hidden, 'and no contents');

done_testing();
