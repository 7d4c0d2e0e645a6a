#!/bin/sh
# SPDX-License-Identifier: MIT
# A private PostgreSQL for the tests: a throw-away cluster in a temporary directory, reached by unix socket only.
#
#   postgres_server.sh run CMD ARG…   start, run CMD with FILA_TEST_POSTGRES set, stop; the exit status is CMD's
#   eval "$(postgres_server.sh start)"  start and export FILA_TEST_POSTGRES and FILA_TEST_POSTGRES_DIR
#   postgres_server.sh stop [DIR]     stop that one (default: $FILA_TEST_POSTGRES_DIR) and remove its directory
#   postgres_server.sh crash DIR      end it as a crash does (stop -m immediate); its data stay
#   postgres_server.sh boot DIR       start it again, on what it left
#
# Needs any installed PostgreSQL (PATH, pg_config, or the usual places; FILA_POSTGRES_BIN names another). As root
# the server runs as user `postgres`, since it refuses root. The server log is DIR/log (FILA_TEST_POSTGRES_LOG).
set -eu

fail() {
    echo "postgres_server.sh: $*" >&2
    exit 1
}

find_binaries() {
    if [ -n "${FILA_POSTGRES_BIN:-}" ]; then
        [ -x "$FILA_POSTGRES_BIN/initdb" ] || fail "FILA_POSTGRES_BIN=$FILA_POSTGRES_BIN has no initdb"
        echo "$FILA_POSTGRES_BIN"
        return
    fi
    if command -v initdb >/dev/null 2>&1; then
        dirname "$(command -v initdb)"
        return
    fi
    if command -v pg_config >/dev/null 2>&1 && [ -x "$(pg_config --bindir)/initdb" ]; then
        pg_config --bindir
        return
    fi
    # The newest version wins; 10 sorts after 9 by number.
    for dir in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
        /usr/local/pgsql/bin 2>/dev/null | sort -rV); do
        if [ -x "$dir/initdb" ]; then
            echo "$dir"
            return
        fi
    done
    fail "no PostgreSQL server found: install one (Debian: apt install postgresql), or set FILA_POSTGRES_BIN"
}

as_server_user() {
    if [ "$(id -u)" -eq 0 ]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

# Starts the server of a directory. FILA_POSTGRES_OPTIONS holds more options, such as "-c max_connections=20".
boot_server() {
    as_server_user "$(find_binaries)/pg_ctl" -D "$1/data" -w -t 60 -l "$1/log" -o "-c listen_addresses='' -k $1 \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=100 -c deadlock_timeout=100ms \
        -c max_prepared_transactions=10 -c log_line_prefix='%a|%p|' ${FILA_POSTGRES_OPTIONS:-}" start >"$1/start.log" 2>&1
}

ours() {
    case $1 in
    /tmp/fila-pg-*) ;;
    *) fail "'$1' is not a directory that this script made" ;;
    esac
}

start_server() {
    bin=$(find_binaries)
    # Not $TMPDIR: a socket path has at most 107 bytes, and user postgres must reach it.
    dir=$(mktemp -d /tmp/fila-pg-XXXXXX)
    if [ "$(id -u)" -eq 0 ]; then
        id postgres >/dev/null 2>&1 || fail "the server refuses root and there is no user postgres to run it"
        chown postgres: "$dir"
    fi
    chmod 700 "$dir"
    cd / # the server's user may not see the current directory
    if ! {
        as_server_user "$bin/initdb" -D "$dir/data" -A trust -U postgres --no-sync -E UTF8 --locale=C.UTF-8 ||
            as_server_user "$bin/initdb" -D "$dir/data" -A trust -U postgres --no-sync -E UTF8 --locale=C
    } >"$dir/initdb.log" 2>&1; then
        cat "$dir/initdb.log" >&2
        rm -rf "$dir"
        fail "initdb failed"
    fi
    # In the file and not on the command line, so that a test may set it anew.
    echo "autovacuum = off" >>"$dir/data/postgresql.conf"
    if ! boot_server "$dir"; then
        cat "$dir/start.log" "$dir/log" >&2 2>/dev/null || true
        rm -rf "$dir"
        fail "the server did not start"
    fi
    FILA_TEST_POSTGRES_DIR=$dir
    FILA_TEST_POSTGRES_LOG=$dir/log
    FILA_TEST_POSTGRES="host=$dir user=postgres dbname=postgres"
    export FILA_TEST_POSTGRES_DIR FILA_TEST_POSTGRES_LOG FILA_TEST_POSTGRES
}

stop_server() {
    dir=$1
    ours "$dir"
    [ -d "$dir" ] || return 0
    (
        cd /
        as_server_user "$(find_binaries)/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || true
    )
    rm -rf "$dir"
}

case ${1:-} in
start)
    start_server >&2
    for name in FILA_TEST_POSTGRES FILA_TEST_POSTGRES_DIR FILA_TEST_POSTGRES_LOG; do
        eval "value=\$$name"
        echo "export $name='$value'"
    done
    ;;
stop)
    stop_server "${2:-${FILA_TEST_POSTGRES_DIR:-}}"
    ;;
crash)
    ours "$2"
    cd /
    as_server_user "$(find_binaries)/pg_ctl" -D "$2/data" -m immediate -w stop >"$2/stop.log" 2>&1 || {
        cat "$2/stop.log" >&2
        fail "the server did not stop"
    }
    ;;
boot)
    ours "$2"
    cd /
    boot_server "$2" || {
        cat "$2/start.log" >&2
        fail "the server did not start"
    }
    ;;
run)
    shift
    [ $# -gt 0 ] || fail "run what?"
    here=$(pwd)
    FILA_TEST_POSTGRES_DIR=
    trap '[ -z "$FILA_TEST_POSTGRES_DIR" ] || stop_server "$FILA_TEST_POSTGRES_DIR"' EXIT
    child=
    trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 130' HUP INT TERM
    start_server
    cd "$here"
    # In the background, so that a signal to this script is served at once and not after the command.
    "$@" &
    child=$!
    status=0
    wait "$child" || status=$?
    child=
    exit "$status"
    ;;
*)
    sed -n '3,12p' "$0" >&2
    exit 2
    ;;
esac
