#!/bin/sh
# SPDX-License-Identifier: MIT
# bare.sh DIRECTORY COMMAND…: runs a compiler in a fresh directory, and the consumer that it makes.
set -eu
rm -rf "$1"
mkdir -p "$1"
cd "$1"
shift
"$@" -o consumer
./consumer
