#!/usr/bin/perl
#
# report.pl KIND LOG DETAILS REGRESSION_DIFFS LOG_FOLDER: what test/run.sh shows
# of a kind of tests.
#
# Reads the output of pg_regress (kinds sql and specs) or of prove, pg_prove and
# the unit tests (the others).  Copies it to the file LOG, and prints the name of
# each test file when the file has passed or failed.  Appends to the file DETAILS
# each file that failed, with its first failure and the names of its other failed
# assertions.  The last line of LOG becomes "counts PASSED FAILED".

use strict;
use warnings FATAL => 'all';

my ($kind, $log, $details, $diffs, $folder) = @ARGV;
my $is_regress = $kind =~ /^(?:sql|specs)$/;

# How many lines of a failure are shown, and how many names of other failures.
my $LINES = 20;
my $NAMES = 10;

my ($passed, $failed, $column) = (0, 0, 0);
my (@failures, @skipped, $file, $complete, @unknown);

$| = 1;
open(my $copy, '>', $log) or die "$log: $!";

# Prints a word in lines of at most 80 characters.
sub progress
{
	my ($word) = @_;

	if ($column > 0 && $column + length($word) > 78)
	{
		print "\n";
		$column = 0;
	}
	print $column == 0 ? '    ' : ' ', $word;
	$column += 1 + length($word) + ($column == 0 ? 3 : 0);
	return;
}

# ---------------------------------------------------------------------------
# pg_regress: "test x ... ok" up to 15, "ok 1 - x" from 16 on

