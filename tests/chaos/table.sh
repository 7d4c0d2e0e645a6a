#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of results as markdown, from what the chaos tests print:
#
#   tests/support/postgres_server.sh run ctest --test-dir build/gcc -L chaos -V | tests/chaos/table.sh
set -eu
echo "| fault | store | strategy | rows | lost | settled twice | recovery |"
echo "|---|---|---|--:|--:|--:|--:|"
sed -n 's/^.*CHAOS \(| .*[^ ]\) *$/\1 |/p' "$@" | LC_ALL=C sort -t '|' -k 3,3 -k 2,2 -k 4,4r
