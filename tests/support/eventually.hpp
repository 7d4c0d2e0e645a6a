// SPDX-License-Identifier: MIT
// eventually: waits for another thread's doing, but not for ever.
#pragma once

#include <chrono>
#include <thread>

namespace fila_tests {

/// Whether `holds()` became true within the budget. Only a broken program uses the budget up.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate holds, std::chrono::seconds budget = std::chrono::seconds{30}) {
    auto const end = std::chrono::steady_clock::now() + budget;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return holds();
        std::this_thread::yield();
    }
    return true;
}

}  // namespace fila_tests
