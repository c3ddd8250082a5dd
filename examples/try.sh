#!/usr/bin/env bash
#
# bash examples/try.sh: a server to try minikafka on.
#
# Installs what is missing (Debian or Ubuntu; as root or with sudo), builds
# minikafka, starts a private server in a temporary folder, fills a topic with
# sample data (examples/try.sql), and opens psql.  Without a terminal psql reads
# statements from standard input.
#
# minikafka is installed into the PostgreSQL that is used, where it replaces
# another version of it, and stays after "stop".
#
# The server runs on when psql ends.  It listens on 127.0.0.1, with a password
# of its own, and on a socket in its folder.
#
#   bash examples/try.sh         starts the server, or opens psql on the one that runs
#   bash examples/try.sh stop    stops the server and removes all that it holds
#
#   PG_CONFIG=/path     use that PostgreSQL
#   INSTALLED=1         use the minikafka that is installed: do not build it
#
# XDG_STATE_HOME, or else ~/.local/state, holds a file that tells where the server is.

# shellcheck disable=SC2031,SC2119 # HOME of as_user; the functions' arguments are optional
set -euo pipefail
# shellcheck source=test/server.sh
. "$(dirname "${BASH_SOURCE[0]}")/../test/server.sh"

STATE=${XDG_STATE_HOME:-${HOME:-/root}/.local/state}/minikafka-try

# What is said goes to stderr: stdout is for the results of statements.
say() {
    printf '%s\n' "$@" >&2
}

# find_running: attaches to the server that an earlier call has left; false if
# there is none
find_running() {
    local state
    if [ ! -e "$STATE" ]; then return 1; fi
    mapfile -t state <"$STATE"
    if [ "${#state[@]}" != 4 ] || [ ! -e "${state[0]}/data/PG_VERSION" ]; then
        rm -f "$STATE" # the temporary folder is gone
        return 1
    fi
    server_attach "${state[0]}"
    PG_BINDIR=${state[1]} port=${state[2]} password=${state[3]}
}

# The first port, from 54320 on, on which nothing listens
free_port() {
    local port
    for ((port = 54320; port < 54420; port++)); do
        if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    server_die "no port from 54320 to 54419 is free"
}

start() {
    server_start "listen_addresses = '127.0.0.1'" "port = $port" \
        "hba_file = '$SERVER_DIR/pg_hba.conf'" \
        "shared_preload_libraries = 'minikafka'" "minikafka.database = 'postgres'"
    export PGPORT=$port
}

# A new server, in a new folder
make_server() {
    server_packages
    server_copy
    server_build
    port=$(free_port)
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    # Only this user can reach the socket; everybody on the machine the port.
    as_user tee "$SERVER_DIR/pg_hba.conf" >/dev/null <<'LINES'
local all all trust
host all all 127.0.0.1/32 scram-sha-256
LINES
    start
    server_psql -q -c "ALTER ROLE postgres PASSWORD '$password'"
    server_psql -q -f examples/try.sql
    (
        umask 077
        mkdir -p "$(dirname "$STATE")"
        printf '%s\n' "$SERVER_DIR" "$PG_BINDIR" "$port" "$password" >"$STATE"
    )
    server_detach
}

greet() {
    local version
    version=$("$PG_BINDIR/postgres" --version | sed 's/^[^0-9]*\([0-9.]*\).*/\1/')
    say '' "PostgreSQL $version with minikafka runs in $SERVER_DIR." \
        'Topic "flights" has 5,000 records in 3 partitions.  The key is an airport.  Try:' \
        '' \
        '  SELECT * FROM minikafka.partitions;' \
        "  SELECT \"offset\", key, value FROM minikafka.fetch_text('flights', 0, 0, 5);" \
        "  SELECT minikafka.send('flights', '{\"delay\": 7}', key => 'ORD');" \
        '' \
        '  -- a consumer: poll, work and commit, in one transaction' \
        "  SELECT minikafka.join_group('mine', '{flights}', 'me');" \
        '  BEGIN;' \
        "  SELECT partition, \"offset\", key, value FROM minikafka.poll_text('mine', 'me', 5);" \
        "  SELECT * FROM minikafka.commit('mine', 'me');" \
        '  COMMIT;' \
        "  SELECT * FROM minikafka.lag('mine');" \
        '' \
        'Connect from another terminal, or with a driver:' \
        "  psql postgresql://postgres:$password@127.0.0.1:$port/postgres" \
        'or, for most drivers and the programs of examples/drivers:' \
        "  export PGHOST=127.0.0.1 PGPORT=$port PGDATABASE=postgres PGUSER=postgres PGPASSWORD=$password" \
        'The server runs on when you leave psql.  To stop it and remove all that it holds:' \
        '  bash examples/try.sh stop' ''
}

case ${1:-} in
    '')
        if find_running; then
            if [ ! -e "$SERVER_DIR/data/postmaster.pid" ]; then
                start >&2 </dev/null
            fi
        else
            make_server >&2 </dev/null
        fi
        greet
        export PGHOST=$SERVER_DIR PGPORT=$port PGUSER=postgres PGDATABASE=postgres
        if [ -t 0 ]; then
            exec "$PG_BINDIR/psql"
        fi
        exec "$PG_BINDIR/psql" -X -v ON_ERROR_STOP=1
        ;;
    stop)
        find_running || server_die "no server runs, as far as $STATE tells" \
            "(started by another user or with sudo? HOME or XDG_STATE_HOME names that file's folder)"
        server_stop
        rm -rf "$SERVER_DIR" "$STATE"
        say "stopped, and removed $SERVER_DIR" \
            'minikafka stays installed in PostgreSQL.  To remove it:' \
            "  make uninstall PG_CONFIG=$PG_BINDIR/pg_config"
        ;;
    *) server_die "usage: bash examples/try.sh [stop]" ;;
esac
