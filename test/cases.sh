#!/usr/bin/env bash
#
# Checks that each of Kafka's cases of consumer groups, of producers, of the log
# and of compaction is named by a test, as "Kafka case G07" or "Kafka cases G07,
# G11", or is in test/kafka-cases.md with the reason why not; and not in both.

set -euo pipefail
cd "$(dirname "$0")/.."

# Assignors, the group protocol, committed offsets; idempotent producers,
# transactions; the log, compaction.  Then share groups, with cases of SQS (Q), of
# Redis streams (X), of libraries that process keys side by side (W), and of retries,
# dead letters and pipelines (B).
cases="
A01 A02 A04 A05 A07 A08 A10 A11 A12 A13 A14 A16 A17 A19 A20 A22 A23 A25 A26 A28
A29 A31 A32
G01 G02 G04 G05 G07 G08 G10 G11 G13 G14 G16 G17 G19 G20 G22 G23 G25 G26 G28 G29
G31 G32 G34 G35 G37 G38
O01 O02 O04 O05 O07 O08 O10 O11 O13 O14 O16 O17 O19 O20 O22 O23 O25 O26 O28 O29
I01 I02 I03 I04 I05 I07 I08 I10 I11 I13 I14 I16 I17 I19 I20 I22 I23
T01 T02 T04 T05 T07 T08 T10 T11 T13 T14 T16 T17 T19 T20 T22 T23 T25 T26 T28 T29
T31 T32 T34
L01 L02 L04 L05 L07 L08 L10 L11 L13 L14 L16 L17 L19 L20 L22 L23 L25 L26 L28 L29
L31 L32 L34 L35 L37 L38 L40 L41
C01 C02 C04 C05 C06 C07 C08 C10 C11 C13 C14 C16 C17 C19 C20
S01 S02 S04 S05 S07 S08 S10 S11 S13 S14 S16 S17 S19 S20 S22 S23 S25 S26 S28 S29
Q01 Q02 Q04 Q05 Q07 Q08 Q10 Q11 Q13 Q14 Q16
X01 X02 X04 X05 X07 X08 X10 X11 X13 X14 X16 X17
W01 W02 W04 W05 W07 W08 W10
B01 B02 B04 B05 B07 B08 B10 B11
"

tested=$(grep -rhE 'Kafka cases? ' test/unit test/sql test/specs test/pgtap test/t |
    grep -oE '\b[AGOITLCSQXWB][0-9]{2}\b' | sort -u)
untested=$(sed -n 's/^| \([AGOITLCSQXWB][0-9][0-9]\) |.*/\1/p' test/kafka-cases.md | sort -u)

status=0
fail() {
    echo "$*" >&2
    status=1
}

for case in $cases; do
    in_tests=$(grep -cx "$case" <<<"$tested" || true)
    in_doc=$(grep -cx "$case" <<<"$untested" || true)
    case $((in_tests + in_doc)) in
        0) fail "$case: neither named by a test nor in test/kafka-cases.md" ;;
        2) fail "$case: in test/kafka-cases.md, but named by a test" ;;
    esac
done
for case in $tested $untested; do
    grep -qw "$case" <<<"$cases" || fail "$case: no such case"
done
exit "$status"
