# shellcheck shell=bash
#
# Builds and installs minikafka from a copy of this checkout and runs a
# private server with it.  Sourced by test/run.sh, bench/run.sh, and the scripts
# in examples/:
#
#   . "$(dirname "$0")/../test/server.sh"
#   server_packages [PACKAGE ...]   installs what is missing; finds PostgreSQL
#   server_copy                     copies the checkout to a temporary folder
#   server_build [MAKE_OPTION ...]  builds and installs from there
#   server_start ['NAME = VALUE' ...]   more lines for postgresql.conf
#   server_psql -c 'CREATE EXTENSION minikafka'
#   server_stop
#   server_detach                   leaves all this in place when the script ends
#   server_attach FOLDER            finds it again, from another script
#
# A caller may start the server again, with other settings and the same data.
# Stopping it and removing the temporary folder at exit is seen to here.
#
# What the functions set for their callers:
#   PG_CONFIG PG_MAJOR PG_BINDIR   the PostgreSQL in use
#   SERVER_DIR                     the temporary folder
#   SERVER_BUILD                   the copy of the checkout in it
#   SERVER_LOG                     the server's log
#   PGHOST PGPORT PGUSER PGDATABASE   exported: any client finds the server
#
# What takes long is said on stderr.
#
# Environment: PG_CONFIG chooses an installation of PostgreSQL (its packages
# are then the caller's affair); KEEP=1 keeps the temporary folder; INSTALLED=1
# does not build and install minikafka: it is there.
#
# Works as root, or as a user that has sudo.  PostgreSQL refuses to run as
# root, so root's commands run as the user "postgres": see as_user.

CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Settings of the caller's shell must not lead a client to another server.
for variable in $(compgen -e PG || true); do
    case $variable in
        PG_CONFIG | PG_MATRIX | PG_ASSERT | PGMQ_SQL) ;;
        *) unset "$variable" ;;
    esac
done
unset variable MAKEFLAGS MAKELEVEL
# Messages are compared and read: they must not be translated.
export LC_ALL=C.UTF-8

server_die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        server_die "need root or sudo for: $*"
    fi
}

# as_user COMMAND: runs it in SERVER_BUILD, as a user other than root.
# PATH is kept as it is, for runuser may not.
as_user() {
    (
        cd "$SERVER_BUILD" || exit
        export HOME=$SERVER_DIR/home TMPDIR=$SERVER_DIR/tmp
        if [ "$(id -u)" = 0 ]; then
            exec runuser -u postgres -- env PATH="$PATH" "$@"
        fi
        exec "$@"
    )
}

