// SPDX-License-Identifier: MIT
// Touched: what a driver answers for a row that a statement changed and said nothing of.
#pragma once

#include <fila/table/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace fila::inline v1 {

/// The record of a statement that has no columns, for each row that it touched. Its one field is the row's place among
/// those that were sent, from 1; where the database says only how many, it counts.
class Touched {
public:
    /// In place of a value of a column.
    struct Field {
        std::int64_t place;  ///< from 1
        /// Never.
        [[nodiscard]] bool null() const noexcept { return false; }
        /// The place.
        [[nodiscard]] Value cursor_value() const { return place; }
        /// The place; throws std::invalid_argument for what is no number.
        template <class W>
        [[nodiscard]] W get() const {
            if constexpr (std::integral<W>)
                return static_cast<W>(place);
            else
                throw std::invalid_argument{"a row's place is a whole number"};
        }
    };
    /// Of the row at this place, from 1.
    explicit Touched(std::int64_t place) noexcept : place_{place} {}
    /// The same field, whatever is asked for.
    [[nodiscard]] Field operator[](std::size_t) const noexcept { return {place_}; }

private:
    std::int64_t place_;
};

}  // namespace fila::inline v1
