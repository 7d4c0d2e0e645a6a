// SPDX-License-Identifier: MIT
// RetryPolicy: what becomes of a row whose attempt failed.
//
// | expression | returns | semantics |
// |---|---|---|
// | `r.decide(failure)` | `Outcome` | retry(after, why) or dead_letter(why), usually. Const, from several threads at once. If it throws, the row is retried at the next pass |
//
// The policy is asked for every failure: a handler that threw, an undecodable row, and a handler that returned
// `retry(after)`; of the last, the handler's delay is kept unless the policy gives the row up.
// Crashes (leases that ran out) are not its affair: their cap is the claim strategy's.
#pragma once

#include <fila/types/outcome.hpp>

#include <concepts>
#include <cstdint>
#include <string>

namespace fila::inline v1 {

struct retry_role;

/// One failed attempt, as retry policies and failure streams see it.
struct Failure {
    std::uint32_t attempt = 1;   ///< the number of this attempt, from 1; crashes count
    std::uint32_t failures = 1;  ///< failed attempts so far, this one included
    std::uint32_t crashes = 0;   ///< leases that ran out so far
    std::string what;            ///< valid UTF-8 without NUL, at most 4 KiB
    std::string key;             ///< the row's key, as text
};

template <class R>
concept RetryPolicy = requires(R const& r, Failure const& f) {
    { r.decide(f) } -> std::same_as<Outcome>;
};

namespace detail {

template <class R>
consteval bool check_retry() {
    static_assert(RetryPolicy<R>, "fila retry policy: needs  fila::Outcome decide(fila::Failure const&) const");
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
