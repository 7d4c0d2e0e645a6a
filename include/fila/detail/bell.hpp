// SPDX-License-Identifier: MIT
// Bell: one sleeper, many ringers. A ring is never lost, and costs no system call unless the sleeper sleeps.
#pragma once

#include <fila/detail/linger.hpp>
#include <fila/types/time.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace fila::inline v1::detail {

class Bell {
public:
    void ring() {
        if (state_.load() == rung) return;
        if (state_.exchange(rung) == asleep) {
            // The sleeper is between its compare-exchange and its wait, or waiting: the lock sorts that out.
            // Notified under it, since the sleeper may destroy the bell as soon as it wakes.
            std::lock_guard lock{mutex_};
            wake_.notify_one();
        }
    }
    [[nodiscard]] bool is_rung() const noexcept { return state_.load() == rung; }
    /// Before looking for work, so that a ring during the look is kept.
    void quiet() noexcept {
        if (is_rung()) state_.store(silent);
    }
    template <class Clock>
    void wait(Clock& clock, TimePoint until) {
        if (clock.now() < until)
            linger_.until([this] { return state_.load(std::memory_order_relaxed) != silent; });
        std::unique_lock lock{mutex_};
        int expected = silent;
        if (state_.compare_exchange_strong(expected, asleep))
            while (state_.load() == asleep && clock.now() < until) clock.wait_until(lock, wake_, until);
        state_.store(silent);
    }

private:
    enum : int { silent, rung, asleep };
    std::atomic<int> state_{silent};
    std::mutex mutex_;
    std::condition_variable wake_;
    Linger linger_;
};

}  // namespace fila::inline v1::detail
