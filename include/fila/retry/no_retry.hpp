// SPDX-License-Identifier: MIT
// NoRetry: one attempt a row.
#pragma once

#include <fila/retry/retry_concept.hpp>

namespace fila::inline v1 {

/// The first failure dead-letters the row. For work that must not be repeated by a machine. Crashes are
/// another matter (Leased::max_crashes). Needs no column. Alternatives: NextPass, FixedDelay,
/// ExponentialBackoff. Thread safety: stateless.
struct NoRetry {
    using policy_role = retry_role;

    Outcome decide(Failure const& failure) const { return dead_letter(failure.what); }
};
static_assert(RetryPolicy<NoRetry>);

}  // namespace fila::inline v1
