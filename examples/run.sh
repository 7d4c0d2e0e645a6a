#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the installed packages of this machine: installs what is missing, builds, runs examples/verify_packages.
#
#   examples/run.sh [--keep] [OPTION…]   options go to verify_packages (--help lists them)
#
# The database is build/packages.db, new each time; --keep goes on with the one that is there.
set -eu
cd "$(dirname "$0")/.."

packages="cmake make g++ pkg-config librange-v3-dev libsqlite3-dev libpqxx-dev libssl-dev libcli11-dev"
build=build/examples
database=build/packages.db

fail() {
    echo "examples/run.sh: $*" >&2
    exit 1
}

# Runs quietly; what it said is shown only if it fails.
quietly() {
    "$@" >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        fail "'$*' failed; all of its output is in $log"
    }
}

mkdir -p "$build"
log=$build/run.log

missing=
for package in $packages; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *" installed") ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -n "$missing" ]; then
    [ "$(id -u)" -eq 0 ] || fail "some packages are missing; install them:  sudo apt-get install$missing"
    echo "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-get update
    # shellcheck disable=SC2086 # a list of words
    quietly apt-get install -y --no-install-recommends $missing
fi

echo "building verify_packages (the first time takes a minute or two)"
quietly cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DFILA_BUILD_TESTS=OFF -DFILA_WITH_TESTING=OFF
quietly cmake --build "$build" --target verify_packages --parallel "$(nproc)"

program=$build/examples/verify_packages/verify_packages
keep=
[ "${1:-}" != --keep ] || { keep=yes && shift; }
case " $*" in
*" --database"*) exec "$program" "$@" ;;
esac
[ -n "$keep" ] || rm -f "$database" "$database-wal" "$database-shm"
exec "$program" --database "$database" "$@"
