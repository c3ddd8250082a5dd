# Programs of examples/ that run in the background of a test.

package Programs;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run ();
use MinikafkaTest;
use Test::More;

our @EXPORT = qw(works start ended end_ok all_say);

# Whether a program runs at all.
sub works
{
	my @command = @_;
	my $ok = eval { IPC::Run::run(\@command, '<', \undef, '>&', \my $log) };

	return $ok;
}

# start(NODE, ENVIRONMENT, COMMAND ...): starts a program that finds the node by
# its environment, to which the reference's variables are added.
sub start
{
	my ($node, $environment, @command) = @_;
	my %program = (out => '', err => '');

	local %ENV = ($node->_get_env(), %$environment);

	# A shell starts what it runs in the background without these: the program could
	# not be interrupted.
	local @SIG{qw(INT QUIT)} = ('DEFAULT') x 2;
	$program{run} = IPC::Run::start(
		\@command, '<', \undef, '>', \$program{out}, '2>', \$program{err},
		IPC::Run::timeout($MinikafkaTest::TIMEOUT));
	return \%program;
}

# Waits until a program ends; returns its exit status.
sub ended
{
	my ($program) = @_;

	$program->{run}->finish;
	return $program->{run}->result(0);
}

# Waits until the programs end, which is a test of each; a reference to a hash, by name.
sub end_ok
{
	my ($programs, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (sort keys %$programs)
	{
		is(ended($programs->{$_}), 0, "$_ $name")
		  or diag($programs->{$_}{out}, $programs->{$_}{err});
	}
	return;
}

# Waits until each program has written this to stderr.
sub all_say
{
	my ($programs, $what) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	for (sort keys %$programs)
	{
		my $program = $programs->{$_};

		$program->{run}->pump
		  until $program->{err} =~ $what || !$program->{run}->pumpable;
		like($program->{err}, $what, "$_ says $what");
	}
	return;
}

1;
