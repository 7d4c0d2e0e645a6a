// SPDX-License-Identifier: MIT
// FixedDelay: the same wait after each failure.
#pragma once

#include <fila/retry/retry_concept.hpp>
#include <fila/types/abilities.hpp>
#include <fila/types/error.hpp>

#include <chrono>

namespace fila::inline v1 {

/// Tries a row up to `max_attempts` times, `delay` apart, then dead-letters it. For work whose obstacles pass
/// by themselves, at a rate that the other side can bear. Alternatives: ExponentialBackoff (the default),
/// which spares an overloaded other side; NextPass, NoRetry. Thread safety: immutable.
///
///   fila::Processor p{store, pool, handler, fila::FixedDelay{.delay = 5s, .max_attempts = 10}};
struct FixedDelay {
    using policy_role = retry_role;
    using needs = fila::needs<ability::delay, ability::failures>;

    Duration delay = std::chrono::seconds{1};  ///< between an attempt and the next: more than zero
    /// Handler runs that may fail, the first one included: 1 means no retry.
    std::uint32_t max_attempts = 20;

    Outcome decide(Failure const& failure) const {
        return failure.failures >= max_attempts ? dead_letter(failure.what) : retry(delay, failure.what);
    }

    /// Throws ConfigError naming each field that makes no sense.
    void validate() const {
        std::string faults;
        if (delay <= Duration::zero())
            faults += "\n  FixedDelay::delay must be more than zero (NextPass{} retries without a delay)";
        if (delay > std::chrono::hours{24 * 365}) faults += "\n  FixedDelay::delay must be at most a year";
        if (max_attempts < 1)
            faults += "\n  FixedDelay::max_attempts must be at least 1 (which means no retry)";
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
    }
};
static_assert(RetryPolicy<FixedDelay>);

}  // namespace fila::inline v1
