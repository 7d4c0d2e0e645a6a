// SPDX-License-Identifier: MIT
// A rendered SQL statement, and the values that go with it.
#pragma once

#include <fila/table/values.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1 {

/// SQL text and the names of its parameters, in the order of `$1`, `$2`, … or of the first mention of each
/// `:name` (which is how SQLite numbers them too). So drivers bind by place and never search in the text.
struct Statement {
    std::string text;                       ///< SQL; empty: the mapping does not carry the verb
    std::vector<std::string> parameters{};  ///< by place, each name once
    /// Whether there is nothing to run.
    [[nodiscard]] bool empty() const noexcept { return text.empty(); }
};

/// Values of single parameters, by name. A name that the statement does not have is ignored; a parameter of
/// the statement that has no value is NULL. `now` is not among them: a driver whose clock is its host's binds
/// it.
using Bindings = std::vector<std::pair<std::string_view, Value>>;

/// Values of many rows: one vector a column, all of one length.
struct Rows {
    std::vector<std::string> names{};           ///< of the parameters
    std::vector<std::vector<Value>> columns{};  ///< a vector for each name

    /// Rows, not columns.
    [[nodiscard]] std::size_t size() const noexcept { return columns.empty() ? 0 : columns.front().size(); }
    /// Whether there is no row.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
};

}  // namespace fila::inline v1
