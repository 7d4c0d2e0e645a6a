// SPDX-License-Identifier: MIT
// schema_sql(mapping, dialect): the DDL of a mapping. Names come from it, types from its members.
//
// Statements are `IF NOT EXISTS`: it creates what is missing and changes nothing. An enum or other type named
// in
// `.status(…, {.type = …})` must exist already.
#pragma once

#include <fila/table/render.hpp>
#include <fila/table/split_schema.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace fila::inline v1 {

namespace detail {

/// The column definitions of a mapping, one after the other.
template <class T>
class SchemaWriter {
public:
    SchemaWriter(T const& table, Dialect const& dialect) : table_{table}, d_{dialect} {}

    [[nodiscard]] std::string columns() {
        key();
        table_.each_column([&](auto const& part) {
            if (table_.inserts(part.name))
                of_member(part, nullable_v<member_t<decltype(part)>> ? "" : " NOT NULL");
        });
        table_.each_output([&](auto const& part) {
            if (!is_column(part.name)) of_member(part, "");
        });
        table_.each_fixed([&](Fixed const& part) { add(part.name, integer_or_text(part) + " NOT NULL"); });
        auto const& words = table_.words();
        add(table_.template get<status_part>().name, (d_.arrays ? std::string{words.type} : d_.types[3]) +
                                                         " NOT NULL DEFAULT " + quote_word(words.pending));
        auto const text = d_.types[3];
        if (!split_) control<column_role::lease_until>(d_.time_type);
        control<column_role::updated_at>(d_.time_type);
        control<column_role::fence>(counter(true));
        if (!split_) control<column_role::owner>(text);
        control<column_role::failures>(counter(false));
        control<column_role::crashes>(counter(false));
        control<column_role::due_at>(d_.time_type + due_default());
        control<column_role::priority>(counter(true));
        control<column_role::last_error>(text);
        return std::move(text_);
    }
    /// The tables beside a split one, and the triggers that fill them.
    [[nodiscard]] std::string beside() {
        SqlTemplate sql{d_};
        auto& words = sql.words;
        split_words(table_, d_, words);
        auto const name = [](auto const& part) { return quote_name(part.name); };
        words["table"] = table_.name().qualified(d_.default_schema);
        words["table_text"] = quote_word(words["table"]);
        words["follow"] = Beside{table_.name(), "_fila_follow", d_}.qualified();
        words["follow_text"] = quote_word(words["follow"]);
        words["first_fence"] = Beside{table_.name(), "_fila_fence", d_}.qualified();
        words["key"] = name(table_.key_part());
        words["status"] = name(table_.template get<status_part>());
        words["pending"] = quote_word(table_.words().pending);
        words["vacuum"] = "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000";
        words["key_type"] = sql_type_of<std::remove_cvref_t<decltype(table_.key_part())>>(d_);
        if constexpr (T::is_split) {
            words["fence"] = name(table_.template get<column_role::fence>());
            words["lease_until"] = name(table_.template get<column_role::lease_until>());
            words["owner"] = name(table_.template get<column_role::owner>());
        }
        for (auto const* word : {"ready_columns", "lease_columns", "was", "is"}) words[word] = "";
        words["old"] = "OLD." + words["status"] + ", OLD." + words["fence"];
        words["new"] = "NEW." + words["status"] + ", NEW." + words["fence"];
        auto const column = [&](std::string const& quoted, std::string const& type) {
            auto const first = words["is"].empty();
            words["ready_columns"] += (first ? "  " : ",\n  ") + quoted + ' ' + type + " NOT NULL";
            words["was"] += (first ? "r." : " AND r.") + quoted + " = OLD." + quoted;
            words["is"] += (first ? "NEW." : ", NEW.") + quoted;
            words["old"] += ", OLD." + quoted;
            words["new"] += ", NEW." + quoted;
        };
        table_.each_fixed([&](Fixed const& part) {
            column(name(part), integer_or_text(part));
            words["lease_columns"] += ",\n  " + name(part) + ' ' + integer_or_text(part) + " NOT NULL";
        });
        if constexpr (T::template has<column_role::priority>)
            column(name(table_.template get<column_role::priority>()), "bigint");
        if constexpr (T::template has<column_role::due_at>)
            column(name(table_.template get<column_role::due_at>()), d_.time_type);
        column(words["key"], words["key_type"]);
        return split_ddl(std::move(sql));
    }

private:
    template <class Part>
    using member_t = typename std::remove_cvref_t<Part>::member_type;

