// SPDX-License-Identifier: MIT
// What follows from a mapping and a dialect: types of columns, and names of what is made beside a table.
#pragma once

#include <fila/table/dialect.hpp>
#include <fila/table/table_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fila::inline v1::detail {

/// The database type of a part's values, in casts and in DDL.
template <class Part>
[[nodiscard]] std::string sql_type_of(Dialect const& dialect) {
    if constexpr (requires { Part::codec_type::sql_type; })
        return std::string{Part::codec_type::sql_type};
    else
        return dialect.types[static_cast<std::size_t>(part_wire_v<Part>)];
}

/// Columns that an insert fills from the row, in the order of its parameters c0, c1, …
template <class T, class F>
void each_inserted(T const& table, F f) {
    if (table.key_part().source == KeySource::row) f(table.key_part());
    table.each_column([&](auto const& part) {
        if (table.inserts(part.name)) f(part);
    });
}

/// A name derived from the table's. Where it must be cut, a hash keeps two tables apart.
[[nodiscard]] inline std::string derived_name(std::string_view table, std::string_view suffix) {
    constexpr std::size_t longest = 63, hash_digits = 9;
    if (table.size() + suffix.size() <= longest) return std::string{table} + std::string{suffix};
    std::uint32_t hash = 2166136261u;
    for (char const c : table) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    auto kept = longest - suffix.size() - hash_digits;
    while (kept > 0 && (static_cast<unsigned char>(table[kept]) & 0xC0u) == 0x80u)
        --kept;  // whole code points
    std::string name{table.substr(0, kept)};
    name += '_';
    for (int shift = 28; shift >= 0; shift -= 4) name += "0123456789abcdef"[hash >> shift & 15u];
    return name + std::string{suffix};
}

/// Fixed columns lead: one index serves all queues of a table.
template <class T>
[[nodiscard]] std::string leading_fixed(T const& table) {
    std::string fixed;
    table.each_fixed([&](Fixed const& part) { fixed += quote_name(part.name) + ", "; });
    return fixed;
}

}  // namespace fila::inline v1::detail
