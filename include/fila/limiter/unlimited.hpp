// SPDX-License-Identifier: MIT
// Unlimited: no limit of yours on the rows in hand.
#pragma once

#include <fila/limiter/limiter_concept.hpp>

namespace fila::inline v1 {

/// The engine's own bound stays: at most two batches in hand. Alternatives: FixedLimiter.
/// Thread safety: stateless.
struct Unlimited {
    using policy_role = limiter_role;

    [[nodiscard]] std::size_t acquire(std::size_t n) const noexcept { return n; }
    void release(std::size_t) const noexcept {}
};
static_assert(Limiter<Unlimited>);

}  // namespace fila::inline v1