    void key() {
        auto const& part = table_.key_part();
        auto const type = sql_type_of<std::remove_cvref_t<decltype(part)>>(d_);
        bool const generated = part.source == KeySource::database;
        if (d_.arrays)
            add(part.name, type + (generated ? " GENERATED BY DEFAULT AS IDENTITY" : "") + " PRIMARY KEY");
        // Without AUTOINCREMENT SQLite gives the key of a deleted row to the next one.
        else
            add(part.name, type + (generated ? " PRIMARY KEY AUTOINCREMENT" : " NOT NULL PRIMARY KEY"));
    }
    template <class Part>
    void of_member(Part const& part, std::string const& rest) {
        bool const time = part_wire_v<Part> == Wire::instant;
        add(part.name, (time ? d_.time_type : sql_type_of<Part>(d_)) + rest);
    }
    template <class Role>
    void control(std::string const& definition) {
        if constexpr (T::template has<Role>) add(table_.template get<Role>().name, definition);
    }
    [[nodiscard]] std::string counter(bool wide) const {
        return (d_.arrays ? (wide ? "bigint" : "integer") : d_.types[0]) + " NOT NULL DEFAULT 0";
    }
    [[nodiscard]] std::string due_default() const {
        if constexpr (T::template has<column_role::due_at>)
            if (table_.template get<column_role::due_at>().nulls != Nulls::refused) return "";
        return " NOT NULL DEFAULT " + (d_.arrays ? d_.now : d_.earliest);
    }
    [[nodiscard]] std::string integer_or_text(Fixed const& part) const {
        return d_.types[part.is_number ? 0 : 3];
    }
    [[nodiscard]] bool is_column(std::string_view name) const {
        bool found = false;
        table_.each_column([&](auto const& part) { found = found || part.name == name; });
        return found;
    }
    void add(std::string_view name, std::string const& definition) {
        text_ += (text_.empty() ? "  " : ",\n  ") + detail::quote_name(name) + ' ' + definition;
    }

    T const& table_;
    Dialect const& d_;
    bool split_ = T::is_split && d_.arrays;
    std::string text_;
};

[[nodiscard]] inline std::string if_not_exists(std::string ddl) {
    constexpr std::string_view create = "CREATE INDEX ";
    return ddl.insert(create.size(), "IF NOT EXISTS ") + ";\n";
}

}  // namespace detail

/// The DDL of a table that fits the mapping; harmless where it is there already.
template <class T>
[[nodiscard]] std::string schema_sql(T const& table, Dialect const& dialect) {
    auto const& name = table.name();
    auto const statements = render(table, dialect);
    std::string ddl;
    // To create a schema needs a privilege even where it exists, and "public" does.
    if (dialect.arrays && !name.schema.empty() && name.schema != dialect.default_schema)
        ddl += "CREATE SCHEMA IF NOT EXISTS " + detail::quote_name(name.schema) + ";\n";
    ddl += "CREATE TABLE IF NOT EXISTS " + name.qualified(dialect.default_schema) + " (\n" +
           detail::SchemaWriter<T>{table, dialect}.columns() + "\n)";
    bool const split = T::is_split && dialect.arrays;
    // Room for updates in place, and a vacuum that keeps up with a queue however large the table is.
    if (dialect.arrays)
        ddl += std::string{" WITH ("} + (split ? "" : "fillfactor = 70, ") +
               "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)";
    ddl += ";\n";
    ddl += split ? detail::SchemaWriter<T>{table, dialect}.beside()
                 : detail::if_not_exists(statements.next_index.text);
    if (!statements.stale_index.empty()) ddl += detail::if_not_exists(statements.stale_index.text);
    return ddl;
}

}  // namespace fila::inline v1
