// SPDX-License-Identifier: MIT
// WatchedClock: a ManualClock that knows when everybody who had to wake has woken and sleeps again.
#pragma once

#include "support/eventually.hpp"
#include <fila/clock/manual_clock.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace fila_tests {

/// Give it to the processor, and `time` to the store. A handle. It has to know of a lane that something else than time
/// has woken and that the machine has not let run yet, or time would pass by it as fast as a loop turns: each sleeper
/// is notified, and one whom nothing has woken comes back.
class WatchedClock {
public:
    using policy_role = fila::clock_role;

    explicit WatchedClock(fila::ManualClock time) : time_{time} {}

    [[nodiscard]] fila::TimePoint now() const { return time_.now(); }
    void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv,
                    fila::TimePoint t) const {
        std::list<Sleeper>::iterator me;
        {
            std::lock_guard guard{state_->mutex};
            me = state_->sleepers.insert(state_->sleepers.end(), {t, &cv, ++state_->turns});
        }
        time_.wait_until(lock, cv, t);
        std::lock_guard guard{state_->mutex};
        state_->sleepers.erase(me);
    }
    /// Whether `lanes` threads sleep or are about to wake, none of whom the time should have woken.
    [[nodiscard]] bool still(std::size_t lanes) const {
        std::lock_guard guard{state_->mutex};
        return all_sleep(lanes);
    }
    /// Whether `lanes` threads came to sleep, none of whom anything should have woken.
    [[nodiscard]] bool at_rest(std::size_t lanes) const {
        Rest rest{*this, lanes};
        return eventually([&] { return rest.come(); });
    }
    /// Lets time pass in small steps, and at each one whoever is due do what he has to.
    [[nodiscard]] bool pass(fila::Duration total, fila::Duration step, std::size_t lanes) const {
        for (auto const end = fila::later(now(), total); now() < end; time_.advance(step))
            if (!at_rest(lanes)) return false;
        return at_rest(lanes);
    }
    /// Whether `holds()` came true while time passed as in pass(), for as long as it takes.
    template <class Predicate>
    [[nodiscard]] bool until(Predicate holds, fila::Duration step, std::size_t lanes) const {
        Rest rest{*this, lanes};
        return eventually([&] {
            if (holds()) return true;
            if (rest.come()) time_.advance(step);
            return false;
        });
    }

private:
    struct Sleeper {
        fila::TimePoint until;
        std::condition_variable* cv;
        std::uint64_t turn;  // which of all sleeps this is
    };
    struct State {
        std::mutex mutex;
        std::list<Sleeper> sleepers;
        std::uint64_t turns = 0;
    };

    /// Asks round after round, since who has been woken may wake the next one.
    class Rest {
    public:
        Rest(WatchedClock const& clock, std::size_t lanes) : clock_{clock}, lanes_{lanes} {}

        /// Whether everybody sleeps, and has come back to it after each of the rounds.
        [[nodiscard]] bool come() {
            auto& state = *clock_.state_;
            std::lock_guard guard{state.mutex};
            if (!clock_.all_sleep(lanes_)) return false;
            if (std::ranges::any_of(state.sleepers, [&](auto& s) { return s.turn <= asked_; })) {
                // Again, since the one who had only been about to sleep has not heard.
                for (auto& s : state.sleepers)
                    if (s.turn <= asked_) s.cv->notify_all();
                return false;
            }
            asked_ = state.turns;
            if (++round_ <= 2 * lanes_) return false;
            round_ = 0;
            return true;
        }

    private:
        WatchedClock const& clock_;
        std::size_t lanes_;
        std::size_t round_ = 0;
        std::uint64_t asked_ = 0;
    };

    [[nodiscard]] bool all_sleep(std::size_t lanes) const {
        auto& sleepers = state_->sleepers;
        return sleepers.size() == lanes &&
               std::ranges::none_of(sleepers, [&](auto& s) { return s.until <= now(); });
    }

    fila::ManualClock time_;
    std::shared_ptr<State> state_ = std::make_shared<State>();
};
static_assert(fila::Clock<WatchedClock>);

}  // namespace fila_tests
