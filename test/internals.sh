#!/usr/bin/env bash
#
# Checks doc/internals.md:
# - its tables of "Layers and files" have each file of src/, in the layers of
#   .ci/layers and in their order, and no other file;
# - each function, type and constant that the document names exists in src/,
#   and so does each test, script and part of the SQL objects.

set -euo pipefail
cd "$(dirname "$0")/.."

document=doc/internals.md
status=0
fail() {
    echo "$document: $*" >&2
    status=1
}

# section TITLE: the lines below that heading
section() {
    awk -v title="## $1" '/^## / { on = $0 == title; next } on' "$document"
}

# "LAYER FILE", one a line, of .ci/layers, and of the tables: | layer | file |
listed=$(sed -n '/^layers="$/,/^"$/p' .ci/layers |
    awk 'NF > 1 && $1 != "-" { for (i = 2; i <= NF; i++) print $1, $i }')
# shellcheck disable=SC2016
named=$(section 'Layers and files' |
    sed -nE 's/^\| *([a-z_]*) *\| `(mk_[a-z0-9_]+)` \| .+/\1|\2/p' |
    awk -F '|' '$1 != "" { layer = $1 } { print layer, $2 }')

for path in src/*.[ch]; do
    file=$(basename "${path%.*}")
    case $'\n'$named$'\n' in
        *" $file"$'\n'*) ;;
        *) fail "no $file in \"Layers and files\": add a line that says what it is for" ;;
    esac
done
while read -r layer file; do
    if [ ! -e "src/$file.c" ] && [ ! -e "src/$file.h" ]; then
        fail "\"Layers and files\" has $file, which is not in src/"
    elif ! grep -qx "$layer $file" <<<"$listed"; then
        fail "\"Layers and files\" has $file in layer $layer, unlike .ci/layers"
    fi
done <<<"$named"
if [ "$(awk '{ print $1 }' <<<"$named" | uniq)" != \
    "$(awk '{ print $1 }' <<<"$listed" | uniq)" ]; then
    fail "the layers are not in the order of .ci/layers"
fi

# What stands in backticks, without blocks of code
# shellcheck disable=SC2016
quoted=$(awk '/^ *```/ { code = !code; next } !code' "$document" |
    grep -oE '`[^`]+`' | tr -d '`' | sort -u)

while read -r name; do
    if [ -n "$name" ] && ! grep -qrw "$name" src; then
        fail "there is no $name in src/"
    fi
done <<<"$(grep -oE '\b(mk_[a-z0-9_]*[a-z0-9]|MK_[A-Z0-9_]*[A-Z0-9]|Mk[A-Z][A-Za-z]+)\b' <<<"$quoted" | sort -u)"

while read -r name; do
    case $name in
        '' | *NAME*) ;;
        */*) if [ ! -e "$name" ]; then fail "there is no $name"; fi ;;
        *)
            if [ ! -e "$name" ] &&
                [ -z "$(find src test sql/parts -name "$name")" ]; then
                fail "there is no $name"
            fi
            ;;
    esac
done <<<"$(grep -oE '^[A-Za-z0-9_./-]+\.(c|h|sql|spec|t|pm|sh|md)$|^\.ci/[a-z]+$' <<<"$quoted" | sort -u)"
exit "$status"
