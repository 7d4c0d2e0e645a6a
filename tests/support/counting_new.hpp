// SPDX-License-Identifier: MIT
// allocations_here, allocations: how often this thread, or all of them, have allocated. Needs counting_new.cpp in the
// program.
#pragma once

#include <cstddef>

namespace fila_tests {

[[nodiscard]] std::size_t allocations_here() noexcept;
[[nodiscard]] std::size_t allocations() noexcept;

}  // namespace fila_tests
