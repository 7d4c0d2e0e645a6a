// SPDX-License-Identifier: MIT
// render(mapping, dialect): the statements, as a pure function. No live database has a say in the text, so it
// can be printed, reviewed and explained without one.
#pragma once

#include <fila/table/derived_names.hpp>
#include <fila/table/split_statements.hpp>
#include <fila/table/split_words.hpp>
#include <fila/table/sql_template.hpp>
#include <fila/table/statements.hpp>
#include <fila/table/table_builder.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1 {

namespace detail {

/// Fills the words and macros of one mapping, then renders each statement with them.
template <class T>
class Renderer {
    using can = Abilities<T>;
    using key_part_type = std::remove_cvref_t<decltype(std::declval<T const&>().key_part())>;
    static constexpr bool has_due = can::delay;

public:
    Renderer(T const& table, Dialect const& dialect) : table_{table}, d_{dialect}, sql_{dialect} {
        names();
        order();
        guards();
        returned();
        inserted();
        outputs();
        if (split_) beside_it();
    }

    [[nodiscard]] Statements all() {
        Statements s;
        claims(s);
        if constexpr (can::lease) {
            sql_.macros["owned"] = leased_;
            s.settle = sql_(of(sql::settle, sql::split::settle));
            s.erase = quietly(of(sql::erase, sql::split::erase));
            if (d_.arrays) s.hold = sql_(of(sql::hold, sql::split::hold));
            if constexpr (can::heartbeat)
                s.extend = sql_(of(sql::extend, sql::split::extend));
            else
                s.extend = sql_(sql::still_ours);
            rescues(s);
        }
        sql_.macros["owned"] = taken_;
        s.settle_taken = sql_(sql::settle);
        s.erase_taken = sql_(sql::erase);
        if (!d_.or_raise.empty()) {
            s.settle_or_raise = or_raise(s.settle_taken);
            s.erase_or_raise = or_raise(s.erase_taken);
        }
        if (!d_.same_transaction.empty()) s.take_again = sql_(of(sql::take_again, sql::split::take_again));
        s.enqueue = sql_(sql::enqueue);
        s.counts = sql_(of(sql::counts, sql::split::counts));
        if (!is_erased(table_.words().dead)) {
            sql_.macros["owned"] = "t.{status} = {dead}{fixed_t}";
            s.dead_letters = sql_(sql::dead_letters);
            s.redrive = sql_(sql::redrive);
            s.redrive_all = sql_(sql::redrive_all);
        }
        if (split_) {
            s.next_index.text =
                "ALTER TABLE " + sql_.words["ready"] + " ADD PRIMARY KEY (" + sql_.words["waiting"] + ")";
            s.stale_index.text =
                "CREATE INDEX " + quote_name(derived_name(table_.name().table, "_leases_fila_stale")) +
                " ON " + sql_.words["leases"] + " (" + leading_fixed(table_) + sql_.words["lease"] + ")";
            return s;
        }
        s.next_index = index("_fila_next", sql_.words["order"], "pending");
        if constexpr (can::lease) s.stale_index = index("_fila_stale", sql_.words["lease"], "processing");
        return s;
    }

private:
    void names() {
        auto& words = sql_.words;
        auto& macros = sql_.macros;
        auto const& status = table_.words();
        words["table"] = table_.name().qualified(d_.default_schema);
        words["key"] = detail::quote_name(table_.key_part().name);
        words["status"] = detail::quote_name(table_.template get<status_part>().name);
        words["pending"] = quote_word(status.pending);
        words["processing"] = quote_word(status.processing);
        words["dead"] = quote_word(status.dead);
        if (!is_erased(status.dead)) words["buried"] = "";
        if (can::crashes && !is_erased(status.dead)) words["mortal"] = "";
        words["cast"] = d_.arrays ? "::" + std::string{status.type} : "";
        control<column_role::lease_until>("lease_until");
        control<column_role::updated_at>("updated_at");
        control<column_role::fence>("fence");
        control<column_role::owner>("owner");
        control<column_role::failures>("failures");
        control<column_role::crashes>("crashes");
        control<column_role::due_at>("due_at");
        control<column_role::priority>("priority");
        control<column_role::last_error>("last_error");
        if constexpr (T::has_where) words["where"] = table_.template get<where_part>().condition;
        words["fixed"] = words["fixed_t"] = words["fixed_columns"] = words["fixed_values"] = "";
        table_.each_fixed([&](Fixed const& fixed) {
            words["fixed"] += " AND " + detail::quote_name(fixed.name) + " = " + fixed.value();
            words["fixed_t"] += " AND t." + detail::quote_name(fixed.name) + " = " + fixed.value();
            words["fixed_columns"] += ", " + detail::quote_name(fixed.name);
            words["fixed_values"] += ", " + fixed.value();
        });
        macros["now"] = d_.now;
        macros["bound_now"] = d_.bound_now;
        macros["until"] = d_.until;
        macros["later"] = d_.later;
        macros["stale"] = d_.stale;
        macros["revived"] = sql::revived;
        macros["full"] = sql::full;
        macros["changes"] = sql::changes;
        macros["next_fence"] = sql::next_fence;
        macros["first_fence"] = "0";
        if constexpr (can::age_column) {
            macros["ticked"] = d_.ticked("{updated_at}");
            macros["ticked_t"] = d_.ticked("t.{updated_at}");
        }
        if constexpr (can::lease) words["lease"] = words[can::lease_column ? "lease_until" : "updated_at"];
        words["skip_locked"] = d_.skip_locked;
        // A claim that a crash undoes is made again, with the same number if that is counted. Then only the owner tells
        // the two apart.
        if ((can::owner_column || !can::fence_column) && !d_.unsynced.empty())
            words["unsynced"] = d_.unsynced;
        macros["ordinal"] = d_.ordinal;
        macros["among_next"] = among("next");
        macros["among_stale"] = among("stale");
        macros["mine"] =
            d_.arrays ? "t.{key} = ANY(ARRAY[o.k]) AND (SELECT {owned})" : "t.{key} = :k AND {owned}";
        sql_.types = {{"after_key", key_type()}, {"after_due", "text"}, {"owner", "text"}, {"guard", "text"}};
        macros["o_keys"] = rows({{"k", key_type()}, {"fence", "bigint"}});
        macros["o_redrive"] = rows({{"k", key_type()}});
    }
    /// Priority, due, key: every term ascending, so that the cursor is one row comparison.
    void order() {
        std::string terms, cursor, out;
        auto term = [&](std::string const& expression, std::string const& parameter) {
            auto const alias = "fila_" + std::to_string(++terms_);
            auto const comma = terms_ > 1 ? ", " : "";
            terms += comma + expression;
            cursor += comma + parameter;
            out += comma + alias;
            cursor_columns_ += ", " + pasted("term" + std::to_string(terms_), expression) + " AS " + alias;
        };
        if constexpr (can::priority) {
            auto const& part = table_.template get<column_role::priority>();
            auto expression = detail::quote_name(part.name);
            if (part.nulls != Nulls::refused) expression = "COALESCE(" + expression + ", 0)";
            if (part.order == Order::highest_first) expression = "(-" + expression + ")";
            term(expression, ":after_priority");
        }
        if constexpr (has_due) {
            auto const& part = table_.template get<column_role::due_at>();
            auto& due = sql_.words["due"];
            due = detail::quote_name(part.name);
            if (part.nulls != Nulls::refused) due = "COALESCE(" + due + ", " + d_.earliest + ")";
            term(due, d_.after_due);
        }
        // Beside a split table keys are ordered as they are in the table itself, so that one is found by the other.
        bool const text = part_wire_v<key_part_type> == Wire::text && !split_;
        term(sql_.words["key"] + (text ? d_.text_order : ""), ":after_key");
        sql_.words["order"] = terms;
        sql_.words["order_out"] = out;
        sql_.macros["cursor"] = cursor;
    }
    /// Who may settle: the fence, the owner, the state. They are compared in the statement that writes.
    void guards() {
        leased_ = "t.{status} = {processing}{fixed_t}";
        if constexpr (can::fence_column)
            leased_ += " AND t.{fence} = {o}fence";
        else if constexpr (can::age_column)
            leased_ += " AND " + d_.micros("t.{updated_at}") + " = {o}fence";
        if constexpr (can::owner_column) leased_ += " AND t.{owner} = :owner";
        sql_.macros["takeable"] = taken_ = "t.{status} = {pending}{fixed_t}";
        if (!d_.same_transaction.empty()) taken_ += " AND " + d_.same_transaction;
    }
    /// What the statements of a split table know further.
    void beside_it() {
        auto& words = sql_.words;
        auto& macros = sql_.macros;
        split_words(table_, d_, words);
        macros["place"] = "(fence & {last_place})::integer + 1";
        macros["first_fence"] = sql::split::fence_of_all;
        SqlTemplate const plain = sql_;
        words["behind"] = quote_word(plain(sql::split::behind).text);
        macros["held"] = sql::split::held;
        macros["of_held"] = sql::split::of_held;
        macros["closed"] = sql::split::closed;
        macros["doomed"] = sql::split::doomed;
        leased_ = sql::split::owned;
    }
    /// Key, fence, failures, crashes, the start of the pass, the cursor's terms, then the user's columns. Without
    /// names that ORDER BY could take for a column of the table.
    void returned() {
        auto& r = sql_.macros["returning"];
        r = "{key}, ";
        r += split_              ? "{fence_out}"
             : can::fence_column ? "{fence}"
             : can::age_column   ? d_.micros("{updated_at}")
                                 : "0";
        r += ", ";
        r += can::failures ? "{failures}" : "0";
        r += ", ";
        r += can::crashes ? "{crashes}" : "0";
        r += ", {pass_micros}" + cursor_columns_;
        int n = 0;
        table_.each_column([&](auto const& part) {
            using Part = std::remove_cvref_t<decltype(part)>;
            auto const column = pasted("column" + std::to_string(n++), detail::quote_name(part.name));
            r += ", " + (part_wire_v<Part> == Wire::instant ? d_.micros(column) : column);
        });
        r += "{mark}";
    }
    void inserted() {
        auto& columns = sql_.words["insert_columns"];
        auto& values = sql_.macros["insert_values"];
        columns = values = "";
        std::vector<std::pair<std::string, std::string>> sent{{"delay", "bigint"}, {"priority", "bigint"}};
        int n = 0;
        each_inserted(table_, [&](auto const& part) {
            auto const name = "c" + std::to_string(n++);
            columns += ", " + detail::quote_name(part.name);
            values += ", " + value_of<std::remove_cvref_t<decltype(part)>>(name);
            sent.emplace_back(name, sql_type_of<std::remove_cvref_t<decltype(part)>>(d_));
        });
        sql_.macros["o_enqueue"] = rows(sent);
    }
    void outputs() {
        std::vector<std::pair<std::string, std::string>> sent{{"k", key_type()},     {"fence", "bigint"},
                                                              {"word", "text"},      {"delay", "bigint"},
                                                              {"failure", "bigint"}, {"error", "text"}};
        auto& macro = sql_.macros["outputs"];
        macro = "";
        int n = 0;
        table_.each_output([&](auto const& part) {
            if (n == 0) sent.emplace_back("written", "boolean");
            auto const column = pasted("output" + std::to_string(n), detail::quote_name(part.name));
            auto const name = "r" + std::to_string(n++);
            macro += ",\n       " + column + " = CASE WHEN {o}written THEN " +
                     value_of<std::remove_cvref_t<decltype(part)>>(name) + " ELSE t." + column + " END";
            sent.emplace_back(name, sql_type_of<std::remove_cvref_t<decltype(part)>>(d_));
        });
        sql_.macros["o_settle"] = rows(sent);
    }

