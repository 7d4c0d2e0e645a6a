// SPDX-License-Identifier: MIT
// compare(mapping, catalogue, dialect): every mismatch at once, each with what mends it.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/render.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fila::inline v1::detail {

/// Kinds of column types. `other` is an enum, a domain, or no declared type: rows decide one by one.
enum class TypeFamily { text, integer, real, boolean, bytes, uuid, instant, naive_time, other };

[[nodiscard]] inline TypeFamily type_family(std::string_view type, bool sqlite) {
    std::string lower{type};
    if (auto const open = lower.find('('), close = lower.find(')'); close != lower.npos && open < close)
        lower.erase(open, close + 1 - open);  // a length or a precision, also amid the words
    for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    auto begins = [&](auto... prefixes) { return (lower.starts_with(prefixes) || ...); };
    if (begins("timestamp with time zone", "timestamptz") && !sqlite) return TypeFamily::instant;
    if (begins("timestamp", "date")) return sqlite ? TypeFamily::other : TypeFamily::naive_time;
    if (begins("bigint", "int", "smallint"))
        return begins("interval") ? TypeFamily::other : TypeFamily::integer;
    if (begins("text", "char", "varchar", "json", "citext", "clob")) return TypeFamily::text;
    if (begins("double", "real", "numeric", "decimal", "float"))
        return sqlite && begins("numeric", "decimal") ? TypeFamily::other : TypeFamily::real;
    if (begins("bool")) return sqlite ? TypeFamily::integer : TypeFamily::boolean;
    if (begins("bytea", "blob")) return TypeFamily::bytes;
    if (begins("uuid") && !sqlite) return TypeFamily::uuid;
    return TypeFamily::other;
}
[[nodiscard]] inline bool type_fits(Wire wire, TypeFamily family, bool sqlite) {
    if (family == TypeFamily::other) return true;
    switch (wire) {
        case Wire::integer:
            return family == TypeFamily::integer;
        case Wire::real:
            return family == TypeFamily::real || family == TypeFamily::integer;
        case Wire::boolean:
            return family == TypeFamily::boolean || (sqlite && family == TypeFamily::integer);
        case Wire::text:
            return sqlite ? family == TypeFamily::text : family != TypeFamily::bytes;
        case Wire::bytes:
            return family == TypeFamily::bytes;
        case Wire::uuid:
            return family == TypeFamily::uuid || (sqlite && family == TypeFamily::text);
        case Wire::instant:
            return family == TypeFamily::instant || family == TypeFamily::naive_time ||
                   (sqlite && (family == TypeFamily::integer || family == TypeFamily::text));
    }
    return false;
}

template <class T>
class Comparison {
    using can = Abilities<T>;

public:
    Comparison(T const& table, Catalogue const& live, Dialect const& dialect)
        : table_{table},
          live_{live},
          d_{dialect},
          sqlite_{!dialect.arrays},
          name_{table.name().qualified(dialect.default_schema)} {}

    [[nodiscard]] std::vector<Finding> all() {
        if (!live_.exists) {
            fatal("no table " + name_,
                  "check the name and the schema (a name with a dot is written "
                  "{\"schema\", \"na.me\"}), or create it: store.migrate()");
            return std::move(findings_);
        }
        key();
        status();
        table_.each_column([&](auto const& part) { member(part, "column", true); });
        table_.each_output([&](auto const& part) { member(part, "output", false); });
        table_.each_fixed(
            [&](Fixed const& part) { column(part.name, "fixed", d_.types[part.is_number ? 0 : 3]); });
        if (!split_) time<column_role::lease_until>("lease_until");
        time<column_role::updated_at>("updated_at");
        time<column_role::due_at>("due_at");
        whole<column_role::fence>("fence", "bigint");
        whole<column_role::failures>("failures", "integer");
        whole<column_role::crashes>("crashes", "integer");
        whole<column_role::priority>("priority", "bigint");
        if (!split_) words<column_role::owner>("owner");
        words<column_role::last_error>("last_error");
        nulls();
        surroundings();
        return std::move(findings_);
    }

private:
    using Live = Catalogue::Column;

