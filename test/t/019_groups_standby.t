# Groups on a streaming standby: they can be looked at, not used.  Promoted, they
# go on where they stopped; what members had open on the old primary is undone.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node    = new_node('primary');
my $standby = new_standby($node, 'standby');

sub sql { return $node->safe_psql('postgres', $_[0]); }
sub there { return $standby->safe_psql('postgres', $_[0]); }

sql(q{
SELECT minikafka.create_topic('t', 2);
CREATE TABLE effects (member text, partition int, "offset" bigint);
SELECT minikafka.join_group('g', '{t}', 'a', session_timeout => '1 h');
SELECT minikafka.join_group('g', '{t}', 'b', 'i', session_timeout => '1 h');
SELECT minikafka.join_group('e', '{t}', 'a', protocol => 'eager',
	auto_offset_reset => 'none');
SELECT minikafka.join_group('left', '{t}', 'a');
SELECT minikafka.leave_group('left', 'a');
SELECT minikafka.commit_offset('plain', 't', 1, 0, 'note');
SELECT minikafka.send('t', 'x', partition => p)
FROM generate_series(0, 1) p, generate_series(1, 10) i;
SELECT minikafka.seek('e', 'a', 't', p, 9 * p) FROM generate_series(0, 1) p;
});

# Polls so many and works, in a transaction that is left open.
sub begin_work
{
	my ($session, $member, $max) = @_;

	ask($session, qq{BEGIN;
		INSERT INTO effects SELECT '$member', partition, "offset"
		FROM minikafka.poll('g', '$member', $max);
		SELECT FROM minikafka.commit('g', '$member')});
	return;
}

my ($a, $b) = map { new_session($node) } 'a', 'b';
begin_work($a, 'a', 3);
ask($a, 'COMMIT');
ask($a, q{SELECT FROM minikafka.poll('g', 'a', 2)});
begin_work($b, 'b', 4);
ask($b, 'COMMIT');
begin_work($b, 'b', 4);
wait_standby($node, $standby);

# ---------------------------------------------------------------------------
# Looking

my $looking = new_session($standby);
is(ask($looking, q{SELECT * FROM minikafka.assignment('g', 'a')}),
	't|0|f', 'assignment()');
is(ask($looking, q{SELECT * FROM minikafka.assignment('g', 'b')}),
	't|1|f', 'assignment() of a static member');
is(state_after($looking, q{SELECT * FROM minikafka.assignment('g', 'none')}),
	'MK025', 'assignment() of an unknown member');
is(state_after($looking, q{SELECT * FROM minikafka.assignment('left', 'a')}),
	'MK025', 'assignment() of one that has left');
is( ask($looking, q{SELECT minikafka.committed('g', 't', 0),
			minikafka.committed('g', 't', 1), minikafka.committed('left', 't', 0)}),
	'3|4|', 'committed()');
my $lag = q{SELECT topic, partition, log_start_offset, end_offset,
	committed_offset, lag, time_lag > '0', member_id FROM %s ORDER BY partition};
is( ask($looking, sprintf $lag, q{minikafka.lag('g')}),
	"t|0|0|10|3|7|t|a\nt|1|0|10|4|6|t|b", 'lag()');
is( ask($looking, sprintf $lag,
		q{minikafka.consumer_lag WHERE group_id = 'g'}),
	"t|0|0|10|3|7|t|a\nt|1|0|10|4|6|t|b", 'view consumer_lag');
is( ask($looking, q{SELECT group_id, generation, state, assignor, protocol, members
		FROM minikafka.groups ORDER BY group_id COLLATE "C"}),
	"e|1|Stable|sticky|eager|1\ng|2|Stable|sticky|cooperative|2\n"
	  . "left|2|Empty|sticky|cooperative|0\nplain|0|Empty|||0",
	'view groups');
is( ask($looking, q{SELECT group_id, member_id, instance_id, topics, partitions,
			last_seen >= last_poll
		FROM minikafka.group_members ORDER BY group_id, member_id}),
	"e|a||{t}|2|t\ng|a||{t}|1|t\ng|b|i|{t}|1|t", 'view group_members');
is(sql(q{SELECT member_id FROM minikafka.group_members WHERE in_transaction}),
	'b', 'one is at work on the primary');
is( ask($looking, q{SELECT count(*) FROM minikafka.group_members
		WHERE in_transaction}), '0', 'which the standby does not know');
is( ask($looking, q{SELECT group_id, topic, partition, "offset", metadata,
			member_id, generation
		FROM minikafka.group_offsets ORDER BY group_id, partition}),
	"g|t|0|3||a|2\ng|t|1|4||b|2\nplain|t|1|0|note||", 'view group_offsets');

# what changes there is seen here, also by a session that has looked before
sql(q{SELECT minikafka.join_group('g', '{t}', 'c', session_timeout => '1 h')});
sql(q{SELECT minikafka.leave_group('g', 'c')});
begin_work($a, 'a', 3);
ask($a, 'COMMIT');
wait_standby($node, $standby);
is(ask($looking, q{SELECT generation, members FROM minikafka.groups
		WHERE group_id = 'g'}), '4|2', 'a change is seen');
is(state_after($looking, q{SELECT * FROM minikafka.assignment('g', 'c')}),
	'MK025', 'the one that came and left');
is(ask($looking, q{SELECT minikafka.committed('g', 't', 0)}),
	'8', 'an offset is seen');

