// SPDX-License-Identifier: MIT
// Identifiers: checked while compiling where they are literals, quoted when rendered.
#pragma once

#include <fila/config.hpp>
#include <fila/detail/text.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fila::inline v1 {

namespace detail {

/// PostgreSQL cuts longer identifiers silently: two tables could become one.
constexpr std::string_view checked_identifier(std::string_view id) {
    if (id.empty()) throw std::invalid_argument("fila::table: an identifier is empty");
    if (id.size() > 63) throw std::invalid_argument("fila::table: an identifier is longer than 63 bytes");
    if (id.find('\0') != id.npos) throw std::invalid_argument("fila::table: an identifier contains NUL");
    if (!is_utf8(id)) throw std::invalid_argument("fila::table: an identifier is not UTF-8");
    return id;
}

inline std::string doubled(std::string_view text, char quote) {
    std::string quoted{quote};
    for (char const c : text) {
        if (c == quote) quoted += quote;
        quoted += c;
    }
    return quoted + quote;
}
inline std::string quote_name(std::string_view identifier) { return doubled(identifier, '"'); }
inline std::string quote_word(std::string_view word) { return doubled(word, '\''); }

}  // namespace detail

/// "schema.table" or "table"; `{"schema", "odd.name"}` where a name has a dot in it. A view: the text must
/// live as long as the mapping, which literals do and temporary strings do not.
struct TableName {
    std::string_view schema;  ///< empty: the database's default
    std::string_view table;   ///< without quotes, at most 63 bytes

    /// Splits at the first dot. Throws std::invalid_argument for what is no name; a literal does not compile.
    constexpr TableName(char const* name) : TableName{std::string_view{name}} {}
    /// The same.
    constexpr TableName(std::string_view name) : table{name} {
        if (auto const dot = name.find('.'); dot != name.npos) {
            schema = detail::checked_identifier(name.substr(0, dot));
            table = name.substr(dot + 1);
        }
        detail::checked_identifier(table);
    }
    /// Takes both as they are, dots included.
    constexpr TableName(std::string_view schema_name, std::string_view table_name)
        : schema{detail::checked_identifier(schema_name)}, table{detail::checked_identifier(table_name)} {}
    TableName(std::string&&) = delete;

    /// Quoted, and qualified with `default_schema` where the name is not: so a search_path never decides.
    [[nodiscard]] std::string qualified(std::string_view default_schema) const {
        auto const in = schema.empty() ? default_schema : schema;
        return (in.empty() ? std::string{} : detail::quote_name(in) + '.') + detail::quote_name(table);
    }
};

}  // namespace fila::inline v1