    void key() {
        auto const& part = table_.key_part();
        member(part, "key", false);
        if (auto const* live = find(part.name); live != nullptr && !sqlite_) compares_as_text(part, *live);
        std::vector<std::string> const wanted{std::string{part.name}};
        bool const known = find(part.name) != nullptr;
        if (known && std::find(live_.unique.begin(), live_.unique.end(), wanted) == live_.unique.end())
            fatal(at(part.name) + " is the key and not unique: two rows would share one outcome",
                  "CREATE UNIQUE INDEX ON " + name_ + " (" + detail::quote_name(part.name) + ")");
    }
    /// Any column can be read as text; a key is also compared, and text does not compare with numbers.
    template <class Part>
    void compares_as_text(Part const& part, Live const& live) {
        if constexpr (part_wire_v<Part> == Wire::text && !requires { Part::codec_type::sql_type; })
            if (type_family(live.type, false) != TypeFamily::text)
                fatal(
                    at(part.name) + " is " + live.type + " and its member is text: they cannot be compared",
                    "change the member's type, or give .key(…, codec) with sql_type = \"" + live.type + "\"");
    }
    void status() {
        auto const& part = table_.template get<status_part>();
        auto const& words = part.words;
        auto const* live = column(part.name, "status",
                                  std::string{words.type} + " NOT NULL DEFAULT " + quote_word(words.pending));
        if (!live) return;
        if (!sqlite_) {
            bool const text = type_family(live->type, false) == TypeFamily::text;
            if (text ? type_family(words.type, false) != TypeFamily::text
                     : live->type != words.type && !same_enum(*live))
                fatal(at(part.name) + " is " + live->type + ", the mapping says " + std::string{words.type},
                      ".status(\"" + std::string{part.name} + "\", {…, .type = \"" + live->type + "\"})");
        }
        for (auto const word : used_words()) {
            // Not every handler discards; if one does, its row becomes a dead letter that says why.
            bool const needed = word != words.discarded;
            if (!live->labels.empty() &&
                std::find(live->labels.begin(), live->labels.end(), word) == live->labels.end())
                findings_.push_back({needed,
                                     at(part.name) + " is an enum without the word " + quote_word(word),
                                     "ALTER TYPE " + live->type + " ADD VALUE " + quote_word(word)});
            for (auto const& check : live_.checks)
                if (check.find(part.name) != check.npos && check.find(word) == check.npos)
                    warn("a CHECK constraint on the status may refuse the word " + quote_word(word) + ": " +
                             check,
                         "let the constraint allow it, or map another word");
        }
        for (auto const& partition : live_.partition_key)
            if (partition == part.name)
                fatal(name_ + " is partitioned by its status: a claim would move the row",
                      "partition by something that does not change");
    }
    /// Names of enum types are printed with or without their schema, depending on the session.
    [[nodiscard]] bool same_enum(Live const& live) const {
        std::string_view const wanted = table_.words().type;
        return !live.labels.empty() &&
               (wanted.ends_with(live.type) || std::string_view{live.type}.ends_with(wanted));
    }
    [[nodiscard]] std::vector<std::string_view> used_words() const {
        auto const& w = table_.words();
        std::vector<std::string_view> used{w.pending, w.completed, w.dead, w.discarded};
        if (can::lease && !split_) used.push_back(w.processing);
        std::erase_if(used, [](std::string_view word) { return is_erased(word); });
        return used;
    }
    template <class Part>
    void member(Part const& part, char const* role, bool read) {
        auto const type = part_wire_v<Part> == Wire::instant ? d_.time_type : sql_type_of<Part>(d_);
        auto const* live = column(part.name, role, type);
        if (!live) return;
        bool const named_type = requires { Part::codec_type::sql_type; };
        if (!named_type && !type_fits(part_wire_v<Part>, type_family(live->type, sqlite_), sqlite_))
            fatal(at(part.name) + " is " + live->type + ", which does not hold what its member is",
                  "change the member's type, or give ." + std::string{role} + "(…, codec)");
        if (read && !live->not_null && !nullable_v<typename Part::member_type>)
            warn(
                at(part.name) + " may be NULL and its member is not a std::optional: such a row fails, alone",
                not_null(part.name));
    }
    template <class Role>
    void time(char const* role) {
        if constexpr (T::template has<Role>) {
            auto const name = table_.template get<Role>().name;
            auto const* live = column(name, role, d_.time_type);
            if (!live) return;
            auto const family = type_family(live->type, sqlite_);
            auto const expected = sqlite_ ? type_family(d_.time_type, true) : TypeFamily::instant;
            if (family == TypeFamily::naive_time && live->type.starts_with("timestamp"))
                findings_.push_back(
                    {split_,
                     at(name) + " is " + live->type + ": its meaning changes with the session's time zone",
                     alter(name, "TYPE timestamptz")});
            else if (family != expected && family != TypeFamily::other)
                fatal(at(name) + " is " + live->type + ", a time (" + d_.time_type + ") was expected",
                      sqlite_ ? "open the store with the other fila::sqlite::TimeFormat"
                              : alter(name, "TYPE timestamptz"));
            bool const is_fence = std::same_as<Role, column_role::updated_at> && !can::fence_column;
            if (is_fence && live->type.find('(') != live->type.npos &&
                live->type.find("(6)") == live->type.npos)
                fatal(at(name) + " is " + live->type + ": the fence needs microseconds",
                      alter(name, "TYPE timestamptz"));
        }
    }
    template <class Role>
    void whole(char const* role, std::string const& type) {
        if constexpr (T::template has<Role>) {
            auto const name = table_.template get<Role>().name;
            auto const* live = column(name, role, type + " NOT NULL DEFAULT 0");
            if (!live) return;
            auto const family = type_family(live->type, sqlite_);
            if (family != TypeFamily::integer && family != TypeFamily::other)
                fatal(at(name) + " is " + live->type + ", an integer was expected",
                      alter(name, "TYPE " + type));
            if (std::same_as<Role, column_role::fence> && !sqlite_ &&
                (live->type == "smallint" || (split_ && live->type == "integer")))
                fatal(at(name) + " is " + live->type + ", and the fence grows with every claim",
                      alter(name, "TYPE bigint"));
        }
    }
    template <class Role>
    void words(char const* role) {
        if constexpr (T::template has<Role>) {
            auto const name = table_.template get<Role>().name;
            auto const* live = column(name, role, "text");
            if (!live) return;
            auto const family = type_family(live->type, sqlite_);
            if (family != TypeFamily::text && family != TypeFamily::other)
                fatal(at(name) + " is " + live->type + ", text was expected", alter(name, "TYPE text"));
        }
    }
    /// A NULL in the claim order would hide the row from it.
    void nulls() {
        auto check = [&](auto const& part, char const* role, char const* meaning) {
            auto const* live = find(part.name);
            if (live && !live->not_null && part.nulls == Nulls::refused)
                fatal(at(part.name) + " may be NULL: such rows could stay unclaimed for ever",
                      not_null(part.name) + "   -- or ." + role + "(\"" + std::string{part.name} + "\", " +
                          meaning + ")");
        };
        if constexpr (can::delay)
            check(table_.template get<column_role::due_at>(), "due_at", "fila::Nulls::due_now");
        if constexpr (can::priority)
            check(table_.template get<column_role::priority>(), "priority", "order, fila::Nulls::as_zero");
    }
    void surroundings() {
        privileges();
        for (auto const& trigger : live_.update_triggers) {
            if (split_ && ours(trigger)) continue;
            warn("trigger " + detail::quote_name(trigger) + " runs at every claim and settle",
                 "review it; where it writes the fence or the status, rows are lost to their owners");
        }
        if (split_) of_split();
    }
    /// What one table bears, and a row would be lost by that is claimed from a table beside it.
    void of_split() {
        if (std::count_if(live_.triggers.begin(), live_.triggers.end(), ours) <
            std::ssize(sql::split::trigger_names))
            fatal(name_ + " lacks the triggers that follow its rows: nobody would claim them",
                  "store.migrate(), as the owner of the table");
        if constexpr (T::is_split)
            for (auto const name :
                 {table_.template get<column_role::fence>().name, table_.template get<status_part>().name})
                if (auto const* live = find(name); live != nullptr && !live->not_null)
                    fatal(at(name) + " may be NULL: such a row of a split table could be lost",
                          not_null(name));
        if (!live_.partition_key.empty())
            fatal(name_ + " is partitioned: triggers of a split table do not see all that its partitions do",
                  "leave .split(), or the partitions");
        if (live_.row_security)
            fatal("row-level security hides rows of " + name_ + " from " + grantee() +
                      ", but not their keys beside it: who claims those would lose them",
                  "ALTER ROLE " + grantee() + " BYPASSRLS   -- or leave .split()");
    }

