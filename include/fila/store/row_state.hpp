// SPDX-License-Identifier: MIT
// RowState: the five states of a row, and the one of a row that is not there.
#pragma once

#include <fila/config.hpp>

#include <cstdint>

namespace fila::inline v1 {

/// What a row is, whatever words its table uses for it.
enum class RowState : std::uint8_t {
    pending,     ///< may be claimed, now or when it is due
    processing,  ///< held by somebody, or left by somebody who died
    completed,   ///< done by a handler
    dead,        ///< given up; may be redriven
    discarded,   ///< finished by a handler without being done
    absent,      ///< never put in, or erased when it was finished
};

/// The enumerator's name.
[[nodiscard]] constexpr char const* to_string(RowState s) noexcept {
    switch (s) {
        case RowState::pending:
            return "pending";
        case RowState::processing:
            return "processing";
        case RowState::completed:
            return "completed";
        case RowState::dead:
            return "dead";
        case RowState::discarded:
            return "discarded";
        case RowState::absent:
            return "absent";
    }
    return "?";
}

}  // namespace fila::inline v1