    void claims(Statements& s) {
        auto& macros = sql_.macros;
        auto const with_pass = [&](bool first, bool mark) {
            macros["taken"] = mark ? d_.taken : "";
            macros["start"] = first ? d_.pass_now : d_.pass_start;
            macros["pass_micros"] = first && has_due ? d_.pass_micros : "0";
            macros["mark"] = mark && !d_.pass_mark.empty() ? ", " + d_.pass_mark : "";
            return !d_.pass.empty() && ((first && has_due) || (mark && !d_.taken.empty()));
        };
        auto const both = [&](bool first, Statement& claim, Statement& take) {
            macros["fence_out"] = "fila_fence";
            if constexpr (can::lease) {
                macros["pass"] = with_pass(first, false) ? d_.pass + ", " : "";
                claim = sql_(of(sql::claim, sql::split::claim));
            }
            macros["pass"] = with_pass(first, true) ? "WITH " + d_.pass + "\n" : "";
            take = sql_(of(sql::take, sql::split::take));
            macros["fence_out"] = "{fence}";
        };
        both(true, s.claim, s.take);
        sql_.words["after"] = "";
        both(false, s.claim_after, s.take_after);
        sql_.words.erase("after");
        with_pass(false, false);
    }
    void rescues(Statements& s) {
        auto& macros = sql_.macros;
        macros["stale_rows"] = of(sql::stale, sql::split::stale);
        s.stale_probe = sql_(of(sql::stale, sql::split::stale));
        macros["moving"] = sql::split::bury;
        if (can::crashes && is_erased(table_.words().dead)) {
            auto const crashes = split_ ? "found.crashes" : "COALESCE({crashes}, 0)";
            macros["cap"] = std::string{crashes} + " >= :max_crashes - 1";
            s.rescue_erase = quietly(of(sql::rescue_erase, sql::split::rescue));
            macros["cap"] = std::string{crashes} + " < :max_crashes - 1";
        }
        macros["moving"] = sql::split::requeue;
        s.rescue = sql_(of(sql::rescue, sql::split::rescue));
        macros.erase("cap");
    }

