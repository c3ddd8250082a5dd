#!/usr/bin/env bash
#
# Checks that each file of test/sql and test/specs has its expected output, and
# that each expected output has its test.

set -euo pipefail
cd "$(dirname "$0")/.."

status=0
for test in test/sql/*.sql test/specs/*.spec; do
    name=$(basename "${test%.*}")
    if [ ! -e "expected/$name.out" ]; then
        echo "$test: no expected/$name.out; look at results/$name.out of a run, and copy it" >&2
        status=1
    fi
done
for output in expected/*.out; do
    name=$(basename "$output" .out)
    # a variant of the output of NAME is NAME_1, NAME_2 ...
    variant=${name%_[0-9]}
    if ! [ -e "test/sql/$name.sql" ] && ! [ -e "test/specs/$name.spec" ] &&
        ! [ -e "test/sql/$variant.sql" ] && ! [ -e "test/specs/$variant.spec" ]; then
        echo "$output: no test has this name; remove it" >&2
        status=1
    fi
done
exit "$status"
