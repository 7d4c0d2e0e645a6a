// SPDX-License-Identifier: MIT
// ExponentialBackoff: each failure waits longer than the one before, up to a cap.
#pragma once

#include <fila/detail/backoff.hpp>
#include <fila/retry/retry_concept.hpp>
#include <fila/types/abilities.hpp>
#include <fila/types/error.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace fila::inline v1 {

/// Waits `base * factor^(failures - 1)`, at most `cap`, spread by ± `jitter` so that rows that failed
/// together do not come back together. The jitter is applied after the cap and follows from the row's key and
/// the number of the failure alone: a run with the same failures repeats exactly. After `max_attempts`
/// failures the row is dead-lettered. With the defaults that is after about eight hours.
///
/// The default wherever the table can delay a row. Alternatives: FixedDelay, NextPass, NoRetry.
/// Thread safety: immutable.
///
///   fila::Processor p{store, pool, handler, fila::ExponentialBackoff{.base = 10s, .max_attempts = 8}};
struct ExponentialBackoff {
    using policy_role = retry_role;
    using needs = fila::needs<ability::delay, ability::failures>;

    Duration base = std::chrono::seconds{1};  ///< the wait after the first failure
    double factor = 2;                        ///< each wait is so many times the one before
    Duration cap = std::chrono::hours{1};     ///< no wait is longer, jitter aside
    /// Handler runs that may fail, the first one included: 1 means no retry.
    std::uint32_t max_attempts = 20;
    /// A fraction of the wait: 0.2 spreads 10 s over 8 s … 12 s.
    double jitter = 0.2;

    /// The wait after the `failures`-th failure, before jitter: never shorter than that of the one before.
    [[nodiscard]] Duration delay(std::uint32_t failures) const noexcept {
        // In doubles, where too much is not a small or a negative number. Step by step: no rounding makes a
        // wait shorter than the one before, and <cmath> is slow to compile.
        auto const most = static_cast<double>(cap.count());
        auto ticks = static_cast<double>(base.count());
        for (std::uint32_t n = 1; n < failures && ticks < most; ++n) {
            auto const longer = ticks * factor;
            if (longer == ticks) break;
            ticks = longer;
        }
        return ticks < most ? Duration{static_cast<Duration::rep>(ticks)} : cap;
    }
    Outcome decide(Failure const& failure) const {
        if (failure.failures >= max_attempts) return dead_letter(failure.what);
        return retry(spread(delay(failure.failures), failure), failure.what);
    }

    /// Throws ConfigError naming each field that makes no sense.
    void validate() const {
        std::string faults;
        if (base <= Duration::zero()) faults += "\n  ExponentialBackoff::base must be more than zero";
        if (!(factor >= 1) || factor > std::numeric_limits<double>::max())
            faults += "\n  ExponentialBackoff::factor must be a number of at least 1";
        if (cap < base)
            faults += "\n  ExponentialBackoff::cap must not be shorter than ExponentialBackoff::base";
        if (cap > std::chrono::hours{24 * 365})
            faults += "\n  ExponentialBackoff::cap must be at most a year";
        if (max_attempts < 1)
            faults += "\n  ExponentialBackoff::max_attempts must be at least 1 (which means no retry)";
        if (!(jitter >= 0 && jitter < 1))
            faults += "\n  ExponentialBackoff::jitter must be a number from 0 to less than 1";
        if (!faults.empty()) throw ConfigError{"fila: wrong configuration:" + faults};
    }

private:
    [[nodiscard]] Duration spread(Duration wait, Failure const& failure) const noexcept {
        constexpr double two_to_53 = 9007199254740992.0;
        auto const random = detail::mixed(fnv1a(failure.key) ^ detail::mixed(failure.failures));
        auto const unit = static_cast<double>(random >> 11) / two_to_53 * 2 - 1;
        return Duration{static_cast<Duration::rep>(static_cast<double>(wait.count()) * (1 + jitter * unit))};
    }
    /// std::hash differs between standard libraries, and a replay should not.
    static constexpr std::uint64_t fnv1a(std::string_view s) noexcept {
        std::uint64_t hash = 14695981039346656037u;
        for (char const c : s) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
        return hash;
    }
};
static_assert(RetryPolicy<ExponentialBackoff>);

}  // namespace fila::inline v1
