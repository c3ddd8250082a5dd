#!/usr/bin/env bash
#
# A producer and a consumer with psql; purchases.sql creates their procedures.
#
#   bash purchases.sh produce COUNT
#   bash purchases.sh consume GROUP INSTANCE COUNT

set -euo pipefail

# run SQL NAME=VALUE ...: the statements, with :'NAME' in them
run() {
    local variable options=()
    for variable in "${@:2}"; do
        options+=(-v "$variable")
    done
    psql -XAtq -v ON_ERROR_STOP=1 -v VERBOSITY=verbose "${options[@]}" <<<"$1"
}

join() {
    run "SELECT minikafka.join_group(:'group', '{purchases}', instance_id => :'instance')" \
        "group=$group" "instance=$instance"
}

consume() {
    local member error
    member=$(join)
    until error=$(run "CALL consume(:'group', :'member', :'count')" \
        "group=$group" "member=$member" "count=$count" 2>&1); do
        case $error in
            # the transaction is rolled back: a partition has moved to another
            # member, another session has polled for this member;
            # serialization failure, deadlock, lock_timeout
            *'ERROR:  MK022:'* | *'ERROR:  MK101:'* | \
                *'ERROR:  40001:'* | *'ERROR:  40P01:'* | *'ERROR:  55P03:'*) ;;
            # the member was removed: a timeout has passed
            *'ERROR:  MK025:'*) member=$(join) ;;
            *'ERROR:  MK082:'*)
                echo "another process has taken over as $instance" >&2
                return 1
                ;;
            # the work has failed
            *'ERROR:  '*)
                echo "$error" >&2
                sleep 1
                ;;
            # the connection is lost: a supervisor starts the program again
            *)
                echo "$error" >&2
                return 1
                ;;
        esac
        sed -nE 's/.*ERROR:  (.{5}):.*/\1: goes on/p' <<<"$error" >&2
    done
    run "SELECT minikafka.leave_group(:'group', :'member')" \
        "group=$group" "member=$member"
}

case $1 in
    produce) run "CALL produce(:'count')" "count=$2" ;;
    consume)
        group=$2 instance=$3 count=$4
        consume
        ;;
esac
