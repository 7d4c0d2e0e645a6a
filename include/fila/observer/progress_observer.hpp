// SPDX-License-Identifier: MIT
// ProgressObserver: how far it is, now and then.
#pragma once

#include <fila/clock/system_clock.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/types/error.hpp>

#include <concepts>
#include <memory>
#include <mutex>
#include <utility>

namespace fila::inline v1 {

/// How far it is, all processors together that share the observer.
struct Progress {
    std::size_t claimed = 0;  ///< rows that became ours, repeats included
    std::size_t done = 0;     ///< completed and discarded
    std::size_t failed = 0;   ///< attempts that failed; the rows may be retried
    std::size_t dead = 0;     ///< given up
    Duration elapsed{};       ///< since the observer was made

    /// Over the whole time; 0 at the very start.
    [[nodiscard]] double done_per_second() const noexcept {
        auto const seconds = std::chrono::duration<double>{elapsed}.count();
        return seconds > 0 ? static_cast<double>(done) / seconds : 0;
    }
};

/// `show(progress)` is called at most once every `interval`, by one thread at a time, and only when something
/// has happened. `flush` shows the rest: call it after `drain`. A handle: copies share the numbers.
/// Alternatives: CountingObserver, to be asked instead of told.
/// Thread safety: everything, from several threads at once.
///
///   fila::ProgressObserver progress{[](fila::Progress const& p) { std::clog << p.done << " done\n"; }, 1s};
template <class Show, Clock C = SystemClock>
    requires std::invocable<Show&, Progress const&>
class ProgressObserver {
public:
    using policy_role = observer_role;

    /// Throws ConfigError if `interval` is negative.
    explicit ProgressObserver(Show show, Duration interval = std::chrono::seconds{1}, C clock = {})
        : state_{std::make_shared<State>(std::move(show), checked(interval), std::move(clock))} {}

    template <class Event>
        requires std::invocable<CountingObserver const&, Event const&>
    void operator()(Event const& e) const {
        state_->count(e);
        // Whoever finds another thread showing has nothing to add but a number that comes next time.
        if (std::unique_lock lock{state_->mutex, std::try_to_lock}; lock) state_->show_if_due();
    }
    /// Shows what it is now, whether or not anything has happened.
    void flush() const {
        std::lock_guard guard{state_->mutex};
        state_->show_now(state_->clock.now());
    }

private:
    static Duration checked(Duration interval) {
        if (interval < Duration::zero())
            throw ConfigError{
                "fila: wrong configuration:\n  ProgressObserver::interval must not be negative"};
        return interval;
    }

    struct State {
        State(Show s, Duration i, C c)
            : show{std::move(s)},
              interval{i},
              clock{std::move(c)},
              start{clock.now()},
              next{later(start, interval)} {}

        void show_if_due() {
            auto const now = clock.now();
            if (now >= next) show_now(now);
        }
        void show_now(TimePoint now) {
            next = later(now, interval);
            auto const t = count.totals();
            show(Progress{.claimed = t.claimed,
                          .done = t.settled.completed + t.settled.discarded,
                          .failed = t.failed_attempts,
                          .dead = t.settled.dead_lettered + t.crashed_out,
                          .elapsed = now - start});
        }

        CountingObserver count;
        std::mutex mutex;
        Show show;
        Duration interval;
        C clock;
        TimePoint start, next;
    };
    std::shared_ptr<State> state_;
};
static_assert(Observer<ProgressObserver<void (*)(Progress const&)>>);

}  // namespace fila::inline v1
