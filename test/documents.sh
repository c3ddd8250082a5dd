#!/usr/bin/env bash
#
# Checks the documents: that each file and each heading exists that a Markdown
# file links to, and each document that a comment names; that the consumer's
# errors are the same in each document; and that the chart of the benchmarks is
# drawn from the results.

set -euo pipefail
cd "$(dirname "$0")/.."

status=0
fail() {
    echo "$*" >&2
    status=1
}

# text FILE: a Markdown file without its blocks of code
text() {
    awk '/^```/ { code = !code; next } !code && !/^    / { print }' "$1"
}

# anchors FILE: of its headings, as GitHub makes them
anchors() {
    text "$1" | sed -nE 's/^#{1,6} +//p' |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/ +$//' |
        tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g' |
        awk '{ n = seen[$0]++; print n ? $0 "-" n : $0 }'
    grep -oE '<a (id|name)="[^"]*"' "$1" | sed -E 's/.*="(.*)"/\1/' || true
}

# links FILE: what it links to, one a line.  The text of a link may be on two lines.
links() {
    text "$1" | tr '\n' ' ' | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/' || true
}

# check WHERE LINK: the link is relative to the top folder
declare -A known
check() {
    local file=${2%%#*} anchor=
    if [[ $2 == *'#'* ]]; then anchor=${2#*#}; fi
    if [ ! -e "$file" ]; then
        fail "$1: there is no $file"
    elif [ -n "$anchor" ]; then
        if [ -z "${known[$file]:-}" ]; then
            known[$file]=$'\n'$(anchors "$file")$'\n'
        fi
        if [[ ${known[$file]} != *$'\n'"$anchor"$'\n'* ]]; then
            fail "$1: $file has no heading #$anchor"
        fi
    fi
}

documents=$(find . -name '*.md' -not -path './.git/*' \
    -not -path './tmp_check/*' -not -path '*/node_modules/*' | sort)

for document in $documents; do
    document=${document#./}
    folder=
    if [[ $document == */* ]]; then folder=${document%/*}/; fi
    while IFS= read -r link; do
        case $link in
            '' | *://* | mailto:*) ;;
            '#'*) check "$document" "$document$link" ;;
            *) check "$document" "$folder$link" ;;
        esac
    done <<<"$(links "$document")"
done

# Documents that are named by scripts and sources
while IFS=: read -r file name; do
    if [ -n "$name" ]; then check "$file" "$name"; fi
done <<<"$(grep -roE '\bdoc/[A-Za-z0-9_/-]+\.(md|svg)(#[a-z0-9_-]+)?' \
    src sql test examples bench .ci Makefile | sort -u)"

# The errors of a consumer: one table, in three documents
errors() {
    sed -n '/^| SQLSTATE | what has happened |/,/^$/p' "$1"
}
for document in doc/tutorial.md doc/drivers.md; do
    if [ "$(errors "$document")" != "$(errors doc/concepts/groups.md)" ]; then
        fail "$document: the table of SQLSTATEs is not that of doc/concepts/groups.md"
    fi
done

if ! python3 bench/chart.py bench/results.txt | cmp -s - doc/benchmarks.svg; then
    fail "doc/benchmarks.svg is not drawn from bench/results.txt:" \
        "python3 bench/chart.py bench/results.txt > doc/benchmarks.svg"
fi
exit "$status"