    /// For macros, which are filled in turn: a name may hold what looks like a hole or a parameter.
    [[nodiscard]] std::string pasted(std::string const& word, std::string text) {
        sql_.words[word] = std::move(text);
        return '{' + word + '}';
    }
    template <class Role>
    void control(char const* word) {
        if constexpr (T::template has<Role>)
            sql_.words[word] = detail::quote_name(table_.template get<Role>().name);
    }
    template <class Part>
    [[nodiscard]] std::string value_of(std::string const& name) const {
        return part_wire_v<Part> == Wire::instant ? d_.instant("{o}" + name) : "{o}" + name;
    }
    [[nodiscard]] std::string key_type() const { return sql_type_of<key_part_type>(d_); }
    [[nodiscard]] std::string among(std::string_view list) const {
        auto text = d_.among;
        return text.replace(text.find('#'), 1, "SELECT {key} FROM " + std::string{list});
    }
    [[nodiscard]] std::string rows(std::vector<std::pair<std::string, std::string>> const& columns) {
        if (!d_.arrays) return {};
        for (auto const& [name, type] : columns) sql_.types[name] = type + "[]";
        return d_.rows(columns);
    }
    [[nodiscard]] Statement or_raise(Statement statement) const {
        auto text = d_.or_raise;
        statement.text = text.replace(text.find('#'), 1, statement.text);
        return statement;
    }
    [[nodiscard]] std::string_view of(std::string_view one_table, std::string_view split_table) const {
        return split_ ? split_table : one_table;
    }
    /// Erases without a look at what waits, where that is a table of its own.
    [[nodiscard]] Statement quietly(std::string_view text) {
        sql_.macros["quietly"] = sql::split::quietly;
        auto statement = sql_(text);
        sql_.macros.erase("quietly");
        return statement;
    }
    /// Fixed columns lead: one index serves all queues of a table.
    [[nodiscard]] Statement index(std::string_view suffix, std::string const& columns, char const* status) {
        auto const& words = sql_.words;
        auto const name = detail::quote_name(derived_name(table_.name().table, suffix));
        auto const schema = table_.name().schema;
        bool const index_has_schema = !d_.arrays && !schema.empty();
        return {"CREATE INDEX " + (index_has_schema ? detail::quote_name(schema) + "." : std::string{}) +
                name + " ON " + (d_.arrays ? words.at("table") : detail::quote_name(table_.name().table)) +
                " (" + leading_fixed(table_) + columns + ") WHERE " + words.at("status") + " = " +
                words.at(status)};
    }

