// SPDX-License-Identifier: MIT
// The question and the answer of a claim.
#pragma once

#include <fila/types/time.hpp>

#include <cstddef>
#include <cstdint>

namespace fila::inline v1 {

/// Asks for at most `limit` rows behind `after`, in the store's order.
template <class Cursor>
struct ClaimRequest {
    std::size_t limit = 1;  ///< never 0; more rows than this is a broken contract
    Cursor after{};         ///< Cursor{}: from the start, and a new pass begins
    Duration lease{};       ///< for how long the rows are ours; no meaning inside a transaction
};

/// What a claim says of the rest of the pass.
enum class Supply : std::uint8_t {
    more,  ///< there may be more behind the returned cursor: ask again (with no rows: nothing can be had just
           ///< now)
    dry,   ///< nothing more in this pass
    closed,  ///< nothing more, ever
};

/// Where a claim stopped, and whether another one makes sense.
template <class Cursor>
struct ClaimResult {
    Cursor cursor{};               ///< where the claim stopped: the next request's `after`
    Supply supply = Supply::more;  ///< of the pass
    /// Another one than before: the store may have forgotten earlier claims (its server came back from a crash, or
    /// another took its place), and rows that are still in hand may be claimed again. A store that forgets nothing
    /// leaves it.
    std::uint64_t era = 0;
};

}  // namespace fila::inline v1
