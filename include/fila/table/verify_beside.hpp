// SPDX-License-Identifier: MIT
// verify() of a mapping as it lies in a database: the table itself, and what a split one has beside it.
#pragma once

#include <fila/table/split_words.hpp>
#include <fila/table/verify.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace fila::inline v1::detail {

/// One of the tables beside a split one, which are all ours.
[[nodiscard]] inline std::vector<Finding> compare_beside(Beside const& name, Catalogue const& live,
                                                         std::vector<std::string_view> const& columns) {
    std::vector<Finding> findings;
    auto const mend = "store.migrate(), as the owner of the table";
    if (!live.exists) {
        findings.push_back(
            {true, "no table " + name.qualified() + ", which a split table has beside it", mend});
        return findings;
    }
    for (auto const column : columns)
        if (std::ranges::find(live.columns, column, &Catalogue::Column::name) == live.columns.end())
            findings.push_back({true, name.qualified() + " has no column " + quote_name(column), mend});
    for (auto const& privilege : live.denied)
        findings.push_back({true, "no privilege to " + privilege + " on " + name.qualified(),
                            "GRANT " + privilege + " ON " + name.qualified() + " TO " +
                                (live.role.empty() ? "current_user" : live.role)});
    return findings;
}

/// All that the mapping lies in, read by `connection.catalogue(name)`. `exists`: whether the table itself does.
template <class T, class Connection>
[[nodiscard]] std::vector<Finding> compare_all(T const& table, Connection& connection, Dialect const& dialect,
                                               bool* exists = nullptr) {
    auto const live = connection.catalogue(table.name());
    if (exists) *exists = live.exists;
    auto findings = compare(table, live, dialect);
    if constexpr (T::is_split) {
        if (!dialect.arrays || !live.exists) return findings;
        std::vector<std::string_view> waiting;
        each_waiting(table, [&](auto const& part) { waiting.push_back(part.name); });
        std::vector<std::string_view> leased{"lease",
                                             "open",
                                             "keys",
                                             "untils",
                                             table.template get<column_role::lease_until>().name,
                                             table.template get<column_role::owner>().name};
        table.each_fixed([&](Fixed const& part) { leased.push_back(part.name); });
        auto const add = [&](std::string_view suffix, std::vector<std::string_view> const& columns) {
            Beside const name{table.name(), suffix, dialect};
            std::ranges::move(compare_beside(name, connection.catalogue({name.schema, name.table}), columns),
                              std::back_inserter(findings));
        };
        add("_ready", waiting);
        add("_leases", leased);
    }
    return findings;
}

}  // namespace fila::inline v1::detail
