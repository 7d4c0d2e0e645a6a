// SPDX-License-Identifier: MIT
// A mapping whose every name and word is anything: its statements are those of a mapping with plain names, with
// other names in their places, in each dialect; and SQLite prepares them all.
#include "fuzz/fuzzing.hpp"
#include <fila/sqlite/sqlite_dialect.hpp>
#include <fila/sqlite/sqlite_statement.hpp>
#include <fila/table/postgres_dialect.hpp>
#include <fila/table/schema.hpp>

#include <sqlite3.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace fila_fuzz;

namespace {

struct Row {
    std::int64_t id = 0;
    std::string text;
    std::optional<fila::Instant> seen;
    std::string result;
};

/// What a mapping is told by its user; the table and the columns are identifiers, the rest literals.
struct Names {
    std::string table, key, column, seen, result, fixed, status, time, fence, owner, failures, crashes, due,
        priority, error;
    std::string fixed_value, pending, processing, completed, dead, discarded;

    template <class Self>
    static auto identifiers(Self& n) {
        return std::array{&n.table,    &n.key,     &n.column, &n.seen,     &n.result,
                          &n.fixed,    &n.status,  &n.time,   &n.fence,    &n.owner,
                          &n.failures, &n.crashes, &n.due,    &n.priority, &n.error};
    }
    template <class Self>
    static auto literals(Self& n) {
        return std::array{&n.fixed_value, &n.pending, &n.processing, &n.completed, &n.dead, &n.discarded};
    }
};

Names plain() {
    Names names;
    int n = 0;
    for (auto* name : Names::identifiers(names)) *name = "plain_" + std::to_string(n++);
    for (auto* word : Names::literals(names)) *word = "plain_" + std::to_string(n++);
    return names;
}

auto start(Names const& n) {
    return fila::table<Row>(fila::TableName{"main", n.table})
        .key(n.key, &Row::id)
        .column(n.column, &Row::text)
        .column(n.seen, &Row::seen)
        .output(n.result, &Row::result)
        .fixed(n.fixed, std::string_view{n.fixed_value})
        .status(n.status, {.pending = n.pending,
                           .processing = n.processing,
                           .completed = n.completed,
                           .dead = n.dead,
                           .discarded = n.discarded})
        .owner(n.owner)
        .failures(n.failures)
        .crashes(n.crashes)
        .last_error(n.error);
}
auto with_lease(Names const& n) {
    return start(n)
        .lease_until(n.time)
        .fence(n.fence)
        .due_at(n.due, fila::Nulls::due_now)
        .priority(n.priority, fila::Order::highest_first, fila::Nulls::as_zero);
}
/// The age is the fence, and nothing can be delayed.
auto with_age(Names const& n) { return start(n).updated_at(n.time); }

// ---- a statement taken apart -----------------------------------------------------------------------------------

struct Parts {
    std::string rest;  ///< what is not quoted, with a mark in each gap
    std::vector<std::string> identifiers, literals;
};
Parts apart(std::string const& sql) {
    Parts parts;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        parts.rest += sql[i];
        if (sql[i] != '"' && sql[i] != '\'') continue;
        char const quote = sql[i];
        auto& text = (quote == '"' ? parts.identifiers : parts.literals).emplace_back();
        for (++i;; ++i) {
            expect(i < sql.size(), "what is quoted ends", sql);
            if (sql[i] == quote && (i + 1 == sql.size() || sql[i + 1] != quote)) break;
            if (sql[i] == quote) ++i;
            text += sql[i];
        }
    }
    return parts;
}

using Translation = std::map<std::string, std::string>;

std::vector<std::string> translated(std::vector<std::string> texts, Translation const& into) {
    for (auto& text : texts)
        if (auto const found = into.find(text); found != into.end()) text = found->second;
    return texts;
}

struct Expected {
    std::vector<std::pair<Parts, std::vector<std::string>>> statements;
    Parts schema;
};

template <class T>
Expected of(T const& table, fila::Dialect const& dialect, bool with_schema) {
    Expected e;
    fila::render(table, dialect).each([&](char const*, fila::Statement const& s) {
        e.statements.emplace_back(apart(s.text), s.parameters);
    });
    if (with_schema) e.schema = apart(fila::schema_sql(table, dialect));
    return e;
}

void same_but_for_names(Parts const& want, Parts const& have, Translation const& names,
                        Translation const& words) {
    expect(have.rest == want.rest, "nothing but names differs", have.rest);
    expect(have.identifiers == translated(want.identifiers, names), "each identifier is in its place",
           have.rest);
    expect(have.literals == translated(want.literals, words), "each literal is in its place", have.rest);
}