    [[nodiscard]] static bool ours(std::string_view trigger) {
        auto const& names = sql::split::trigger_names;
        return std::find(std::begin(names), std::end(names), trigger) != std::end(names);
    }

    void privileges() {
        auto const& w = table_.words();
        bool const erases = is_erased(w.completed) || is_erased(w.dead) || is_erased(w.discarded);
        for (auto const& privilege : live_.denied)
            if (privilege != "DELETE" || erases) refused(privilege, "");
        std::string selected, updated, inserted;
        auto const note = [&](std::string& list, std::string_view name, std::string_view privilege) {
            auto const* live = find(name);
            if (live == nullptr ||
                std::find(live->denied.begin(), live->denied.end(), privilege) == live->denied.end())
                return;
            auto const quoted = detail::quote_name(name);
            if (list.find(quoted) == list.npos) list += (list.empty() ? "" : ", ") + quoted;
        };
        auto const part = [&](std::string_view name, bool updates, bool inserts) {
            note(selected, name, "SELECT");
            if (updates) note(updated, name, "UPDATE");
            if (inserts) note(inserted, name, "INSERT");
        };
        part(table_.key_part().name, false, table_.key_part().source == KeySource::row);
        part(table_.template get<status_part>().name, true, true);
        table_.each_column([&](auto const& p) { part(p.name, false, table_.inserts(p.name)); });
        table_.each_output([&](auto const& p) { part(p.name, true, false); });
        table_.each_fixed([&](Fixed const& p) { part(p.name, false, true); });
        auto const control = [&]<class Role>(Role*, bool updates, bool inserts) {
            if constexpr (T::template has<Role>) part(table_.template get<Role>().name, updates, inserts);
        };
        namespace r = column_role;
        constexpr bool yes = true, no = false;
        if (!split_) {
            control(static_cast<r::lease_until*>(nullptr), yes, no);
            control(static_cast<r::owner*>(nullptr), yes, no);
        }
        control(static_cast<r::last_error*>(nullptr), yes, no);
        control(static_cast<r::updated_at*>(nullptr), yes, yes);
        control(static_cast<r::fence*>(nullptr), yes, yes);
        control(static_cast<r::failures*>(nullptr), yes, yes);
        control(static_cast<r::crashes*>(nullptr), yes, yes);
        control(static_cast<r::due_at*>(nullptr), yes, yes);
        control(static_cast<r::priority*>(nullptr), no, yes);
        if (!selected.empty()) refused("SELECT", selected);
        if (!updated.empty()) refused("UPDATE", updated);
        if (!inserted.empty()) refused("INSERT", inserted);
        for (auto const& sequence : live_.denied_sequences)
            warn("no privilege to USAGE on sequence " + sequence + ": enqueue() will be refused",
                 "GRANT USAGE ON SEQUENCE " + sequence + " TO " + grantee());
    }
    void refused(std::string const& privilege, std::string const& columns) {
        auto const list = columns.empty() ? std::string{} : " (" + columns + ")";
        findings_.push_back({privilege != "INSERT", "no privilege to " + privilege + list + " on " + name_,
                             "GRANT " + privilege + list + " ON " + name_ + " TO " + grantee()});
    }
    [[nodiscard]] std::string grantee() const { return live_.role.empty() ? "current_user" : live_.role; }

