// SPDX-License-Identifier: MIT
// Why a handler is asked to stop, or a run ends.
#pragma once

#include <fila/config.hpp>

#include <cstdint>

namespace fila::inline v1 {

/// What a handler is told when it asks; the first reason stays.
enum class StopReason : std::uint8_t {
    none,        ///< go on
    shutdown,    ///< the run was asked to stop, and the soft time-out has passed
    timeout,     ///< the row's, or the drain's, time limit has passed
    lease_lost,  ///< the row is, or may be, somebody else's by now: what the handler still does may be done
                 ///< twice
    cancelled,   ///< a critical failure elsewhere ends the run
};

/// In words.
[[nodiscard]] constexpr char const* to_string(StopReason r) noexcept {
    switch (r) {
        case StopReason::none:
            return "none";
        case StopReason::shutdown:
            return "shutdown";
        case StopReason::timeout:
            return "timeout";
        case StopReason::lease_lost:
            return "lease lost";
        case StopReason::cancelled:
            return "cancelled";
    }
    return "?";
}

}  // namespace fila::inline v1