// ---- SQLite's own reading --------------------------------------------------------------------------------------

struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

template <class T>
void prepared_by_sqlite(T const& table, fila::Dialect const& dialect) {
    sqlite3* raw = nullptr;
    int const opened = sqlite3_open(":memory:", &raw);
    std::unique_ptr<sqlite3, Close> const db{raw};
    expect(opened == SQLITE_OK, "a database in memory opens");
    auto const schema = fila::schema_sql(table, dialect);
    expect(sqlite3_exec(raw, schema.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sqlite3_errmsg(raw),
           schema);
    fila::render(table, dialect).each([&](char const* what, fila::Statement const& s) {
        sqlite3_stmt* prepared = nullptr;
        char const* rest = nullptr;
        // The indexes are there already; SQLite says so after having read the statement.
        if (std::string_view{what}.ends_with("index")) return;
        int const code =
            sqlite3_prepare_v2(raw, s.text.c_str(), static_cast<int>(s.text.size()), &prepared, &rest);
        fila::sqlite::detail::StatementPtr const statement{prepared};
        expect(code == SQLITE_OK, sqlite3_errmsg(raw), s.text);
        expect(rest == s.text.c_str() + s.text.size(), "one statement", s.text);
        fila::sqlite::detail::check_parameters(prepared, s);
    });
}

/// Two roles under one name are another mapping, if they are allowed at all.
bool all_differ(Names const& names) {
    std::set<std::string_view> seen;
    for (auto const* name : Names::identifiers(names))
        if (name != &names.table && !seen.insert(*name).second) return false;
    return true;
}
/// SQLite folds the case of ASCII letters, and keeps names for itself.
bool apart_in_sqlite(Names const& names) {
    std::map<std::string, int> seen;
    for (auto const* name : Names::identifiers(names)) {
        std::string folded;
        for (char const c : *name) folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        if (++seen[folded] > 1 || folded.starts_with("sqlite_")) return false;
    }
    return true;
}

std::array const dialects{fila::postgres_dialect(), fila::sqlite::sqlite_dialect(),
                          fila::sqlite::sqlite_dialect(fila::sqlite::TimeFormat::unix_seconds),
                          fila::sqlite::sqlite_dialect(fila::sqlite::TimeFormat::text)};
Names const plain_names = plain();

template <class Mapping>
void compare(Mapping mapping, Names const& names, std::size_t d, bool with_schema) {
    static std::array const expected{
        of(mapping(plain_names), dialects[0], true), of(mapping(plain_names), dialects[1], true),
        of(mapping(plain_names), dialects[2], true), of(mapping(plain_names), dialects[3], true)};
    Translation identifiers, words;
    for (std::size_t i = 0; i < Names::identifiers(names).size(); ++i)
        identifiers[*Names::identifiers(plain_names)[i]] = *Names::identifiers(names)[i];
    for (std::size_t i = 0; i < Names::literals(names).size(); ++i)
        words[*Names::literals(plain_names)[i]] = *Names::literals(names)[i];
    for (auto const* suffix : {"_fila_next", "_fila_stale"})
        identifiers[plain_names.table + suffix] = fila::detail::derived_name(names.table, suffix);

    auto const table = mapping(names);
    auto const have = of(table, dialects[d], with_schema);
    auto const& want = expected[d];
    expect(have.statements.size() == want.statements.size(), "as many statements");
    for (std::size_t i = 0; i < have.statements.size(); ++i) {
        same_but_for_names(want.statements[i].first, have.statements[i].first, identifiers, words);
        expect(have.statements[i].second == want.statements[i].second, "the same parameters");
    }
    if (!with_schema) return;
    same_but_for_names(want.schema, have.schema, identifiers, words);
    if (d > 0 && apart_in_sqlite(names)) prepared_by_sqlite(table, dialects[d]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    Input input{data, size};
    bool const age = input.ConsumeBool(), with_schema = input.ConsumeIntegralInRange(0, 7) == 0;
    auto const dialect = input.ConsumeIntegralInRange<std::size_t>(0, dialects.size() - 1);
    // Those that the input does not tell stay plain: one name is enough to show what a name can do.
    Names names = plain_names;
    auto const pick = [&](auto const& all) -> std::string& {
        return *all[input.ConsumeIntegralInRange<std::size_t>(0, all.size() - 1)];
    };
    while (input.remaining_bytes() > 2)
        (input.ConsumeBool() ? pick(Names::identifiers(names)) : pick(Names::literals(names))) = text(input);
    if (!all_differ(names)) return 0;
    (void)accepted([&] {
        if (age)
            compare(with_age, names, dialect, with_schema);
        else
            compare(with_lease, names, dialect, with_schema);
    });
    return 0;
}