    Live const* column(std::string_view name, char const* role, std::string const& definition) {
        auto const* live = find(name);
        if (!live)
            fatal(name_ + " has no column " + detail::quote_name(name) + " (mapped as " + role + ")",
                  "ALTER TABLE " + name_ + " ADD COLUMN " + detail::quote_name(name) + " " + definition);
        return live;
    }
    [[nodiscard]] Live const* find(std::string_view name) const {
        for (auto const& live : live_.columns)
            if (live.name == name) return &live;
        return nullptr;
    }
    [[nodiscard]] std::string at(std::string_view column) const {
        return name_ + "." + detail::quote_name(column);
    }
    /// SQLite cannot alter a column; there the words say what a new table should have.
    [[nodiscard]] std::string alter(std::string_view column, std::string const& change) const {
        if (sqlite_) return "rebuild the table with " + detail::quote_name(column) + " " + change;
        return "ALTER TABLE " + name_ + " ALTER COLUMN " + detail::quote_name(column) + " " + change;
    }
    [[nodiscard]] std::string not_null(std::string_view column) const {
        return alter(column, sqlite_ ? "NOT NULL" : "SET NOT NULL");
    }
    void fatal(std::string what, std::string mend) {
        findings_.push_back({true, std::move(what), std::move(mend)});
    }
    void warn(std::string what, std::string mend) {
        findings_.push_back({false, std::move(what), std::move(mend)});
    }

    T const& table_;
    Catalogue const& live_;
    Dialect const& d_;
    bool sqlite_;
    bool split_ = T::is_split && !sqlite_;
    std::string name_;
    std::vector<Finding> findings_;
};

template <class T>
[[nodiscard]] std::vector<Finding> compare(T const& table, Catalogue const& live, Dialect const& dialect) {
    return Comparison<T>{table, live, dialect}.all();
}

/// What only the planner knows: whether indexes serve the claim and the rescue. Not to be asked where
/// `compare` found something fatal: what cannot be run cannot be explained.
template <class Connection>
void unserved(Connection& connection, Statements const& sql, std::vector<Finding>& findings) {
    if (!connection.served_by_index(sql.take))
        findings.push_back({false, "no index serves the claim: each one reads or sorts all pending rows",
                            sql.next_index.text});
    if (!sql.stale_probe.empty() && !connection.served_by_index(sql.stale_probe))
        findings.push_back(
            {false, "no index serves the rescue of rows whose lease ran out", sql.stale_index.text});
}

}  // namespace fila::inline v1::detail
