// SPDX-License-Identifier: MIT
// CountingObserver: totals of every event, for metrics and tests.
#pragma once

#include <fila/observer/observer_concept.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace fila::inline v1 {

/// What has happened so far. Rows in hand are `claimed - settled.applied() - settled.lost -
/// settled.in_doubt`, as long as nothing is abandoned.
struct Totals {
    std::size_t claimed = 0;          ///< rows that became ours, repeats included
    RowsSettled settled;              ///< by what became of them
    std::size_t failed_attempts = 0;  ///< of handlers, and of rows that could not be decoded
    std::size_t leases_lost = 0;      ///< of rows in hand; their settles may add to `settled.lost` later
    std::size_t rescued = 0;          ///< rows of the dead that are pending again
    std::size_t crashed_out = 0;      ///< rows of the dead that were dead-lettered at the crash cap
    std::size_t faults = 0;           ///< failed calls of the store
    std::size_t stops = 0;            ///< runs that began to end
};

/// A handle: copies share the numbers, so keep one and give the other away. One may serve several processors.
/// Alternatives: LogObserver, ProgressObserver; ObserverGroup to have several.
/// Thread safety: everything, from several threads at once; `totals` may fall between two numbers of one
/// event.
///
///   fila::CountingObserver count;
///   fila::Processor p{store, pool, handler, count};
///   p.drain();
///   std::cout << count.totals().settled.completed << '\n';
class CountingObserver {
public:
    using policy_role = observer_role;

    void operator()(RowsClaimed const& e) const noexcept { add(n_->claimed, e.rows); }
    void operator()(RowsSettled const& e) const noexcept {
        add(n_->completed, e.completed), add(n_->retried, e.retried), add(n_->snoozed, e.snoozed);
        add(n_->released, e.released), add(n_->discarded, e.discarded),
            add(n_->dead_lettered, e.dead_lettered);
        add(n_->lost, e.lost), add(n_->in_doubt, e.in_doubt);
    }
    void operator()(RowFailed const&) const noexcept { add(n_->failed_attempts, 1); }
    void operator()(LeasesLost const& e) const noexcept { add(n_->leases_lost, e.rows); }
    void operator()(RowsRescued const& e) const noexcept {
        add(n_->rescued, e.requeued), add(n_->crashed_out, e.dead);
    }
    void operator()(Faulted const&) const noexcept { add(n_->faults, 1); }
    void operator()(Stopping const&) const noexcept { add(n_->stops, 1); }

    /// The sums up to now, of all processors and copies that share them.
    [[nodiscard]] Totals totals() const noexcept {
        return {.claimed = n_->claimed,
                .settled = {.completed = n_->completed,
                            .retried = n_->retried,
                            .snoozed = n_->snoozed,
                            .released = n_->released,
                            .discarded = n_->discarded,
                            .dead_lettered = n_->dead_lettered,
                            .lost = n_->lost,
                            .in_doubt = n_->in_doubt},
                .failed_attempts = n_->failed_attempts,
                .leases_lost = n_->leases_lost,
                .rescued = n_->rescued,
                .crashed_out = n_->crashed_out,
                .faults = n_->faults,
                .stops = n_->stops};
    }

private:
    using Number = std::atomic<std::size_t>;
    static void add(Number& to, std::size_t n) noexcept {
        if (n != 0) to.fetch_add(n, std::memory_order_relaxed);
    }
    struct Numbers {
        Number claimed{0}, completed{0}, retried{0}, snoozed{0}, released{0}, discarded{0}, dead_lettered{0},
            lost{0}, in_doubt{0}, failed_attempts{0}, leases_lost{0}, rescued{0}, crashed_out{0}, faults{0},
            stops{0};
    };
    std::shared_ptr<Numbers> n_ = std::make_shared<Numbers>();
};
static_assert(Observer<CountingObserver>);

}  // namespace fila::inline v1
