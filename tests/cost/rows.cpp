// SPDX-License-Identifier: MIT
// What a row costs that asks for nothing: null observer, no retries, the memory store, a handler of one addition.
//
//   rows <how many>      check_instructions.py counts what `drained` executes
#include <fila/clock/manual_clock.hpp>
#include <fila/executor/inline_executor.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/no_retry.hpp>
#include <fila/store/memory_store.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

template <class P>
[[gnu::noinline]] std::size_t drained(P& processor) {
    return processor.drain().completed;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::vector<std::uint64_t> const rows(std::strtoull(argv[1], nullptr, 10), 1);
    fila::MemoryStore<std::uint64_t> store;
    store.enqueue(rows);
    std::uint64_t sum = 0;
    fila::ManualClock clock;  // the engine cuts chunks by time, of which valgrind takes more than the program
    fila::Processor processor{store, fila::InlineExecutor{}, [&](std::uint64_t const& row) { sum += row; },
                              fila::NoRetry{}, clock};
    auto const done = drained(processor);
    return done == rows.size() && sum == rows.size() ? 0 : 1;
}
