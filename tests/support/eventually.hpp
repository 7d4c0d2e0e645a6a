// SPDX-License-Identifier: MIT
// eventually: waits for another thread's doing, but not for ever.
#pragma once

#include <chrono>
#include <thread>

namespace fila_tests {

/// Whether `holds()` became true within the budget. Only a broken program uses the budget up.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate holds, std::chrono::seconds budget = std::chrono::seconds{60}) {
    auto const end = std::chrono::steady_clock::now() + budget;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return holds();
        std::this_thread::yield();
    }
    return true;
}

/// Whether `holds()` came true while a clock of the test's went on, `step` in each millisecond of ours. (As fast as it
/// can, every lease would have run out before its row is begun.)
template <class ManualClock, class Predicate>
[[nodiscard]] bool in_time(ManualClock const& clock, Predicate holds,
                           std::chrono::milliseconds step = std::chrono::milliseconds{100}) {
    return eventually(
        [&] {
            if (holds()) return true;
            clock.advance(step);
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            return false;
        },
        std::chrono::seconds{100});
}

}  // namespace fila_tests
