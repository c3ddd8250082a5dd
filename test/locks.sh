#!/usr/bin/env bash
#
# Checks the numbers of the extension's locks, which src/mk_lock.h owns:
# - there each has one of its own, and they ascend without a gap;
# - the table in doc/operations.md has the same numbers, and says of each what
#   the comment in src/mk_lock.h says;
# - a number in sql/ is followed by the name of the lock, and is its number;
# - documents and tests name no other number of that range.

set -euo pipefail
cd "$(dirname "$0")/.."

header=src/mk_lock.h
table=doc/operations.md

perl - "$header" "$table" sql/parts/*.sql README.md doc/*.md doc/*/*.md \
    test/sql/* test/specs/* test/pgtap/* test/t/* <<'PERL'
use strict;
use warnings;

my ($header, $table, @others) = @ARGV;
my $bad = 0;

sub complain { print STDERR "@_\n"; $bad = 1; }

sub slurp
{
	my ($path) = @_;
	open(my $file, '<', $path) or die "$path: $!\n";
	local $/;
	return scalar <$file>;
}

# The kinds: /* what a holder does */ MK_LOCK_NAME = number
my ($enum) = slurp($header) =~ /typedef enum MkLockKind\n\{(.*?)\n\}/s
	or die "$header: no enum MkLockKind\n";
my (%name, %number, %says);
my $last;
while ($enum =~ m{/\*(.*?)\*/\s*(MK_LOCK_\w+)(?: = (\d+))?(?:,|\s*$)}sg)
{
	my ($says, $name, $number) = ($1, $2, $3);
	if (!defined $number)
	{
		complain("$header: $name has no explicit number");
		next;
	}
	complain("$header: $name does not have the number after the last one")
		if defined $last && $number != $last + 1;
	$says =~ s/\s*\n\s*\*\s*/ /g;
	$says =~ s/^\s+|\s+$//g;
	($name{$number}, $number{$name}, $says{$number}) = ($name, $number, $says);
	$last = $number;
}
complain("$header: no locks found") if !%name;
my $names = () = $enum =~ /^\s*MK_LOCK_/mg;
complain("$header: a lock without a comment") if $names != keys %name;

# The table: | number | what a holder does | ...
my %seen;
for (split /\n/, slurp($table))
{
	next unless /^\| (\d{5}) \| (.*?) \|/;
	my ($number, $says) = ($1, $2);
	$says =~ tr/`//d;
	$seen{$number} = 1;
	if (!exists $says{$number})
	{
		complain("$table: no lock has number $number");
	}
	elsif ($says ne $says{$number})
	{
		complain("$table: $number \"$says\" is in $header "
			. "\"$says{$number}\"");
	}
}
for (sort keys %name)
{
	complain("$table: the table lacks $_, $name{$_}") unless $seen{$_};
}

# Everywhere else
for my $path ($table, @others)
{
	next unless -f $path;
	my $line = 0;
	for (split /\n/, slurp($path))
	{
		$line++;
		while (/\b(19[78]\d\d)\b/g)
		{
			my $number = $1;
			complain("$path:$line: no lock has number $number")
				unless exists $name{$number};
			next unless $path =~ /^sql/ && exists $name{$number};
			complain("$path:$line: $number is $name{$number}, and should be "
				. "followed by that name")
				unless /\b$number -- \Q$name{$number}\E$/;
		}
	}
}
exit 1 if $bad;
print "locks: ", scalar(keys %name), " numbers, the same everywhere\n";
PERL
