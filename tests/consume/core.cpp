// SPDX-License-Identifier: MIT
#include <fila/fila.hpp>

#include <atomic>
#include <vector>

int main() {
    fila::MemoryStore<int> store;
    std::vector<int> const rows{1, 2, 3};
    store.enqueue(rows, {});
    std::atomic<int> sum{0};
    fila::Processor p{store, fila::ThreadPool{2}, [&](int n) { sum += n; }};
    p.drain();
    return sum == 6 ? 0 : 1;
}
