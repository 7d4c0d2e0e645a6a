#!/bin/sh
# SPDX-License-Identifier: MIT
# run_target.sh TARGET SEEDS OPTION…: runs a fuzz target from its seeds. What it finds of new inputs goes into a
# directory beside the target, fresh for each run, so that a run is a function of its -seed; an input that fails is
# kept there too, and named in the output. The last lines say how much of the code was covered.
set -eu
target=$1 seeds=$2
shift 2
found=$target.found
rm -rf "$found"
mkdir -p "$found/inputs"
"$target" "$@" -print_final_stats=1 -artifact_prefix="$found/" "$found/inputs" "$seeds" >"$found/log" 2>&1 || {
    grep -A 4 -E '^not so: |ERROR: |runtime error: ' "$found/log" || true
    tail -n 100 "$found/log"
    exit 1
}
sed -n "s|^#\([0-9]*\).*DONE *|$(basename "$target"): \1 inputs, |p" "$found/log"
grep -E '^Done |^stat::' "$found/log"