    T const& table_;
    Dialect const& d_;
    SqlTemplate sql_;
    bool split_ = T::is_split && d_.arrays;
    int terms_ = 0;
    std::string cursor_columns_, leased_, taken_;
};

template <class T>
consteval bool check_table() {
    constexpr bool key = T::has_key, status = T::has_status;
    static_assert(key, "fila::table<Row>: say which column is the key: .key(\"id\", &Row::id)");
    static_assert(status, "fila::table<Row>: say which column holds the status: .status(\"status\")");
    using can = Abilities<T>;
    constexpr bool leased = !T::is_split || (can::lease_column && can::fence_column && can::owner_column);
    static_assert(leased, "fila::table<Row>: .split() wants .lease_until(…), .fence(…) and .owner(…)");
    constexpr bool bare = !T::is_split || !T::has_where;
    static_assert(bare, "fila::table<Row>: .split() takes no .where(…): what waits has no other columns");
    return key && status && leased && bare;
}

}  // namespace detail

/// Every statement of `table` in `dialect`. Both are read during the call only.
template <class T>
[[nodiscard]] Statements render(T const& table, Dialect const& dialect) {
    if constexpr (detail::check_table<T>()) return detail::Renderer<T>{table, dialect}.all();
}

}  // namespace fila::inline v1
