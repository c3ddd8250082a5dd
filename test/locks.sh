#!/usr/bin/env bash
#
# Checks the numbers of the extension's locks, which src/mk_lock.h owns:
# - there each has one of its own, and they ascend without a gap;
# - the table in doc/operations.md has the same numbers, and says of each what
#   the comment in src/mk_lock.h says;
# - a number in sql/ is followed by the name of the lock, and is its number;
# - documents and tests name no other number of that range;
# - the order in which a commit takes locks is the same in doc/internals.md (rows
#   of its table), doc/operations.md and the ranks of src/mk_xact.h;
# - no lock is both waited for and never waited for.

set -euo pipefail
cd "$(dirname "$0")/.."

header=src/mk_lock.h
table=doc/operations.md
order=doc/internals.md
ranks=src/mk_xact.h

perl - "$header" "$table" "$order" "$ranks" sql/parts/*.sql README.md doc/*.md doc/*/*.md \
    test/sql/* test/specs/* test/pgtap/* test/t/* <<'PERL'
use strict;
use warnings;

my ($header, $table, $order, $ranks, @others) = @ARGV;
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
# The order: | place | NUMBER, lock | taken by | waits for |
my (@order, %never);
for (split /\n/, slurp($order))
{
	next unless /^\| (\d+) \| (\d{5}), .* \| (.*?) \|$/;
	my ($place, $number, $waits_for) = ($1, $2, $3);
	push @order, $number;
	$never{$number} = 1 if $waits_for =~ /^nothing/;
	complain("$order: lock $number has place $place, not " . @order)
		if $place != @order;
}
complain("$order: no order of locks found") if !@order;

# What other places say leaves some out, in the same order.
sub compare
{
	my ($where, @numbers) = @_;
	my %has = map { $_ => 1 } @numbers;
	my @same = grep { $has{$_} } @order;
	complain("$where: locks are taken in the order @numbers, in $order @order")
		if !@numbers || "@numbers" ne "@same";
	return;
}

my $text = slurp($table);
$text =~ s/\s+/ /g;
my ($says_order) = $text =~ /takes these locks in the order ([\d, ]+)\./;
my ($says_waits) = $text =~ /In ordinary use, sessions wait for ([^.]+)\./;
my ($says_never) = $text =~ /No session ever waits for ([^.]+)\./;
complain("$table: a sentence about order or waits is missing")
	unless $says_order && $says_waits && $says_never;
compare($table, $says_order =~ /\d{5}/g);
my %says_never = map { $_ => 1 } $says_never =~ /\d{5}/g;
for ($says_waits =~ /\d{5}/g)
{
	complain("$table: sessions wait for $_, and never do") if $says_never{$_};
}
for (@order)
{
	complain("$table: no session ever waits for $_, as $order says")
		if $never{$_} && !$says_never{$_};
	complain("$table: $_ is in the order of a commit, so sessions wait for it")
		if !$never{$_} && $says_never{$_};
	complain("$table: the order lacks $_, for which sessions wait")
		if $says_waits =~ /$_/ && $says_order !~ /$_/;
}
for ($says_order =~ /\d{5}/g)
{
	complain("$order: the order lacks $_") unless "@order" =~ /$_/;
}

# A rank has the name of its lock, or takes none that another session waits for.
my ($enum_ranks) = slurp($ranks) =~ /typedef enum MkDeferredRank\n\{(.*?)\n\}/s
	or die "$ranks: no enum MkDeferredRank\n";
my @ranks;
for ($enum_ranks =~ /\bMK_RANK_(\w+)/g)
{
	my $lock = 'MK_LOCK_' . ($_ eq 'PROGRESS' ? 'GROUP_PARTITION' : $_);
	push @ranks, $number{$lock}
		if exists $number{$lock} && !$says_never{ $number{$lock} };
}
compare($ranks, @ranks);
my %ranked = map { $_ => 1 } @ranks;
for (grep { $_ ne $number{MK_LOCK_SEQUENCE} } $says_order =~ /\d{5}/g)
{
	complain("$ranks: no rank for $name{$_}") unless $ranked{$_};
}
exit 1 if $bad;
print "locks: ", scalar(keys %name), " numbers, the same everywhere\n";
PERL
