#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh CMAKE BUILD PREFIX [OPTION…]: installs to another place and moves the tree to PREFIX, where it must work
# as well.
set -eu
cmake=$1 build=$2 prefix=$3
shift 3
rm -rf "$prefix" "$prefix.made"
"$cmake" --install "$build" --prefix "$prefix.made" "$@"
mv "$prefix.made" "$prefix"
