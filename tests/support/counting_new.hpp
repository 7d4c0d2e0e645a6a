// SPDX-License-Identifier: MIT
// allocations_here: how often this thread has allocated. Needs counting_new.cpp in the program.
#pragma once

#include <cstddef>

namespace fila_tests {

[[nodiscard]] std::size_t allocations_here() noexcept;

}  // namespace fila_tests
