// SPDX-License-Identifier: MIT
// TimeLimit: how long a handler may work on one row.
#pragma once

#include <fila/types/error.hpp>
#include <fila/types/time.hpp>

namespace fila::inline v1 {

struct time_limit_role;

/// After `per_row` the handler is asked to stop (reason: timeout). No thread is killed: a handler that
/// ignores it keeps its slot, and its lease is no longer extended, so that another process may take the row;
/// what it returns in time is settled as usual. The default is no limit.
///
///   fila::Processor p{store, pool, handler, fila::TimeLimit{.per_row = 30s}};
struct TimeLimit {
    using policy_role = time_limit_role;
    Duration per_row = forever;  ///< at least 1 ms; forever: no limit

    /// Throws ConfigError naming the field that makes no sense.
    void validate() const {
        if (per_row < std::chrono::milliseconds{1})
            throw ConfigError{"fila: wrong configuration:\n  TimeLimit::per_row must be at least 1 ms"};
    }
};

}  // namespace fila::inline v1
