// SPDX-License-Identifier: MIT
// Pace: how often a processor looks, how much it takes, how long it waits.
#pragma once

#include <fila/types/error.hpp>
#include <fila/types/time.hpp>

#include <cstddef>

namespace fila::inline v1 {

struct pace_role;

/// A policy like the others. Every default is meant to be kept.
///
///   fila::Processor p{store, pool, handler, fila::Pace{.interval = 2s}};
struct Pace {
    using policy_role = pace_role;

    /// `run`: how long to wait when there was nothing to do. A wake-up from the store ends the wait.
    Duration interval = std::chrono::seconds{10};
    /// `run`: a pass over the table lasts at most this long, then starts again from the beginning, so that
    /// urgent, late-committed and redriven rows wait at most `sweep` and one claim.
    Duration sweep = std::chrono::seconds{1};
    /// Rows of one claim. 0 adapts between 1 and 1000 to how long handlers take; at most two batches are in
    /// hand, or one and a row for each thread if that is more.
    std::size_t batch = 0;
    /// After a stop: how long handlers may go on before their stop token is tripped.
    Duration soft_stop_timeout = std::chrono::seconds{30};
    /// After a stop: when to return without the handlers that still run. Their rows are not settled, their
    /// leases run out. With InlineExecutor the caller runs the handlers, and cannot leave them.
    Duration hard_stop_timeout = forever;
    /// Failed calls of the store in a row before `drain`, or a stopping `run`, gives up and throws. A `run`
    /// that is not stopping never gives up.
    unsigned max_faults = 8;
    /// The longest wait between tries after faults of the store; the waits double up to it, with jitter.
    Duration max_backoff = std::chrono::seconds{10};

    /// Throws ConfigError naming each field that makes no sense.
    void validate() const {
        using std::chrono::milliseconds;
        std::string faults;
        if (interval < milliseconds{1})
            faults += "\n  Pace::interval must be at least 1 ms (it is waited when idle)";
        if (sweep < milliseconds{1}) faults += "\n  Pace::sweep must be at least 1 ms";
        if (batch > 100'000) faults += "\n  Pace::batch must be at most 100000";
        if (soft_stop_timeout < Duration::zero())
            faults += "\n  Pace::soft_stop_timeout must not be negative";
        if (hard_stop_timeout < soft_stop_timeout)
            faults += "\n  Pace::hard_stop_timeout must not be shorter than Pace::soft_stop_timeout";
        if (max_faults < 1) faults += "\n  Pace::max_faults must be at least 1";
        if (max_backoff < milliseconds{1}) faults += "\n  Pace::max_backoff must be at least 1 ms";
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
    }
};

}  // namespace fila::inline v1
