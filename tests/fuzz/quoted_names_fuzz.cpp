// SPDX-License-Identifier: MIT
// Any name, as an identifier and as a literal: refused by the mapping, or read by a database as that name and
// nothing else.
#include "fuzz/fuzzing.hpp"
#include <fila/detail/text.hpp>
#include <fila/sqlite/sqlite_statement.hpp>
#include <fila/table/render.hpp>

#include <sqlite3.h>

#include <optional>
#include <string>
#include <string_view>

using namespace fila_fuzz;

namespace {

/// By the rule of the SQL standard, which PostgreSQL keeps to: a quote is written twice, all else as it is.
std::optional<std::string> unquoted(std::string_view text, char quote) {
    if (text.size() < 2 || text.front() != quote || text.back() != quote) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == quote && (++i == text.size() || text[i] != quote)) return std::nullopt;
        out += text[i];
    }
    return out;
}

sqlite3* database() {
    static sqlite3* const db = [] {
        sqlite3* opened = nullptr;
        expect(sqlite3_open(":memory:", &opened) == SQLITE_OK, "a database in memory opens");
        return opened;
    }();
    return db;
}

/// SQLite's own reading: one statement, one column of that name and with that text.
void read_by_sqlite(std::string_view name) {
    auto const sql = "SELECT " + fila::detail::quote_word(name) + " AS " + fila::detail::quote_name(name);
    sqlite3_stmt* raw = nullptr;
    char const* rest = nullptr;
    int const code = sqlite3_prepare_v2(database(), sql.c_str(), static_cast<int>(sql.size()), &raw, &rest);
    fila::sqlite::detail::StatementPtr const statement{raw};
    expect(code == SQLITE_OK && rest == sql.c_str() + sql.size(), "SQLite reads one statement", sql);
    expect(sqlite3_bind_parameter_count(raw) == 0, "nothing in a name is a parameter", sql);
    expect(sqlite3_column_name(raw, 0) == name, "SQLite reads the identifier", sql);
    expect(sqlite3_step(raw) == SQLITE_ROW, "it runs", sql);
    expect(fila::sqlite::Field{raw, 0}.get<std::string>() == name, "SQLite reads the literal", sql);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const name{reinterpret_cast<char const*>(data), size};
    bool const fit =
        !name.empty() && size <= 63 && name.find('\0') == name.npos && fila::detail::is_utf8(name);
    expect(accepted([&] { fila::detail::checked_identifier(name); }) == fit,
           "a name is refused if it is empty, too long, no UTF-8 or has a NUL in it, and only then", name);
    expect(accepted([&] {
               fila::TableName const table{name};
               auto const schema = table.schema.empty() ? std::string{} : std::string{table.schema} + '.';
               expect(schema + std::string{table.table} == name, "a dot parts the schema from the table",
                      name);
               auto const next = fila::detail::derived_name(table.table, "_fila_next");
               expect(next.size() <= 63 && fila::detail::is_utf8(next),
                      "a derived name is one that a database takes whole", next);
           }) == accepted([&] {
               auto const dot = name.find('.');
               if (dot != name.npos) fila::detail::checked_identifier(name.substr(0, dot));
               fila::detail::checked_identifier(dot != name.npos ? name.substr(dot + 1) : name);
           }),
           "both halves are identifiers", name);
    expect(unquoted(fila::detail::quote_name(name), '"') == name, "an identifier is unquoted to itself",
           name);
    expect(unquoted(fila::detail::quote_word(name), '\'') == name, "a literal is unquoted to itself", name);
    if (fit) read_by_sqlite(name);
    return 0;
}
