// SPDX-License-Identifier: MIT
// Proof of ownership of one row, and what a store answers to it.
#pragma once

#include <fila/config.hpp>

#include <cstdint>

namespace fila::inline v1 {

/// What a store answers for one settlement or one extended lease. A lost lease is an answer, not an
/// exception.
enum class Ack : std::uint8_t {
    applied,   ///< done, and durable if the store is
    lost,      ///< somebody else owns the row, or it is settled, or gone; nothing was changed
    in_doubt,  ///< the engine's own word, not a store's: a repeat was answered `lost`, and the first try,
               ///< whose answer was lost, may have been applied
};

/// Proof of ownership of one row. The fence grows with every claim of the row and is never given back: not
/// by a release, a snooze, a retry, a rescue or a redrive. So an old owner can never be taken for the new
/// one. The number of attempts is something else (see History) and does go back.
template <class Key>
struct Ticket {
    Key key;                 ///< of the row
    std::int64_t fence = 0;  ///< of the claim that made the row ours
};

/// What a row has been through. Stops, releases and snoozes add nothing.
struct History {
    std::uint32_t failures = 0;  ///< handlers that threw or asked for a retry
    std::uint32_t crashes = 0;   ///< leases that ran out: the owner died, or was cut off

    /// The number of the attempt under way, as handlers see it: 1 at first.
    [[nodiscard]] constexpr std::uint32_t attempt() const noexcept { return failures + crashes + 1; }
};

}  // namespace fila::inline v1
