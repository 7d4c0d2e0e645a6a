// SPDX-License-Identifier: MIT
// How long to wait after the n-th fault of the store in a row.
#pragma once

#include <fila/types/time.hpp>

#include <algorithm>
#include <cstdint>

namespace fila::inline v1::detail {

/// SplitMix64 (Steele, Lea, Flood 2014): one well-mixed number from another.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// 10 ms doubled with each fault up to `most`, less up to a half by jitter. The jitter comes from the time of
/// the fault, so that hosts that failed together do not come back together, yet a simulated run repeats
/// exactly.
constexpr Duration fault_backoff(unsigned faults, Duration most, TimePoint now) noexcept {
    auto const full = std::min<Duration>(most, std::chrono::milliseconds{10} * (1 << std::min(faults, 20u)));
    auto const random = mixed(static_cast<std::uint64_t>(now.time_since_epoch().count()) ^ faults);
    return full - full / 2 * static_cast<Duration::rep>(random % 1024) / 1024;
}

}  // namespace fila::inline v1::detail
