#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures fila against what one would otherwise write or use, on this machine, side by side:
#
#   tests/bench/run.sh [--quick] [--rounds N] [SUITE…]
#
# Suites: postgres postgres_peers enqueue notify scale backlog steady sqlite in_process; all of them if none is named.
#
# Builds with -O2 in build/bench, starts a PostgreSQL of its own that syncs to disk, runs each pair by turns, and prints
# tables of medians and ratios; build/bench/results has them as JSON and as plots. Peers are installed by name (npm, PyPI,
# Go modules) into build/bench when a suite first asks for them; those that the machine cannot have are named as absent.
# --quick is one round of little, without peers, to see that everything runs: it fails if something does not, whatever the
# figures. Another load on the machine makes them worthless: the ratios of one run are what can be compared.
set -eu
cd "$(dirname "$0")/../.."

packages="g++ cmake ninja-build pkg-config libpqxx-dev libsqlite3-dev postgresql python3 python3-matplotlib"
case " $* " in
*" --quick "*) ;; # without peers
*)
    packages="$packages python3-venv libtbb-dev libasio-dev"
    command -v go >/dev/null 2>&1 || packages="$packages golang-go"
    command -v npm >/dev/null 2>&1 || packages="$packages nodejs npm"
    ;;
esac
if command -v dpkg-query >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    missing=
    for package in $packages; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed' || missing="$missing $package"
    done
    if [ -n "$missing" ]; then
        echo "installing$missing"
        # shellcheck disable=SC2086 # a list of words
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } \
            >/dev/null 2>&1 || echo "some could not be installed:$missing" >&2
    fi
fi

build=build/bench
mkdir -p $build
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS="-O2 -DNDEBUG" -DFILA_BUILD_TESTS=OFF \
    -DFILA_WITH_TESTING=OFF -DFILA_BUILD_EXAMPLES=OFF -DFILA_BUILD_BENCHMARKS=ON >$build.log 2>&1 || { cat $build.log; exit 1; }
cmake --build $build --target benchmarks >>$build.log 2>&1 || { tail -n 40 $build.log; exit 1; }

# The distribution's own, which has its packages, before any other in the PATH.
python=$(command -v /usr/bin/python3 || command -v python3)
# Counts what statements cost, for the suite that asks for it. A server without the library would not start with it, so
# the one that is asked is the one that is started.
bin=${FILA_POSTGRES_BIN:-$(dirname "$(readlink -f "$(command -v initdb)" || echo "$(pg_config --bindir 2>/dev/null)/initdb")")}
if [ -x "$bin/initdb" ] && [ -e "$("$bin/pg_config" --pkglibdir 2>/dev/null)/pg_stat_statements.so" ]; then
    export FILA_POSTGRES_BIN="$bin"
    statements="-c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track=none"
fi
# As a server is run, but for its size; checkpoints stay out of the runs.
FILA_POSTGRES_OPTIONS="${statements:-} -c max_connections=200 -c fsync=on -c synchronous_commit=on \
    -c full_page_writes=on -c shared_buffers=512MB -c max_wal_size=16GB -c checkpoint_timeout=30min -c jit=off" \
    tests/support/postgres_server.sh run "$python" tests/bench/bench.py --build $build/tests/bench --out $build/results "$@"
