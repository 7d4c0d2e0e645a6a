#!/bin/sh
# SPDX-License-Identifier: MIT
# Each C++ block of a README stands, to the letter, in a file that is compiled and run.
#
# A block is preceded by a line  <!-- from: path/of/the/file -->  ; a C++ block without one is an error.
# Usage: check_readme.sh <root> <readme>…
set -eu
root=$1
shift
for readme in "$@"; do
    awk -v root="$root" -v readme="$readme" '
        function contents(path,   text, line) {
            text = ""
            while ((getline line < path) > 0) text = text line "\n"
            close(path)
            return text
        }
        /^<!-- from: .* -->$/ { from = $3; next }
        /^ *```/ && !fenced {
            fenced = 1; inside = $0 == "```cpp"; block = ""; start = NR
            if (!inside && $0 !~ /^```(sh|cmake|ini|text)$/) {
                printf "%s:%d: a block of what? C++ is ```cpp\n", readme, NR; bad = 1
            }
            next
        }
        /^ *```$/ && !inside { fenced = 0; next }
        /^```$/ {
            fenced = inside = 0; ++blocks
            if (from == "") { printf "%s:%d: a C++ block that says no  <!-- from: file -->\n", readme, start; bad = 1 }
            else if (index(contents(root "/" from), block) == 0) {
                printf "%s:%d: the block is not in %s, to the letter\n", readme, start, from; bad = 1
            }
            from = ""
            next
        }
        inside { block = block $0 "\n" }
        END {
            if (fenced) { printf "%s:%d: a block without an end\n", readme, start; bad = 1 }
            printf "%s: %d C++ blocks\n", readme, blocks
            exit bad
        }
    ' "$root/$readme"
done
