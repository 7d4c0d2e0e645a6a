#!/bin/sh
# SPDX-License-Identifier: MIT
# consume.sh CMAKE SOURCE BUILD EXPECT CMAKE-ARGUMENT…: configures, builds and runs one consumer. If EXPECT is not
# empty, configuring must fail, and say it (line breaks aside, since CMake wraps what it says).
set -eu
cmake=$1 source=$2 build=$3 expect=$4
shift 4
rm -rf "$build"
mkdir -p "$build"

if [ -n "$expect" ]; then
    if "$cmake" -S "$source" -B "$build" "$@" >"$build/configure.log" 2>&1; then
        echo "configuring succeeded, and should have said: $expect"
        exit 1
    fi
    tr -s ' \n' '  ' <"$build/configure.log" | grep -qF "$expect" && exit 0
    cat "$build/configure.log"
    echo "configuring failed without saying: $expect"
    exit 1
fi
"$cmake" -S "$source" -B "$build" "$@"
"$cmake" --build "$build"
cd "$build"
./consumer
