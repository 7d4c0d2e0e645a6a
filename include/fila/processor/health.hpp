// SPDX-License-Identifier: MIT
// Health: whether a processor still does its work, for a probe or a page of a service.
#pragma once

#include <fila/types/time.hpp>

#include <cstddef>
#include <optional>

namespace fila::inline v1 {

/// Answered by Processor::health(), from any thread, in the time of one short lock.
///
/// A run is well while `claim.since` is not much more than Pace::interval (or a slot is not free), and
/// `consecutive_errors` are zero. `oldest_in_flight` tells of a handler that hangs.
///
///   auto const h = processor.health();
///   bool const ready = h.running && h.claim.consecutive_errors < 5 && h.oldest_in_flight < 10min;
struct Health {
    /// How calls of one kind fare.
    struct Verb {
        std::optional<Duration> since;    ///< the last call that worked; nothing: none in this run so far
        unsigned consecutive_errors = 0;  ///< since then
    };

    bool running = false;       ///< a drain or run is under way; if not, the rest tells of the last one's end
    Verb claim;                 ///< also of one that found nothing
    Verb settle;                ///< a commit, in a transaction
    Verb heartbeat;             ///< of the leases in hand; a store without leases has none
    std::size_t in_flight = 0;  ///< rows claimed and not yet settled
    Duration oldest_in_flight{};  ///< since the oldest of them was claimed
};

}  // namespace fila::inline v1
