// SPDX-License-Identifier: MIT
// Where a pass of a SQL store stands. Opaque; default constructed it is the start, which is not a number.
#pragma once

#include <fila/table/values.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace fila::inline v1 {

/// The start of the pass by the store's clock, and the last row's place in the claim order.
template <std::size_t terms>
struct SqlCursor {
    bool begun = false;             ///< false: the start
    std::int64_t start = 0;         ///< microseconds
    std::array<Value, terms> at{};  ///< the last row met, by each term of the claim order

    friend bool operator==(SqlCursor const&, SqlCursor const&) = default;
};

}  // namespace fila::inline v1