sub read_regress
{
	my ($line) = @_;

	unless ($line =~ /^test (\S+)\s+\.\.\. (?:ok|FAILED)/
		|| $line =~ /^(?:not )?ok \d+\s+[-+] (\S+)/)
	{
		$complete = 1 if $line =~ /^[ #]*(?:All )?\d+ .*tests? (?:passed|failed)/;
		push @unknown, $line if $line =~ /^(?:pg_\w+|diff|Bail out!|# could)/;
		return;
	}

	my $name = $1;

	if ($line =~ /^(?:test .* \.\.\. ok|ok)/)
	{
		$passed++;
		progress($name);
		return;
	}
	$failed++;
	progress("FAILED:$name");
	push @failures, { name => $name, lines => [] };
	return;
}

# The first lines of the difference between what came and what was expected.
sub first_difference
{
	my ($name) = @_;
	my ($here, @lines);

	open(my $in, '<', $diffs) or return ("no $diffs");
	while (my $line = <$in>)
	{
		chomp $line;
		if ($line =~ /^diff /)
		{
			last if $here;
			$here = $line =~ m{/\Q$name\E\.out$};
		}
		elsif ($here && $line !~ /^(?:---|\+\+\+) /)
		{
			push @lines, $line;
		}
	}
	close $in;
	return @lines ? @lines : ('no difference in regression.diffs: see the log');
}

# ---------------------------------------------------------------------------
# TAP

sub end_file
{
	return unless $file;

	my $assertions = "$file->{failed} of $file->{run} assertions";

	if ($file->{failed} == 0 && !$file->{broken})
	{
		progress($file->{name}
			  . ($file->{run} ? "($file->{run})" : '(skipped)'));
	}
	else
	{
		# a file that ended before its time counts as one failure at least
		if ($file->{failed} == 0)
		{
			$failed++;
			$assertions = $file->{broken};
		}
		progress("FAILED:$file->{name}");
		my @lines = @{ $file->{lines} };
		my @names = @{ $file->{names} };

		@lines = last_words($file) unless @lines;
		splice @lines, $LINES if @lines > $LINES;
		if (@names > $NAMES)
		{
			my $more = @names - $NAMES;

			splice @names, $NAMES, @names, "... $more more";
		}
		push @failures,
		  { name => "$file->{name} ($assertions)", lines => [ @lines, @names ] };
	}
	undef $file;
	return;
}

# Of a file that failed without a failed assertion: what it said last.
sub last_words
{
	my ($ended) = @_;
	my @lines = @{ $ended->{other} };

	# TAP tests of PostgreSQL write what they die of to a log of their own.
	if (open(my $in, '<', "$folder/regress_log_$ended->{name}"))
	{
		@lines = ();
		while (my $line = <$in>)
		{
			chomp $line;
			# what went before the server's last start is past
			@lines = () if $line =~ /^server started/;
			push @lines, $line
			  unless $line =~
			  /^(?:#|\[[0-9:.]+\]|server st|waiting for server|\s*$)/;
		}
		close $in;
	}
	splice @lines, 0, @lines - $LINES if @lines > $LINES;
	return @lines;
}

sub read_tap
{
	my ($line) = @_;

	if (   $line =~ m{^test/\w+/(\S+)\.(?:t|sql) \.+ ?}
		|| $line =~ m{^# tmp_check/unit/(\S+)$}
		|| $line =~ /^# check (\S+)$/)
	{
		end_file();
		$file = {
			name   => $1,
			run    => 0,
			failed => 0,
			lines  => [], # of the first failed assertion
			names  => [], # of the others
			other  => []
		};
		return;
	}
	if ($line =~ /^Test Summary Report/)
	{
		end_file();
	}
	return unless $file;

	if ($line =~ /^1\.\.0 # skip ?(.*)/i || $line =~ /^ok \d+ # skip ?(.*)/i)
	{
		my $what = "$file->{name}: $1";

		push @skipped, $what unless grep { $_ eq $what } @skipped;
	}
	elsif ($line =~ /^ok\s+\d+/ || $line =~ /^not ok .*# TODO/)
	{
		$passed++;
		$file->{run}++;
		undef $file->{in_failure};
	}
	elsif ($line =~ /^not ok/)
	{
		$failed++;
		$file->{run}++;
		$file->{failed}++;
		$file->{in_failure} = $file->{failed} == 1;
		push @{ $file->{in_failure} ? $file->{lines} : $file->{names} }, $line;
	}
	elsif ($line =~ /^(Dubious.*|Failed \d+\/\d+ subtests.*|No subtests run.*|Parse errors.*)/
		|| $line =~ /^# (status [1-9].*)/)
	{
		$file->{broken} //= $1;
	}
	elsif ($file->{in_failure})
	{
		# what follows belongs to another query of the test
		undef $file->{in_failure} if $line =~ /^# issuing query/;
		push @{ $file->{lines} }, $line
		  unless $line =~ /^(?:make.*: .*|# issuing query .*|\s*)$/;
	}
	elsif ($line !~ /^(?:\s+|\d+\.\.\d+|# |ok$|All \d+ subtests passed)/)
	{
		push @{ $file->{other} }, $line;
	}
	return;
}

# ---------------------------------------------------------------------------

while (my $line = <STDIN>)
{
	print $copy $line;
	chomp $line;
	$is_regress ? read_regress($line) : read_tap($line);
}
end_file();

# pg_regress ends at a test of which it finds no expected output.
if ($is_regress && !$complete)
{
	$failed++;
	push @failures, { name => 'ended early', lines => \@unknown };
}

print "\n" if $column > 0;
print "    skipped: $_\n" for @skipped;
printf "    %d passed, %d failed\n", $passed, $failed;
print $copy "counts $passed $failed\n";
close $copy or die "$log: $!";

open(my $out, '>>', $details) or die "$details: $!";
for my $failure (@failures)
{
	my @lines = @{ $failure->{lines} };

	@lines = first_difference($failure->{name}) if $is_regress && !@lines;

	splice @lines, $LINES if $is_regress && @lines > $LINES;
	print $out "$kind: $failure->{name}\n", map({ "    $_\n" } @lines), "\n";
}
close $out or die "$details: $!";
