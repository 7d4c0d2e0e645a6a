// SPDX-License-Identifier: MIT
// Tally: what happened, counted for the report and told to the observer.
#pragma once

#include <fila/observer/observer_concept.hpp>
#include <fila/processor/report.hpp>
#include <fila/store/store_concept.hpp>

#include <atomic>
#include <mutex>

namespace fila::inline v1::detail {

/// From any thread. What the observer throws goes no further than a count.
template <class O>
class Tally {
public:
    explicit Tally(O& observer) : observer_{observer} {}

    template <class Event>
    void tell(Event const& event) noexcept {
        if constexpr (std::invocable<O&, Event const&>) {
            try {
                observer_(event);
            } catch (...) {
                observer_errors_.fetch_add(1, std::memory_order_relaxed);
            }
        }
    }
    void fault(std::string_view stage, std::string_view what, bool retryable) noexcept {
        errors_.fetch_add(1, std::memory_order_relaxed);
        tell(Faulted{stage, what, retryable});
    }
    void claimed(std::size_t rows) {
        count_claimed(rows);
        tell(RowsClaimed{rows});
    }
    /// For whoever holds a lock, and tells of it later.
    void count_claimed(std::size_t rows) {
        add([&](Report& r) { r.claimed += rows; });
    }
    void settled(RowsSettled const& settled) {
        add([&](Report& r) { r.add(settled); });
        tell(settled);
    }
    void unsettled(std::size_t rows) {
        add([&](Report& r) { r.unsettled += rows; });
    }
    void rescued(Rescued const& rescued) {
        if (rescued.rows() == 0) return;
        add([&](Report& r) { r.rescued += rescued.requeued, r.rescued_dead += rescued.dead; });
        tell(RowsRescued{rescued.requeued, rescued.dead});
    }
    [[nodiscard]] Report report() {
        Report r;
        add([&](Report& now) { r = now; });
        r.errors = errors_.load();
        r.observer_errors = observer_errors_.load();
        return r;
    }

private:
    template <class Change>
    void add(Change change) {
        std::lock_guard lock{mutex_};
        change(report_);
    }
    O& observer_;
    std::mutex mutex_;
    Report report_;
    std::atomic<std::size_t> errors_{0}, observer_errors_{0};
};

}  // namespace fila::inline v1::detail
