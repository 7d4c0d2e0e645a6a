// SPDX-License-Identifier: MIT
// What SQLite's pragmas and schema table say about a table.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/table_name.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::sqlite::detail {

/// The CHECK constraints in the text of a CREATE TABLE: SQLite lists them nowhere else.
[[nodiscard]] inline std::vector<std::string> check_constraints(std::string_view ddl) {
    std::string upper{ddl};
    for (auto& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::vector<std::string> checks;
    for (auto at = upper.find("CHECK"); at != upper.npos; at = upper.find("CHECK", at + 1)) {
        auto const open = upper.find_first_not_of(" \t\r\n", at + 5);
        if (open == upper.npos || upper[open] != '(') continue;
        int depth = 0;
        for (auto i = open; i < ddl.size(); ++i) {
            if (ddl[i] == '(') ++depth;
            if (ddl[i] != ')' || --depth > 0) continue;
            checks.emplace_back(ddl.substr(at, i + 1 - at));
            break;
        }
    }
    return checks;
}

/// Reads a table's catalogue through `c.run`.
template <class Connection>
class CatalogueReader {
public:
    CatalogueReader(Connection& c, TableName const& name)
        : c_{c},
          table_{std::string{name.table}},
          schema_{name.schema.empty() ? "main" : std::string{name.schema}} {}

    [[nodiscard]] Catalogue read() {
        Catalogue live;
        if (!attached()) return live;
        columns(live);
        live.exists = !live.columns.empty();
        if (!live.exists) return live;
        indexes(live);
        schema(live);
        return live;
    }

private:
    bool attached() {
        bool found = false;
        run("SELECT 1 FROM pragma_database_list WHERE name = :s", [&](auto const&) { found = true; });
        return found;
    }
    void columns(Catalogue& live) {
        std::vector<std::string> key;
        run("SELECT name, type, \"notnull\", pk, dflt_value FROM pragma_table_xinfo(:t, :s) ORDER BY cid",
            [&](auto const& r) {
                bool const in_key = r[3].template get<std::int64_t>() > 0;
                auto name = r[0].template get<std::string>();
                if (in_key) key.push_back(name);
                live.columns.push_back({std::move(name), r[1].template get<std::string>(),
                                        r[2].template get<bool>() || in_key, !r[4].null() || in_key});
            });
        if (!key.empty()) live.unique.push_back(std::move(key));
    }
    void indexes(Catalogue& live) {
        std::string last;
        run("SELECT l.name, i.name FROM pragma_index_list(:t, :s) AS l JOIN pragma_index_info(l.name, :s) AS "
            "i "
            "WHERE l.\"unique\" AND NOT l.partial ORDER BY l.seq, i.seqno",
            [&](auto const& r) {
                auto index = r[0].template get<std::string>();
                if (index != last) live.unique.emplace_back();
                live.unique.back().push_back(r[1].null() ? std::string{} : r[1].template get<std::string>());
                last = std::move(index);
            });
    }
    void schema(Catalogue& live) {
        auto const list =
            fila::detail::quote_name(schema_) + ".sqlite_schema WHERE tbl_name = :t COLLATE NOCASE";
        // What stands before ON are the events of a trigger.
        run("SELECT name FROM " + list +
                " AND type = 'trigger' AND substr(upper(sql), 1, instr(upper(sql), ' ON ')) LIKE '%UPDATE%'",
            [&](auto const& r) { live.update_triggers.push_back(r[0].template get<std::string>()); });
        run("SELECT sql FROM " + list + " AND type = 'table'", [&](auto const& r) {
            if (!r[0].null()) live.checks = check_constraints(r[0].template get<std::string>());
        });
    }
    template <class F>
    void run(std::string const& sql, F on_row) {
        auto const table_first = sql.find(":t") < sql.find(":s");
        Statement statement{sql};
        for (auto const* name : {table_first ? "t" : "s", table_first ? "s" : "t"})
            if (sql.find(std::string{":"} + name) != sql.npos) statement.parameters.emplace_back(name);
        c_.run(statement, {{"t", table_}, {"s", schema_}}, on_row);
    }

    Connection& c_;
    std::string table_, schema_;
};

}  // namespace fila::inline v1::sqlite::detail
