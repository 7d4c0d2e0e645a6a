// SPDX-License-Identifier: MIT
// NextPass: a failed row stays pending, and the pass goes on behind it.
#pragma once

#include <fila/retry/retry_concept.hpp>

namespace fila::inline v1 {

/// The row is tried again in the next pass, however often it has failed: at each `drain`, or in `run` after
/// Pace::sweep (Pace::interval where the table cannot delay a row). Needs no column, so it is the default where the table cannot delay a row.
/// There is no cap: a row that always fails is tried for ever. Where the table has the columns, prefer
/// ExponentialBackoff (the default there) or FixedDelay; NoRetry gives up at once.
/// Thread safety: stateless.
struct NextPass {
    using policy_role = retry_role;

    Outcome decide(Failure const& failure) const { return retry(Duration::zero(), failure.what); }
};
static_assert(RetryPolicy<NextPass>);

}  // namespace fila::inline v1
