// SPDX-License-Identifier: MIT
// WatchedClock: a ManualClock that knows when everybody who had to wake has woken and sleeps again.
#pragma once

#include "support/eventually.hpp"
#include <fila/clock/manual_clock.hpp>

#include <memory>
#include <mutex>
#include <set>

namespace fila_tests {

/// Give it to the processor, and `time` to the store. A handle.
class WatchedClock {
public:
    using policy_role = fila::clock_role;

    explicit WatchedClock(fila::ManualClock time) : time_{time} {}

    [[nodiscard]] fila::TimePoint now() const { return time_.now(); }
    void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                    fila::TimePoint t) const {
        {
            std::lock_guard guard{state_->mutex};
            state_->sleepers.insert(t);
        }
        time_.wait_until(lock, cv, t);
        std::lock_guard guard{state_->mutex};
        state_->sleepers.erase(state_->sleepers.find(t));
    }
    /// Whether `lanes` threads sleep, none of whom the time should have woken.
    [[nodiscard]] bool still(std::size_t lanes) const {
        std::lock_guard guard{state_->mutex};
        return state_->sleepers.size() == lanes && *state_->sleepers.begin() > now();
    }
    /// Lets time pass in small steps, and at each one whoever is due do what he has to.
    [[nodiscard]] bool pass(fila::Duration total, fila::Duration step, std::size_t lanes) const {
        for (auto const end = fila::later(now(), total); now() < end; time_.advance(step))
            if (!eventually([&] { return still(lanes); })) return false;
        return eventually([&] { return still(lanes); });
    }
    /// Whether `holds()` came true while time passed as in pass(), for as long as it takes.
    template <class Predicate>
    [[nodiscard]] bool until(Predicate holds, fila::Duration step, std::size_t lanes) const {
        return eventually([&] {
            if (holds()) return true;
            if (still(lanes)) time_.advance(step);
            return false;
        });
    }

private:
    struct State {
        std::mutex mutex;
        std::multiset<fila::TimePoint> sleepers;
    };
    fila::ManualClock time_;
    std::shared_ptr<State> state_ = std::make_shared<State>();
};
static_assert(fila::Clock<WatchedClock>);

}  // namespace fila_tests
