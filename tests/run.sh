#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and tests everything, from a fresh Debian 12 with this repository on it.
#
#   tests/run.sh         all configurations: gcc (plain, and all that is not a sanitizer's affair), clang (with the
#                        sanitizers of addresses and undefined behaviour), tsan (g++ with that of threads)
#   tests/run.sh quick   gcc only
#   tests/run.sh NAME…   some of: gcc clang tsan
#   tests/run.sh --soak MINUTES   only what gets better with time: the simulation, and worker processes in trouble
#
# Installs what is missing (as root), builds each configuration in build/NAME, runs its tests beside a private
# PostgreSQL, and prints ctest's closing lines. The exit status is 0 if everything passed.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$(pwd)
jobs=$(nproc 2>/dev/null || echo 2)

packages="g++ cmake ninja-build ccache pkg-config libpqxx-dev libsqlite3-dev sqlite3 catch2 librange-v3-dev
    libssl-dev libcli11-dev liblmdb-dev postgresql pgbouncer debsums doxygen valgrind python3-venv"
clang_packages="clang-19 libclang-rt-19-dev libc++-19-dev libc++abi-19-dev"

say() { printf '%s\n' "$*"; }
fail() {
    say "tests/run.sh: $*" >&2
    exit 2
}

install_missing() {
    command -v dpkg-query >/dev/null 2>&1 || {
        say "not a Debian: taking it that these, or what matches them, are installed:" $packages
        return
    }
    missing=
    for package in $packages; do
        case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
        *" installed") ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    [ "$(id -u)" -eq 0 ] || fail "packages are missing, and only root can install them:  apt-get install$missing"
    say "installing$missing"
    mkdir -p build
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of words
    if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >build/packages.log 2>&1; then
        tail -n 40 build/packages.log >&2
        fail "the packages could not be installed; build/packages.log has it all"
    fi
}

# Runs a command into the log of the configuration; shows what went wrong and the end of the log if it fails.
logged() {
    "$@" >>"$log" 2>&1 && return
    say "FAILED: $*"
    grep -E '^FAILED: |error: |Error at ' "$log" | cut -c1-300 | head -n 40
    say "…and the end of $log:"
    tail -n 30 "$log" | cut -c1-300
    return 1
}

# One line for each fuzz target: what it ran and covered.
fuzzed() { grep -hE '^fuzz_[a-z_]+: [0-9]+ inputs, ' "$1/Testing/Temporary/LastTest.log" 2>/dev/null; }
# What came after the list of tests: the percentage, the labels, the time, and which failed.
closing_lines() { sed -n '/tests passed,.*tests failed out of/,$p' "$1"; }

# What each failed test said, from a log of tests.
failures() {
    awk '/^ *[0-9]+\/[0-9]+ Test +#|^ +Start +[0-9]+: /{ show = /\*\*\*/; lines = 0 } show && ++lines <= 50' "$1" | cut -c1-300
}

# configuration NAME "TARGETS" "CTEST OPTIONS" CMAKE-OPTION…
configuration() {
    name=$1 targets=$2 selection=$3
    shift 3
    build=build/$name
    log=$build.log
    tests_log=$build.tests.log
    : >"$log" >"$tests_log"
    start=$(date +%s)
    say "== $name: building"
    # An address space that is laid out at random can leave the thread sanitizer no room.
    steady=
    if [ "$name" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then steady="setarch $(uname -m) -R"; fi
    logged cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE= "$@" || return 1
    for target in $targets; do
        # shellcheck disable=SC2086 # none, or a command of three words
        logged $steady cmake --build "$build" --parallel "$jobs" --target "$target" -- -k 0 || return 1
    done
    built=$(date +%s)
    say "== $name: built in $((built - start)) s, testing"
    # shellcheck disable=SC2086
    if tests/support/postgres_server.sh run $steady \
        ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error $selection >"$tests_log" 2>&1; then
        passed=0
    else
        passed=1
    fi
    say "== $name: tested in $(($(date +%s) - built)) s"
    closing_lines "$tests_log"
    fuzzed "$build"
    return $passed
}

# Optimised once, for the warnings that only then appear; the others find what they are there for without, and
# compile in half of the time. Line numbers are all that a report needs: -g1.
run_gcc() {
    configuration gcc "all all_verify_interface_header_sets" "" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS="-O1 -g1"
}
run_clang() {
    export LSAN_OPTIONS=suppressions=$root/tests/support/leaks_of_others.txt:print_suppressions=0
    export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
    configuration clang all "-LE lengthy" -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_CXX_FLAGS="-O0 -g1" \
        -DFILA_SANITIZE=address,undefined -DFILA_BUILD_EXAMPLES=OFF
}
run_tsan() {
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
    configuration tsan sanitized_tests "-L sanitized" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS="-O0 -g1" \
        -DFILA_SANITIZE=thread -DFILA_BUILD_EXAMPLES=OFF
}

# About so many minutes, half of it simulation: some 2000 worlds a second of each strategy.
run_soak() {
    log=build/soak.log
    : >"$log"
    logged cmake -S . -B build/gcc -G Ninja -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS="-O1 -g1" &&
        logged cmake --build build/gcc --parallel "$jobs" --target test_simulation --target test_chaos || return 1
    export FILA_SIMULATION_SEEDS=$((minutes * 30 * 2000))
    # Catch2 3 fails by itself where a name matches no test.
    strict=
    if build/gcc/tests/processor/test_simulation --help | grep -q 'Catch v2'; then strict="-w NoTests"; fi
    # shellcheck disable=SC2086 # none, or two words
    build/gcc/tests/processor/test_simulation $strict "*finished once*" || return 1
    chaos=$(ctest --test-dir build/gcc -N -L chaos | grep -c 'Test *#')
    export FILA_SOAK_SECONDS=$((minutes * 30 * jobs / chaos + 1))
    tests/support/postgres_server.sh run ctest --test-dir build/gcc -j "$jobs" --output-on-failure -L chaos
}

minutes=
if [ "${1:-}" = --soak ]; then
    minutes=${2:-}
    case $minutes in *[!0-9]*) minutes= ;; esac
    set -- soak
fi
case ${1:-all} in
all) set -- gcc clang tsan ;;
quick) set -- gcc ;;
esac
for name in "$@"; do
    case $name in
    gcc | tsan) ;;
    soak) [ -n "$minutes" ] || fail "a soak needs a number of minutes:  tests/run.sh --soak 60" ;;
    clang) packages="$packages $clang_packages" ;;
    *) fail "'$name' is no configuration: quick, all, or some of gcc clang tsan" ;;
    esac
done

install_missing
mkdir -p build
began=$(date +%s)
failed=
for name in "$@"; do
    "run_$name" || failed="$failed $name"
done

say "== in all $(($(date +%s) - began)) s"
if [ -n "$failed" ]; then
    for name in $failed; do
        say "== $name: what failed"
        failures "build/$name.tests.log"
    done
    say "FAILED:$failed (build/NAME.log and build/NAME.tests.log in $root have it all)"
    exit 1
fi
say "passed: $*"