# as a member of pg_monitor, and as roles that have next to nothing, or nothing
sql(q{CREATE ROLE monitor; CREATE ROLE nobody; CREATE ROLE stranger;
	GRANT pg_monitor TO monitor; GRANT USAGE ON SCHEMA minikafka TO nobody});
wait_standby($node, $standby);
is(there(q{SET ROLE monitor; SELECT count(*) FROM minikafka.groups;
		SELECT count(*) FROM minikafka.lag('g')}), "4\n2", 'for pg_monitor');
is(there(q{SET ROLE nobody; SELECT count(*) FROM minikafka.groups}),
	'0', 'for a role without rights to a topic');
is(sqlstate($standby, q{SET ROLE nobody; SELECT * FROM minikafka.lag('g')}),
	'42501', 'it is refused');
is(sqlstate($standby, q{SET ROLE stranger; SELECT * FROM minikafka.groups}),
	'42501', 'a role without USAGE does not come in');

# ---------------------------------------------------------------------------
# Using is refused, whatever it is

for my $call (
	q{SELECT minikafka.join_group('g', '{t}')},
	q{SELECT minikafka.join_group('new', '{t}', 'm')},
	q{SELECT minikafka.join_group('g', '{t}', NULL, 'i')},
	q{SELECT minikafka.leave_group('g', 'a')},
	q{SELECT minikafka.heartbeat('g', 'a')},
	q{SELECT * FROM minikafka.poll('g', 'a')},
	q{SELECT * FROM minikafka.poll_text('g', 'a', max_wait => '1 min')},
	q{SELECT * FROM minikafka.poll_json('g', 'a')},
	q{SELECT * FROM minikafka.commit('g', 'a')},
	q{SELECT minikafka.commit_offset('g', 't', 0, 8, member_id => 'a')},
	q{SELECT minikafka.commit_offset('plain', 't', 0, 8)},
	q{SELECT minikafka.seek('g', 'a', 't', 0, 8)},
	q{SELECT minikafka.pause('g', 'a', 't', 0)},
	q{SELECT minikafka.resume('g', 'a', 't', 0)},
	q{SELECT * FROM minikafka.reset_offsets('plain', 't', 'earliest')},
	q{SELECT minikafka.delete_group('plain')},
	q{SELECT minikafka.grant_group('plain', 'nobody')},
	q{SELECT minikafka.revoke_group('plain', 'nobody')},
	q{CALL minikafka.wait_for_records('g', 'a', '1 min')})
{
	my ($state, $text) = state_after($looking, $call);

	is($state, '25006', "refused: $call");
	like($text, qr/in a read-only transaction/, "and says why: $call");
}

# ---------------------------------------------------------------------------
# Promoted, with work open on the old primary

begin_work($a, 'a', 1);
wait_standby($node, $standby);
$node->stop('immediate');
$standby->promote;
eval { $_->quit } for $a, $b;

is(there(q{SELECT count(*) FROM effects WHERE member = 'a'}),
	'6', 'promoted: the open work is not there');
is( there(q{SELECT string_agg(member_id || ':' || partitions, ' '
			ORDER BY member_id) FROM minikafka.group_members WHERE group_id = 'g'}),
	'a:1 b:1', 'promoted: the members are');
is( ask($looking, q{SELECT generation, state FROM minikafka.groups
		WHERE group_id = 'g'}), '4|Stable', 'promoted: no rebalance');

# one goes on where it was, in the session that has looked until now; the other
# starts again
is( ask($looking, q{SELECT partition, count(*), min("offset")
		FROM minikafka.poll('g', 'a') GROUP BY 1}),
	'0|2|8', 'it polls from its position on');
is(ask($looking, q{SELECT partition, "offset" FROM minikafka.commit('g', 'a')}),
	'0|10', 'and commits');
my $again = there(q{SELECT minikafka.join_group('g', '{t}', instance_id => 'i')});
is( there(qq{BEGIN;
		INSERT INTO effects SELECT 'b', partition, "offset"
		FROM minikafka.poll('g', '$again');
		SELECT partition, "offset" FROM minikafka.commit('g', '$again');
		COMMIT}), '1|10', 'the other joins again, and polls the rest');
is(there(q{SELECT generation FROM minikafka.groups WHERE group_id = 'g'}),
	'4', 'without a rebalance');
is( there(q{SELECT count(*), count(DISTINCT "offset") FROM effects
		WHERE member = 'b'}), '10|10', 'its work is done once');
is(sqlstate($standby, q{SELECT FROM minikafka.poll('g', 'b')}),
	'MK082', 'its former id is fenced');

# members get numbers that none had
there(q{SELECT minikafka.join_group('g', '{t}', 'c')});
is( there(q{SELECT count(*) - count(DISTINCT member_no)
		FROM minikafka.group_member}), '0', 'numbers are new');
is( there(q{SELECT count(*) FROM minikafka.poll('e', 'a')}),
	'11', 'positions that were sought are there');
there(q{SELECT minikafka.send('t', 'x', partition => p)
	FROM generate_series(0, 1) p});
is( ask($looking, q{SELECT count(*) FROM minikafka.poll('g', 'a',
		max_wait => '1 min')}), '1', 'it goes on');
is(problems($standby, 't'), '', 'the topic is sound');
$looking->quit;

done_testing();
