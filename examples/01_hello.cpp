// SPDX-License-Identifier: MIT
// Hello: three rows in memory, two workers.
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/memory_store.hpp>

#include <iostream>
#include <string>

int main() {
    fila::MemoryStore<std::string> names;
    names.enqueue({"Ana", "Bruno", "Carla"});

    fila::Processor greeter{names, fila::ThreadPool{2},
                            [](std::string const& name) { std::cout << "hello, " + name + '\n'; }};
    auto const report = greeter.drain();

    std::cout << report.completed << " rows completed\n";
    return report.completed == 3 ? 0 : 1;
}
