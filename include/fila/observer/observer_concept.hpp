// SPDX-License-Identifier: MIT
// Observer: hears what happens. Any callable that takes one or more of these events; the others are not sent.
//
//   struct MyObserver {
//       using policy_role = fila::observer_role;
//       void operator()(fila::RowFailed const& e) { … }
//       void operator()(fila::Faulted const& e) { … }
//   };
//
// Events come from several threads at once, per batch or chunk, except failures, which come one by one. What an
// observer throws is swallowed and counted in the report; it must not block for long, since lanes wait for it.
#pragma once

#include <fila/retry/retry_concept.hpp>
#include <fila/types.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

namespace fila::inline v1 {

struct observer_role;

/// Rows became ours.
struct RowsClaimed {
    std::size_t rows;  ///< of one claim; broken ones included
};
/// The store answered a settle. `applied` splits into the kinds; rows lost to others or in doubt come beside.
struct RowsSettled {
    /// Settled and applied, by outcome.
    std::size_t completed = 0, retried = 0, snoozed = 0, released = 0, discarded = 0, dead_lettered = 0;
    /// Refused: somebody else owns the row, or it is gone. Applied or not: the answer was lost.
    std::size_t lost = 0, in_doubt = 0;
    /// Rows whose outcome was written.
    [[nodiscard]] std::size_t applied() const noexcept {
        return completed + retried + snoozed + released + discarded + dead_lettered;
    }
    /// All that the store was asked to settle.
    [[nodiscard]] std::size_t rows() const noexcept { return applied() + lost + in_doubt; }
    /// Sums, outcome by outcome.
    RowsSettled& operator+=(RowsSettled const& o) noexcept {
        completed += o.completed, retried += o.retried, snoozed += o.snoozed, released += o.released;
        discarded += o.discarded, dead_lettered += o.dead_lettered, lost += o.lost, in_doubt += o.in_doubt;
        return *this;
    }
};
/// One attempt failed; `decision` is what will be settled (unless the lease is lost meanwhile).
struct RowFailed {
    Failure const& failure;  ///< lives as long as the call
    Outcome::Kind decision;  ///< the retry policy's, or the handler's
};
/// Leases of ours were lost while rows were in hand: their handlers have been told.
struct LeasesLost {
    std::size_t rows;  ///< that were in hand
};
/// Rows of the dead were made pending again, or dead-lettered at the crash cap.
struct RowsRescued {
    std::size_t requeued, dead;  ///< pending again; at the crash cap
};
/// A call of the store failed; the engine goes on by its rules (see Pace).
struct Faulted {
    /// claim, settle, extend, rescue, inspect, commit; limiter, retry policy, execute
    std::string_view stage;
    std::string_view what;  ///< the message of what was thrown; lives as long as the call
    bool retryable;         ///< as the fila::Error says; false for any other exception
};
/// The run is ending: no more claims.
struct Stopping {
    StopReason reason;  ///< shutdown, timeout or cancelled
};

template <class O>
concept Observer = std::invocable<O&, RowsClaimed const&> || std::invocable<O&, RowsSettled const&> ||
                   std::invocable<O&, RowFailed const&> || std::invocable<O&, LeasesLost const&> ||
                   std::invocable<O&, RowsRescued const&> || std::invocable<O&, Faulted const&> ||
                   std::invocable<O&, Stopping const&>;

namespace detail {

template <class O>
consteval bool check_observer() {
    static_assert(
        Observer<O>,
        "fila observer: must be callable with at least one event, such as  void operator()(fila::RowFailed "
        "const&)  (see fila/observer/observer_concept.hpp)");
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
