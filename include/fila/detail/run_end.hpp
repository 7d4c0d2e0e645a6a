// SPDX-License-Identifier: MIT
// RunEnd: how a run ends. Whether it has been told to, why, since when, what handlers are told of it, and what came of
// it: an error, nothing in hand, or handlers that were left behind.
#pragma once

#include <fila/detail/parts.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

namespace fila::inline v1::detail {

/// A part of the ledger, and so called from any thread.
template <class P>
class RunEnd {
public:
    /// `at`: when time ends the run; max: never.
    RunEnd(P& parts, TimePoint at) : ends_at{at}, parts_{parts} {}
    RunEnd(RunEnd const&) = delete;
    RunEnd& operator=(RunEnd const&) = delete;

    TimePoint const ends_at;  ///< of a drain with a time limit

    // What a lane looks at between quieting its bell and sleeping is read in the bell's one order (seq_cst).
    [[nodiscard]] bool stopping() const noexcept { return stop_.load() != StopReason::none; }
    [[nodiscard]] StopReason stop_reason() const noexcept { return stop_.load(); }
    /// Whether nothing may be started any more. (Where time ends it, the claimer's thread may be late to say.)
    [[nodiscard]] bool over() const noexcept {
        return stopping() || (ends_at != TimePoint::max() && parts_.clock.now() >= ends_at);
    }
    /// When the end began, and when handlers are told of it; max: not yet.
    [[nodiscard]] TimePoint stop_began() const noexcept {
        return std::min(TimePoint{Duration{stop_began_.load()}}, ends_at);
    }
    [[nodiscard]] TimePoint tell_at() const noexcept {
        return later(stop_began(), parts_.pace.soft_stop_timeout);
    }
    /// From when on nothing is waited for but the store's answers.
    [[nodiscard]] TimePoint hard_at() const noexcept {
        auto const after = parts_.pace.hard_stop_timeout;
        return after == forever || !stopping() ? TimePoint::max() : later(stop_began(), after);
    }
    /// What handlers are told of the run by now: asked by the keeper, and by handlers themselves.
    [[nodiscard]] StopReason told(TimePoint now) const noexcept {
        auto const at = tell_at();
        if (at == TimePoint::max() || now < at) return StopReason::none;
        auto const why = stop_reason();
        return why == StopReason::none ? StopReason::timeout : why;
    }

    /// The run throws the first one.
    void fail(std::exception_ptr e) noexcept {
        std::lock_guard lock{mutex_};
        if (!error_) error_ = std::move(e);
    }
    [[nodiscard]] std::exception_ptr error() {
        std::lock_guard lock{mutex_};
        return error_;
    }
    [[nodiscard]] bool closed() {
        std::lock_guard lock{mutex_};
        return closed_;
    }
    [[nodiscard]] bool abandoned() {
        std::lock_guard lock{mutex_};
        return abandoned_;
    }
    /// What holds the engine for abandoned handlers: for a simulation that ends those together with it.
    [[nodiscard]] std::shared_ptr<void> let_go() noexcept {
        std::lock_guard lock{mutex_};
        return std::move(self_);
    }

protected:
    ~RunEnd() = default;
    /// Any number of times; the first reason stays.
    void begin_end(StopReason why) noexcept {
        auto never = TimePoint::max().time_since_epoch().count();
        stop_began_.compare_exchange_strong(never, parts_.clock.now().time_since_epoch().count());
        auto none = StopReason::none;
        stop_.compare_exchange_strong(none, why);
    }

    std::mutex mutex_;  ///< the ledger's
    bool closed_ = false, abandoned_ = false;
    std::shared_ptr<void> self_;  ///< the engine, while abandoned handlers need it

private:
    P& parts_;
    std::exception_ptr error_;
    std::atomic<StopReason> stop_{StopReason::none};
    std::atomic<Duration::rep> stop_began_{TimePoint::max().time_since_epoch().count()};
};

}  // namespace fila::inline v1::detail
