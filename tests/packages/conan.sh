#!/bin/sh
# SPDX-License-Identifier: MIT
# conan.sh DIRECTORY COMPILER VERSION: makes the Conan package without and with all of its options, and lets its test
# package use it. Conan comes from PyPI and lives in DIRECTORY with all that it makes. It is given no remote: libraries
# are those of the system, once as platform requirements, once in packages that are named like Conan Center's.
#
# Most of the time is the compiler's. It need not be spent again on a package that has passed: Conan puts each into a
# directory with a random name, and ccache knows the programs by the paths of what they include. So that is kept until
# any file that matters changes.
set -eu
directory=$1 compiler=$2 version=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$directory"
cd "$directory"

fail() {
    echo "conan.sh: $*" >&2
    exit 1
}

if ! [ -x venv/bin/conan ]; then
    rm -rf venv
    python3 -m venv venv || fail "no virtual environment of Python (Debian: python3-venv)"
    venv/bin/pip install --quiet --disable-pip-version-check 'conan>=2.18,<3' || fail "pip could not install conan"
fi
export CONAN_HOME="$directory/home" PYTHONDONTWRITEBYTECODE=1
conan=$directory/venv/bin/conan
profiles=$CONAN_HOME/profiles
ingredients=$(cd "$root" && find LICENSE conan include adapters tests/packages tests/consume -type f -exec sha256sum {} + | sort)
passed=$(cat passed 2>/dev/null || true)
rm -rf passed out wrapped
[ "$passed" = "$ingredients" ] || rm -rf "$CONAN_HOME"
[ -d "$profiles" ] || "$conan" profile detect --name detected >/dev/null 2>&1

launcher=$(command -v ccache || true)
cat >"$profiles/default" <<END
include(detected)
[settings]
compiler.cppstd=20
build_type=Debug
[conf]
tools.build:compiler_executables={"cpp": "$compiler"}
tools.build:jobs=1
tools.cmake.cmaketoolchain:generator=Ninja
tools.cmake.cmaketoolchain:extra_variables={"CMAKE_CXX_COMPILER_LAUNCHER": "$launcher", "CMAKE_CXX_FLAGS_DEBUG": "-O0"}
tools.cmake.cmake_layout:test_folder=$directory/out
END
printf 'include(default)\n[platform_requires]\n' >"$profiles/platform"

# of_the_system NAME FILE TARGET LIBRARY…: a library of the system as a platform requirement, and in a package.
of_the_system() {
    name=$1 library_version=$(pkg-config --modversion "$1") file=$2 target=$3
    shift 3
    echo "$name/$library_version" >>"$profiles/platform"
    wrap "$@"
}
# wrap LIBRARY…: the package $name/$library_version.
wrap() {
    mkdir -p "wrapped/$name"
    cat >"wrapped/$name/conanfile.py" <<END
from conan import ConanFile
class Wrapped(ConanFile):
    name, version = "$name", "$library_version"
    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "$file")
        self.cpp_info.set_property("cmake_target_name", "$target")
        self.cpp_info.includedirs = self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.system_libs = "$*".split()
END
    "$conan" export "wrapped/$name" >/dev/null
}
of_the_system sqlite3 SQLite3 SQLite::SQLite3 sqlite3
of_the_system libpqxx libpqxx libpqxx::pqxx pqxx pq
of_the_system catch2 Catch2 Catch2::Catch2WithMain Catch2WithMain
# A later one, which g++ 12 must not be given.
name=libpqxx library_version=8.0.2 file=libpqxx target=libpqxx::pqxx
wrap pqxx pq

create() {
    "$conan" create "$root/conan" --no-remote --build=missing "$@" >create.log 2>&1 || { cat create.log && fail "create $*"; }
}
everything="-o &:with_sqlite=True -o &:with_postgres=True -o &:with_testing=True"
create
create -pr platform $everything
create -pr default $everything
if [ "$("$compiler" -dumpversion | cut -d. -f1)" -lt 13 ] && grep -q "libpqxx/8" create.log; then
    fail "libpqxx 8, which needs g++ 13, was chosen for $compiler"
fi

# One package serves all, and it has every header.
packages=$("$conan" list "fila/$version:*" --format=compact | grep -o "fila/$version#[^ ]*:[0-9a-f]*" || true)
[ "$(echo "$packages" | grep -c .)" = 1 ] || fail "there should be one package of fila/$version, whatever the options"
package=$("$conan" cache path "$packages")
for headers in "$root/include" "$root/adapters/sqlite/include" "$root/adapters/postgres/include"; do
    (cd "$headers" && find . -name '*.hpp') | while read -r header; do
        cmp -s "$headers/$header" "$package/include/$header" || fail "the package lacks $header"
    done || exit 1
done
[ -s "$package/licenses/LICENSE" ] || fail "the package lacks the licence"

# refused "SAYING" OPTION…: fila cannot be had with these settings, and says why.
refused() {
    saying=$1
    shift
    ! "$conan" install --requires "fila/$version" --no-remote "$@" >refused.log 2>&1 || fail "'$*' was not refused"
    grep -qF "$saying" refused.log || { cat refused.log && fail "'$*' was refused without saying: $saying"; }
}
refused "is lower than the required C++ standard (20)" -s compiler.cppstd=17
refused "fila needs gcc 12 or later" -s compiler.version=11
refused "fila needs clang 16 or later" -s compiler=clang -s compiler.version=15 -s compiler.cppstd=20
printf '%s\n' "$ingredients" >passed
