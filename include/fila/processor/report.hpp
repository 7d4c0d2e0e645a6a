// SPDX-License-Identifier: MIT
// Report: what a drain or a run did.
#pragma once

#include <fila/observer/observer_concept.hpp>

#include <cstddef>

namespace fila::inline v1 {

/// Returned by `drain` and `run`. Once one has returned without abandoned rows, nothing is left in hand:
/// claimed == completed + retried + snoozed + released + discarded + dead_lettered + lost + in_doubt +
/// unsettled.
struct Report {
    std::size_t claimed = 0;        ///< rows that became ours, repeats included
    std::size_t completed = 0;      ///< by handlers; a status word of their own included
    std::size_t retried = 0;        ///< failures that will be tried again
    std::size_t snoozed = 0;        ///< put off by handlers, nothing spent
    std::size_t released = 0;       ///< given back unstarted by a stop
    std::size_t discarded = 0;      ///< finished by handlers without being done
    std::size_t dead_lettered = 0;  ///< by handlers and the retry policy; the crash cap's are in rescued_dead
    std::size_t lost = 0;           ///< the lease was lost: somebody else owns the row now, or it is gone
    std::size_t in_doubt = 0;   ///< the answer of the settle was lost, and a repeat found nothing to change
    std::size_t unsettled = 0;  ///< given up because the store failed; leases free them
    /// Handlers that still ran at the hard stop, and may run still: a program that ends then does so by
    /// `std::quick_exit`, which destroys no static objects under them.
    std::size_t abandoned = 0;
    std::size_t rescued = 0;          ///< rows of dead processes made pending again
    std::size_t rescued_dead = 0;     ///< rows of dead processes at the crash cap
    std::size_t errors = 0;           ///< failed calls of the store
    std::size_t observer_errors = 0;  ///< exceptions that observers threw
    bool timed_out = false;           ///< the drain's time limit ended it

    /// Rows whose outcome was written.
    [[nodiscard]] std::size_t settled() const noexcept {
        return completed + retried + snoozed + released + discarded + dead_lettered;
    }
    /// Counts one answer of the store. The engine's own.
    void add(RowsSettled const& s) noexcept {
        completed += s.completed, retried += s.retried, snoozed += s.snoozed, released += s.released;
        discarded += s.discarded, dead_lettered += s.dead_lettered, lost += s.lost, in_doubt += s.in_doubt;
    }
};

/// The name that it has where only a drain is meant.
using DrainReport = Report;

/// Where a drain ends.
enum class DrainUntil {
    pass_over,     ///< one pass: each pending row is met once
    nothing_open,  ///< nothing is pending or held any more, by us or others; rows that wait for a retry are
                   ///< waited for, and so are leases of the dead. A run after a crash finishes everything.
                   ///< Needs a store that can be inspected. A row that keeps failing is waited for until the
                   ///< retry policy gives it up: hours, with the default; choose one for a command-line tool
};

/// How far a drain goes, and for how long.
struct DrainOptions {
    DrainUntil until = DrainUntil::pass_over;  ///< one pass over the table, or more
    /// After this the drain stops in order: no more claims, handlers in flight are told (reason: timeout).
    Duration time_limit = forever;
};

}  // namespace fila::inline v1