# The major version to use where PG_CONFIG is not given: the newest that can
# build extensions, else the newest installed, else the distribution's.
server_find_major() {
    local tool major
    for tool in pg_config postgres; do
        major=$(find /usr/lib/postgresql/*/bin/"$tool" 2>/dev/null |
            cut -d / -f 5 | sort -n | tail -n 1 || true)
        # libpq-dev has a pg_config too, but not in this place
        if [ -n "$major" ]; then
            echo "$major"
            return
        fi
    done
    apt-cache depends postgresql 2>/dev/null |
        sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1
}

server_missing() {
    local package
    for package; do
        if [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" != \
            'install ok installed' ]; then
            echo "$package"
        fi
    done
}

# server_install PACKAGE ...: installs those that are missing.
server_install() {
    local missing log
    read -ra missing <<<"$(server_missing "$@" | paste -sd ' ')"
    if [ "${#missing[@]}" = 0 ]; then return; fi
    echo "installing ${missing[*]} (may take some minutes)" >&2
    as_root apt-get -qq update
    # another apt-get may be at work
    log=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
        -o DPkg::Lock::Timeout=300 install -y \
        --no-install-recommends "${missing[@]}" 2>&1) || {
        tail -n 40 <<<"$log" >&2
        server_die "could not install ${missing[*]}"
    }
}

# server_packages PACKAGE ...: what a build needs, and PACKAGEs.  A % in a
# name stands for PostgreSQL's major version.
server_packages() {
    if [ -n "${PG_CONFIG:-}" ]; then
        PG_CONFIG=$(command -v "$PG_CONFIG") ||
            server_die "PG_CONFIG names no program"
        PG_MAJOR=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
        local package others=()
        for package; do
            case $package in
                postgresql-*) ;;
                *) others+=("$package") ;;
            esac
        done
        server_install gcc libc6-dev make "${others[@]}"
    else
        PG_MAJOR=$(server_find_major)
        if [ -z "$PG_MAJOR" ]; then
            # a bare system has no package lists yet
            as_root apt-get -qq update
            PG_MAJOR=$(server_find_major)
        fi
        if [ -z "$PG_MAJOR" ]; then
            server_die "apt-get knows no package postgresql"
        fi
        server_install gcc libc6-dev make "postgresql-$PG_MAJOR" \
            "postgresql-server-dev-$PG_MAJOR" "${@//%/$PG_MAJOR}"
        PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config
    fi
    PG_BINDIR=$("$PG_CONFIG" --bindir)
    export PG_CONFIG PG_MAJOR PG_BINDIR
}

# The checkout itself stays as it is: it may be read-only, or another user's.
server_copy() {
    # Not in TMPDIR: the path of a socket must stay short.
    SERVER_DIR=$(mktemp -d /tmp/minikafka.XXXXXX)
    SERVER_BUILD=$SERVER_DIR/build
    SERVER_LOG=$SERVER_DIR/server.log
    trap server_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' HUP TERM
    mkdir "$SERVER_BUILD" "$SERVER_DIR/home" "$SERVER_DIR/tmp"
    tar -C "$CHECKOUT" --exclude=./.git --exclude=./tmp_check -cf - . |
        tar -C "$SERVER_BUILD" --no-same-owner -xf -
    chmod -R u+w "$SERVER_BUILD"
    if [ "$(id -u)" = 0 ]; then
        chown -R postgres: "$SERVER_DIR"
    fi
    # What was built in the checkout may be for another PostgreSQL.
    as_user make -s clean PG_CONFIG="$PG_CONFIG"
}

# server_build MAKE_OPTION ...
server_build() {
    if [ -n "${INSTALLED:-}" ]; then return; fi
    echo "building minikafka for PostgreSQL $PG_MAJOR (may take a minute)" >&2
    as_user make -s -j "$(nproc)" PG_CONFIG="$PG_CONFIG" "$@"
    local become=as_root
    # the owner of the installation needs no root
    if [ -w "$("$PG_CONFIG" --pkglibdir)" ] &&
        [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
        become=
    fi
    $become make -s -C "$SERVER_BUILD" install PG_CONFIG="$PG_CONFIG" "$@" \
        >/dev/null
}

# server_start LINE ...
server_start() {
    local data=$SERVER_DIR/data
    # The socket is in a folder that is ours alone, so any number will do.
    export PGHOST=$SERVER_DIR PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
    if [ ! -e "$data" ]; then
        as_user "$PG_BINDIR/initdb" --no-sync --auth=trust --no-locale \
            --encoding=UTF8 --username=postgres -D "$data" \
            >"$SERVER_DIR/initdb.log" || {
            cat "$SERVER_DIR/initdb.log" >&2
            server_die "initdb failed"
        }
        as_user tee -a "$data/postgresql.conf" >/dev/null <<LINES
listen_addresses = ''
unix_socket_directories = '$PGHOST'
port = $PGPORT
fsync = off
log_line_prefix = '%m [%p] %q%a '
include_if_exists = 'caller.conf'
LINES
    fi
    printf '%s\n' "$@" | as_user tee "$data/caller.conf" >/dev/null
    as_user "$PG_BINDIR/pg_ctl" -s -w -D "$data" -l "$SERVER_LOG" start || {
        cat "$SERVER_LOG" >&2
        server_die "the server did not start"
    }
}

# server_stop [MODE]: fast unless said otherwise
server_stop() {
    if [ -e "${SERVER_DIR:-}/data/postmaster.pid" ]; then
        as_user "$PG_BINDIR/pg_ctl" -s -w -D "$SERVER_DIR/data" \
            -m "${1:-fast}" stop
    fi
}

# server_psql ARGUMENT ...: runs in SERVER_BUILD and stops at the first error
server_psql() {
    as_user "$PG_BINDIR/psql" -X -v ON_ERROR_STOP=1 "$@"
}

# The caller says where the server is, and how to stop it.
server_detach() {
    trap - EXIT INT HUP TERM
}

# server_attach FOLDER: SERVER_DIR of the script that has called server_detach.
# PG_BINDIR is for the caller to restore.
server_attach() {
    SERVER_DIR=$1
    SERVER_BUILD=$SERVER_DIR/build
    SERVER_LOG=$SERVER_DIR/server.log
}

server_cleanup() {
    local status=$?
    # a second signal must not leave the server behind
    trap '' INT HUP TERM
    server_stop immediate || true
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $SERVER_DIR" >&2
    else
        rm -rf "$SERVER_DIR"
    fi
    exit "$status"
}
