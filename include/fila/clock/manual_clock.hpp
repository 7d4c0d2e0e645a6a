// SPDX-License-Identifier: MIT
// ManualClock: time that passes when it is told to.
#pragma once

#include <fila/clock/clock_concept.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <thread>

namespace fila::inline v1 {

/// For tests of leases, delays and timeouts without a sleep. Real threads may wait on it: moving the time
/// wakes those whose moment has come. A handle: copies share the time. Alternatives: SystemClock. Thread
/// safety: everything, from several threads at once.
///
///   fila::ManualClock clock;
///   fila::MemoryStore<Row> store{clock};
///   …
///   clock.advance(5min);   // every lease of the default length has run out
class ManualClock {
public:
    using policy_role = clock_role;

    /// It is `start` until it is moved.
    explicit ManualClock(TimePoint start = TimePoint{}) : state_{std::make_shared<State>(start)} {}

    [[nodiscard]] TimePoint now() const noexcept { return TimePoint{Duration{state_->now.load()}}; }

    /// As `advance_to`, from now.
    void advance(Duration d) const { advance_to(later(now(), d)); }
    /// Time never goes back: a moment that has passed changes nothing. When this returns, whoever waited for
    /// a moment up to `t` has been notified. Not to be called under a lock that somebody waits with on this
    /// clock.
    void advance_to(TimePoint t) const { state_->advance_to(t); }

    void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, TimePoint t) const {
        state_->wait_until(lock, cv, t);
    }
    /// Threads inside wait_until: lets a test move the time when they are there.
    [[nodiscard]] std::size_t waiting() const {
        std::lock_guard guard{state_->mutex};
        return state_->waiters.size();
    }

private:
    struct Waiter {
        std::mutex* mutex;
        std::condition_variable* cv;
        TimePoint until;
        bool notified = false;
    };
    struct State {
        explicit State(TimePoint start) : now{start.time_since_epoch().count()} {}

        void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, TimePoint t) {
            std::list<Waiter> self;
            self.push_back({lock.mutex(), &cv, t});
            auto const me = self.begin();
            {
                std::lock_guard guard{mutex};
                if (now.load() >= t.time_since_epoch().count()) return;
                waiters.splice(waiters.end(), self);
            }
            cv.wait(lock);
            std::lock_guard guard{mutex};
            self.splice(self.end(), waiters, me);
        }
        void advance_to(TimePoint t) {
            {
                std::lock_guard guard{mutex};
                now.store(std::max(now.load(), t.time_since_epoch().count()));
                for (auto& w : waiters) w.notified = false;
            }
            while (!notify_due()) std::this_thread::yield();
        }
        /// A waiter that has registered and still holds its lock is not waiting yet, and would miss the
        /// notice. So each is notified under its own lock; which is only tried, since waiters take the locks
        /// in the other order. Whether everybody who is due has been notified.
        bool notify_due() {
            std::lock_guard guard{mutex};
            bool all = true;
            for (auto& w : waiters) {
                if (w.notified || w.until.time_since_epoch().count() > now.load()) continue;
                if (w.mutex->try_lock()) {
                    w.cv->notify_all();
                    w.mutex->unlock();
                    w.notified = true;
                } else {
                    all = false;
                }
            }
            return all;
        }

        std::mutex mutex;
        std::atomic<Duration::rep> now;  // atomic for readers; written under the mutex
        std::list<Waiter> waiters;
    };
    std::shared_ptr<State> state_;
};
static_assert(Clock<ManualClock>);

}  // namespace fila::inline v1
