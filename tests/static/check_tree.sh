#!/bin/sh
# SPDX-License-Identifier: MIT
# check_tree.sh RULE ROOT COMPILER: what every file of the tree keeps to. Prints each offence; exit status 1 if any.
set -eu
rule=$1 compiler=$3
cd "$2"
offences=$(mktemp)
trap 'rm -f "$offences"' EXIT

headers() { find include adapters/*/include -name '*.hpp' | sort; }

case $rule in
names) # a header is found by its name alone; only umbrellas may be called what their main header is called
    headers | grep -v '^include/fila/[a-z]*\.hpp$' | sed 's|.*/||' | sort | uniq -d | while read -r name; do
        echo "two headers are called $name:" $(headers | grep "/$name\$")
    done >"$offences"
    ;;
headers) # licence, purpose, guard, and a length that one can read
    headers | while read -r file; do
        [ "$(sed -n 1p "$file")" = "// SPDX-License-Identifier: MIT" ] || echo "$file: line 1 is not the SPDX line"
        case $(sed -n 2p "$file") in "// "*) ;; *) echo "$file: line 2 does not say what it is for" ;; esac
        grep -q '^#pragma once$' "$file" || echo "$file: no #pragma once"
        [ "$(wc -l <"$file")" -le 400 ] || echo "$file: more than 400 lines"
        ! grep -n '^ *using namespace [^;]*;$' "$file" | grep -v _literals || echo "$file: using namespace"
    done >"$offences"
    ;;
dependencies) # the core knows no database; concepts need the standard library only
    ! grep -rnE '#include *[<"](pqxx|sqlite3|postgresql|libpq)' include >"$offences" || true
    find include -name '*_concept.hpp' -exec grep -nE '#include *[<"](range/|catch2/)' {} + >>"$offences" || true
    grep -rnE '#include *[<"]catch2' include --include='*.hpp' | grep -v '^include/fila/testing/' >>"$offences" || true
    ;;
umbrellas) # the umbrella of a room brings all of the room, fila.hpp all of the core but the table, which SQL stores bring
    for room in include/fila/*/; do
        room=$(basename "$room")
        umbrella=include/fila/$room.hpp
        case $room in detail | testing) continue ;; esac
        [ -f "$umbrella" ] || { echo "$umbrella is missing" && continue; }
        brought=$("$compiler" -std=c++20 -Iinclude -MM "$umbrella" | tr -d '\\' | tr ' ' '\n')
        for file in $(find "include/fila/$room" -name '*.hpp'); do
            echo "$brought" | grep -qx "$file" || echo "$umbrella does not bring $file"
        done
    done >"$offences"
    [ -f include/fila/fila.hpp ] || { echo "include/fila/fila.hpp is missing" && exit 1; }
    brought=$("$compiler" -std=c++20 -Iinclude -MM include/fila/fila.hpp | tr -d '\\' | tr ' ' '\n')
    find include/fila -name '*.hpp' | grep -vE '^include/fila/(testing|table)' | while read -r file; do
        echo "$brought" | grep -qx "$file" || echo "include/fila/fila.hpp does not bring $file"
    done >>"$offences"
    ;;
clocks) # case 114: no wait depends on the wall clock
    grep -rn 'chrono::system_clock' include >"$offences" || true
    ;;
tests) # each room has its tests, under the same name
    for room in include/fila/*/; do
        room=$(basename "$room")
        case $room in detail | types | testing) continue ;; esac
        [ -n "$(find "tests/$room" -name '*.cpp' 2>/dev/null)" ] || echo "include/fila/$room has no tests in tests/$room"
    done >"$offences"
    ;;
cases) # the table of cases and the tests tell of each other; a name may be written as several literals in a row
    table=tests/CASES.md
    names=$(mktemp)
    trap 'rm -f "$offences" "$names"' EXIT
    find tests -name '*.cpp' | sort | while read -r file; do
        tr '\n' ' ' <"$file" | sed 's/" *"//g' | grep -oE 'TEST_CASE\( *"([^"\\]|\\.)*"' |
            sed "s|^TEST_CASE( *\"|$(basename "$file")	|; s|\"\$||"
    done >"$names"
    sed -n 's/^\(.*\)	\(.*;.*\)$/\1: a test called "\2": ctest would run what is before and after the semicolon/p' "$names" >"$offences"
    grep -oE '(^|[^a-z])case [0-9]+(, (case )?[0-9]+)*' "$names" | grep -oE '[0-9]+' | sort -un | while read -r number; do
        grep -q "^| $number | " "$table" || echo "a test names case $number, which has no row in $table"
    done >>"$offences"
    grep -oE '`[^`]*` \([a-z_]+\.cpp\)' "$table" | sort -u | sed 's/^`\(.*\)` (\(.*\))$/\2	\1/' >"$names.told"
    awk -F'\t' 'NR == FNR { known[$1] = known[$1] "\n" $2; next }
        index(known[$1], $2) == 0 { print "tests/CASES.md: no test of " $1 " is called " $2 }' "$names" "$names.told" >>"$offences"
    rm -f "$names.told"
    grep -oE 'rule `[^`]*`' "$table" | sed 's/^rule `\(.*\)`$/\1/' | sort -u | while read -r name; do
        grep -rqF "\"$name\"" include/fila/testing/rules || echo "$table: no rule is called $name"
    done >>"$offences"
    awk -F' [|] ' '/^[|] [0-9]/ && (NF != 3 || $2 == "" || $3 ~ /^ *[|]?$/) { print "tests/CASES.md: row " $1 " is not whole" }' \
        "$table" >>"$offences"
    ;;
*)
    echo "unknown rule $rule" >&2
    exit 2
    ;;
esac

[ ! -s "$offences" ] || { cat "$offences" && exit 1; }
