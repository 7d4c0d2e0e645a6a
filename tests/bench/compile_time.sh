#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What fila costs to compile: user time of g++ -O0, each unit in turn, medians of five turns, and the ratio to a base that
# is nothing but headers which a program with threads and ranges includes anyway. Then how large the programs are, -O2 and
# stripped.
#
#   tests/bench/compile_time.sh [ROUNDS]      CXX is heeded; Debian: g++ librange-v3-dev libpqxx-dev libsqlite3-dev
#
# User time bears another load on the machine better than the clock on the wall, but not well: compare within one run.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
rounds=${1:-5}
compile=("${CXX:-g++}" -std=c++20 -O0 -Iinclude -Iadapters/sqlite/include -Iadapters/postgres/include)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

names=()
libraries=()
unit() { # NAME [LIBRARIES]: its text is on the standard input; with libraries, or "-pthread", it is a program
    names+=("$1")
    libraries+=("${2:-}")
    cat >"$work/${#names[@]}.cpp"
}

unit 'base: `<vector>`, `<ranges>`, `<thread>`, the `chunk` of range-v3' <<'END'
#include <range/v3/view/chunk.hpp>

#include <ranges>
#include <thread>
#include <vector>
END
unit '`#include <fila/fila.hpp>`' <<'END'
#include <fila/fila.hpp>
END
unit 'a `Processor` over `MemoryStore`, `ThreadPool`' -pthread <<'END'
#include <fila/processor.hpp>
#include <fila/store/memory_store.hpp>
#include <fila/executor/thread_pool.hpp>

#include <string>

int main() {
    fila::MemoryStore<std::string> store;
    fila::Processor processor{store, fila::ThreadPool{4}, [](std::string const&) {}};
    return processor.run().completed == 0;
}
END
table='struct Payment {
    std::int64_t id = 0;
    std::string account;
};
constexpr auto payments = fila::table<Payment>("payments").key("id", &Payment::id)
    .column("account", &Payment::account).status("status").lease_until("until").fence("fence")
    .failures("failures").crashes("crashes").due_at("due");'
unit 'the same over `SqliteStore`' '-lsqlite3 -pthread' <<END
#include <fila/executor/thread_pool.hpp>
#include <fila/processor.hpp>
#include <fila/sqlite/sqlite_store.hpp>
$table
int main() {
    fila::sqlite::SqliteStore store{fila::sqlite::Config{"app.db"}, payments};
    fila::Processor processor{store, fila::ThreadPool{4}, [](Payment const&) {}};
    return processor.run().completed == 0;
}
END
unit 'the same over `PostgresStore`' '-lpqxx -lpq -pthread' <<END
#include <fila/executor/thread_pool.hpp>
#include <fila/postgres/postgres_store.hpp>
#include <fila/processor.hpp>
$table
int main() {
    fila::postgres::PostgresStore store{{.conninfo = "dbname=app"}, payments};
    fila::Processor processor{store, fila::ThreadPool{4}, [](Payment const&) {}};
    return processor.run().completed == 0;
}
END
unit 'for comparison: `#include <pqxx/pqxx>`' <<'END'
#include <pqxx/pqxx>
END
unit 'for comparison: the `chunk` of range-v3 alone' <<'END'
#include <range/v3/view/chunk.hpp>
END

TIMEFORMAT=%U
for ((round = 0; round <= rounds; ++round)); do
    for ((i = 1; i <= ${#names[@]}; ++i)); do
        { time "${compile[@]}" -c "$work/$i.cpp" -o "$work/object" 2>"$work/errors"; } 2>"$work/seconds" || {
            cat "$work/errors" >&2
            exit 1
        }
        # The first turn only brings the headers into memory.
        ((round == 0)) || cat "$work/seconds" >>"$work/$i.seconds"
    done
done

echo '| unit | seconds | × base |'
echo '|---|--:|--:|'
for ((i = 1; i <= ${#names[@]}; ++i)); do
    median=$(sort -n "$work/$i.seconds" | awk '{ s[NR] = $1 } END { print (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2 }')
    base=${base:-$median}
    awk -v name="${names[i - 1]}" -v median="$median" -v base="$base" \
        'BEGIN { printf "| %s | %.2f | %.2f |\n", name, median, median / base }'
done

echo
echo '| program, -O2, stripped | KB |'
echo '|---|--:|'
for ((i = 1; i <= ${#names[@]}; ++i)); do
    [ -n "${libraries[i - 1]}" ] || continue
    # shellcheck disable=SC2086 # a list of words
    "${compile[@]}" -O2 -DNDEBUG -s "$work/$i.cpp" -o "$work/program" ${libraries[i - 1]}
    echo "| ${names[i - 1]} | $(($(stat -c %s "$work/program") / 1000)) |"
done
