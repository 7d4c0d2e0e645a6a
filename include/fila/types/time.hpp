// SPDX-License-Identifier: MIT
// Time, as the engine speaks it: steady, in nanoseconds, never a calendar date.
#pragma once

#include <fila/config.hpp>

#include <chrono>

namespace fila::inline v1 {

/// Every span of time in fila's interface. Stores are told durations, never instants: each judges them by
/// its own clock (PostgreSQL by its server's), since hosts disagree.
using Duration = std::chrono::nanoseconds;

/// A moment on the engine's steady clock (see the Clock concept). Meaningless in another process.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// "No limit", wherever a Duration is a limit.
inline constexpr Duration forever = Duration::max();

/// `t + d` without overflow: sums beyond the end of time are the end of time.
[[nodiscard]] constexpr TimePoint later(TimePoint t, Duration d) noexcept {
    return d > TimePoint::max() - t ? TimePoint::max() : t + d;
}

}  // namespace fila::inline v1
