// SPDX-License-Identifier: MIT
// The statements of store.doctor() over the rows of a mapping, and those that mend what they find.
#pragma once

#include <fila/table/render.hpp>
#include <fila/table/sql_template.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace fila::inline v1::detail {

namespace sql {

// Each walks a range of one of the two indexes that serve claim and rescue, :n rows of it at most. Where the
// planner would read the table instead, doctor() says so and does not ask.

// The oldest leases that are over.
inline constexpr std::string_view unrescued =
    R"(SELECT CAST({held_key} AS text), {lease_micros}, {now_micros} FROM {held_rows} AND {lease} < {bound} ORDER BY {lease} LIMIT :n)";

inline constexpr std::string_view unleased =
    R"(SELECT CAST({key} AS text) FROM {held_rows} AND {lease} IS NULL LIMIT :n)";

inline constexpr std::string_view leased_ahead =
    R"(SELECT CAST({held_key} AS text) FROM {held_rows} AND {lease} > {ahead} ORDER BY {lease} LIMIT :n)";

// Priorities lead the index of pending rows: one after the other is looked up.
inline constexpr std::string_view priority =
    R"(SELECT {priority} FROM {waiting_rows}{after? AND {priority} > :p} ORDER BY {priority} LIMIT 1)";

inline constexpr std::string_view due_ahead =
    R"(SELECT CAST({key} AS text) FROM {waiting_rows}{priority? AND {priority} = :p} AND {due} > {ahead} ORDER BY {due} LIMIT :n)";

inline constexpr std::string_view due_never =
    R"(SELECT CAST({key} AS text) FROM {waiting_rows}{priority? AND {priority} = :p} AND {due_at} IS NULL LIMIT :n)";

// The first and the last rows by key. The filter stands outside of the limit, or nothing would bound the walk;
// the order is by t.key, since PostgreSQL takes a bare name for the text of the first column.
inline constexpr std::string_view words =
    R"(SELECT CAST({key} AS text), CAST({status} AS text), CASE WHEN 1 = 1{fixed} THEN 1 ELSE 0 END FROM {table} AS t
 ORDER BY t.{key}{last? DESC} LIMIT :n)";

inline constexpr std::string_view mend_unrescued =
    R"(UPDATE {table} SET {status} = {pending}{crashes?, {crashes} = COALESCE({crashes}, 0) + 1} WHERE {status} = {processing}{fixed} AND {lease} < {over})";
inline constexpr std::string_view mend_unleased =
    R"(UPDATE {table} SET {status} = {pending} WHERE {status} = {processing}{fixed} AND {lease} IS NULL)";
inline constexpr std::string_view mend_leased_ahead =
    R"(UPDATE {held_table} SET {lease} = {now}{leases?, untils = NULL} WHERE {held_if}{fixed} AND {lease} > {far})";
inline constexpr std::string_view mend_due_ahead =
    R"(UPDATE {table} SET {due_at} = {now} WHERE {status} = {pending}{fixed} AND {due} > {far})";
inline constexpr std::string_view mend_due_never =
    R"(UPDATE {table} SET {due_at} = {now} WHERE {status} = {pending}{fixed} AND {due_at} IS NULL)";

}  // namespace sql

/// Rendered with the times of one call: `age` is the lease that rows are rescued by where only their last
/// change is known.
template <class T>
class DoctorSql {
    using can = Abilities<T>;

public:
    DoctorSql(T const& table, Dialect const& dialect, std::int64_t age_micros, std::int64_t ahead_micros)
        : sql_{dialect} {
        auto& words = sql_.words;
        auto& macros = sql_.macros;
        auto const literal = [&](std::string text, std::int64_t span) {
            replace(text, ":now", "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000)");
            replace(text, ":lease", std::to_string(span));
            return text;
        };
        auto const& status = table.words();
        words["table"] = table.name().qualified(dialect.default_schema);
        words["key"] = detail::quote_name(table.key_part().name);
        words["status"] = detail::quote_name(table.template get<status_part>().name);
        words["pending"] = quote_word(status.pending);
        words["processing"] = quote_word(status.processing);
        macros["held_table"] = "{table}";
        macros["held_if"] = "{status} = {processing}";
        macros["held_rows"] = "{held_table}\n WHERE {held_if}{fixed}";
        macros["held_key"] = "{key}";
        macros["waiting_rows"] = "{table}\n WHERE {status} = {pending}{fixed}";
        if (T::is_split && dialect.arrays) {
            split_words(table, dialect, words);
            macros["held_table"] = "{leases}";
            macros["held_if"] = "true";
            macros["held_key"] = "keys[1]";
            macros["waiting_rows"] = "{ready}\n WHERE true{fixed}";
        }
        words["fixed"] = "";
        table.each_fixed([&](Fixed const& fixed) {
            words["fixed"] += " AND " + detail::quote_name(fixed.name) + " = " + fixed.value();
        });
        words["now"] = literal(dialect.now, 0);
        words["far"] = literal("(" + dialect.until + ")", ahead_micros);
        macros["ahead"] = dialect.arrays ? "(SELECT " + dialect.until + ")" : "(" + dialect.until + ")";
        macros["bound"] = dialect.stale;
        macros["now_micros"] = dialect.micros(dialect.now);
        if constexpr (can::lease_column)
            words["lease"] = detail::quote_name(table.template get<column_role::lease_until>().name);
        else if constexpr (can::lease)
            words["lease"] = detail::quote_name(table.template get<column_role::updated_at>().name);
        if constexpr (can::lease) {
            words["over"] = literal(can::lease_column ? dialect.bound_now : dialect.stale, age_micros);
            macros["lease_micros"] = dialect.micros(words["lease"]);
        }
        if constexpr (can::crashes)
            words["crashes"] = detail::quote_name(table.template get<column_role::crashes>().name);
        if constexpr (can::delay) {
            auto const& part = table.template get<column_role::due_at>();
            auto const column = words["due_at"] = detail::quote_name(part.name);
            words["due"] =
                part.nulls == Nulls::refused ? column : "COALESCE(" + column + ", " + dialect.earliest + ")";
        }
        if constexpr (can::priority) {
            auto const& part = table.template get<column_role::priority>();
            auto term = detail::quote_name(part.name);
            if (part.nulls != Nulls::refused) term = "COALESCE(" + term + ", 0)";
            words["priority"] = part.order == Order::highest_first ? "(-" + term + ")" : term;
        }
    }

    [[nodiscard]] Statement operator()(std::string_view text) const { return sql_(text); }
    /// With the hole `{name? …}` open.
    [[nodiscard]] Statement with(std::string const& name, std::string_view text) const {
        auto open = sql_;
        open.words[name] = "";
        return open(text);
    }
    [[nodiscard]] std::string word(std::string const& name) const { return sql_.words.at(name); }

private:
    static void replace(std::string& text, std::string_view what, std::string const& by) {
        for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
            text.replace(at, what.size(), by);
    }

    SqlTemplate sql_;
};

}  // namespace fila::inline v1::detail
