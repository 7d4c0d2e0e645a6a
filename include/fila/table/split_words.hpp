// SPDX-License-Identifier: MIT
// What the statements and the DDL of a split table know of it: the tables beside it and their columns.
#pragma once

#include <fila/table/derived_names.hpp>
#include <fila/table/sql_template.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace fila::inline v1::detail {

/// `suffix`: "_ready" or "_leases".
struct Beside {
    std::string schema, table;

    Beside(TableName const& name, std::string_view suffix, Dialect const& dialect)
        : schema{name.schema.empty() ? std::string_view{dialect.default_schema} : name.schema},
          table{derived_name(name.table, suffix)} {}
    [[nodiscard]] std::string qualified() const { return quote_name(schema) + '.' + quote_name(table); }
};

/// Calls `f(part)` for each column of what waits, in the order of its key.
template <class T, class F>
void each_waiting(T const& table, F f) {
    table.each_fixed(f);
    if constexpr (Abilities<T>::priority) f(table.template get<column_role::priority>());
    if constexpr (Abilities<T>::delay) f(table.template get<column_role::due_at>());
    f(table.key_part());
}

/// Throws std::invalid_argument for what only one table can do.
template <class T>
void split_words(T const& table, Dialect const& dialect, SqlTemplate::Names& words) {
    using can = Abilities<T>;
    words["ready"] = Beside{table.name(), "_ready", dialect}.qualified();
    words["leases"] = Beside{table.name(), "_leases", dialect}.qualified();
    words["leases_text"] = quote_word(words["leases"]);
    words["places"] = "20";
    words["last_place"] = "1048575";
    auto& waiting = words["waiting"] = leading_fixed(table);
    auto& waits = words["waits"] = "";
    auto const column = [&](auto const& part) {
        auto const name = quote_name(part.name);
        waiting += name + (part.name == table.key_part().name ? "" : ", ");
        waits += (waits.empty() ? "r." : " AND r.") + name + " = t." + name;
    };
    if constexpr (can::priority) {
        auto const& part = table.template get<column_role::priority>();
        if (part.nulls != Nulls::refused || part.order != Order::lowest_first)
            throw std::invalid_argument(
                "fila::table: a split table goes by the lowest priority first and has no NULL: leave "
                ".priority(…)'s other arguments, or .split()");
        column(part);
    }
    if constexpr (can::delay) {
        auto const& part = table.template get<column_role::due_at>();
        if (part.nulls != Nulls::refused)
            throw std::invalid_argument(
                "fila::table: a split table has no due time that is NULL: leave .due_at(…)'s second "
                "argument, or "
                ".split()");
        column(part);
    }
    column(table.key_part());
}

}  // namespace fila::inline v1::detail
