// SPDX-License-Identifier: MIT
// Binding and stepping of prepared statements, on a connection of ours or of the user's.
#pragma once

#include <fila/sqlite/sqlite_errors.hpp>
#include <fila/sqlite/sqlite_field.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/touched.hpp>

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace fila::inline v1::sqlite::detail {

/// The store's clock: the host's, read here and nowhere else.
[[nodiscard]] inline std::int64_t now_micros() {
    auto const since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

/// A statement at work. Reset at once when done, also by an exception: an open one would pin the snapshot.
class Running {
public:
    Running(sqlite3* db, sqlite3_stmt* statement) noexcept : db_{db}, statement_{statement} {}
    Running(Running const&) = delete;
    Running& operator=(Running const&) = delete;
    ~Running() {
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }

    /// The value must live until the statement is reset; nothing is copied.
    void bind(int place, Value const& value) {
        int const code = std::visit(
            [&]<class V>(V const& v) {
                if constexpr (std::is_same_v<V, std::monostate>)
                    return sqlite3_bind_null(statement_, place);
                else if constexpr (std::is_same_v<V, double>)
                    return sqlite3_bind_double(statement_, place, v);
                else if constexpr (std::is_same_v<V, std::string>)
                    return sqlite3_bind_text64(statement_, place, v.data(), v.size(), SQLITE_STATIC,
                                               SQLITE_UTF8);
                else if constexpr (std::is_same_v<V, Bytes>)
                    return sqlite3_bind_blob64(statement_, place,
                                               v.empty() ? static_cast<void const*>("") : v.data(), v.size(),
                                               SQLITE_STATIC);
                else if constexpr (std::is_same_v<V, Uuid>) {
                    auto const text = v.str();
                    return sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_TRANSIENT,
                                               SQLITE_UTF8);
                } else if constexpr (std::is_same_v<V, Instant>)
                    return sqlite3_bind_int64(statement_, place, v.time_since_epoch().count());
                else
                    return sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(v));
            },
            value);
        check(code, "binding a value");
    }
    template <class F>
    void step(F& on_row) {
        int code;
        while ((code = sqlite3_step(statement_)) == SQLITE_ROW) on_row(Record{statement_});
        if (code != SQLITE_DONE) throw make_error(db_, code, "running a statement");
        sqlite3_reset(statement_);
    }
    /// The same of a statement that is run once a row: one that returns nothing answers with the row's place, counted
    /// from 1, if it touched something.
    template <class F>
    void step_row(std::size_t row, F& on_row) {
        step(on_row);
        if (sqlite3_column_count(statement_) == 0 && sqlite3_changes(db_) > 0)
            on_row(Touched{static_cast<std::int64_t>(row + 1)});
    }

private:
    void check(int code, std::string_view doing) const {
        if (code != SQLITE_OK) throw make_error(db_, code, doing);
    }

    sqlite3* db_;
    sqlite3_stmt* statement_;
};

/// Where the value of each parameter comes from, found once for all rows.
class Binder {
public:
    Binder(Statement const& statement, Bindings const& bindings, Rows const& rows) : rows_{rows} {
        sources_.reserve(statement.parameters.size());
        for (auto const& name : statement.parameters) sources_.push_back(source(name, bindings));
    }
    /// `before`: parameters of the rows before it in the same statement.
    void operator()(Running& running, std::size_t row, std::size_t before = 0) const {
        auto place = static_cast<int>(before);
        for (auto const& source : sources_)
            if (++place; source.single != nullptr) running.bind(place, *source.single);
        again(running, row, before);
    }
    /// For the next row of the same run: what is the same in all of them stays bound.
    void again(Running& running, std::size_t row, std::size_t before = 0) const {
        auto place = static_cast<int>(before);
        for (auto const& source : sources_) {
            ++place;
            if (source.column != none)
                running.bind(place, rows_.columns[source.column][row]);
            else if (source.clock)
                running.bind(place, now_micros());
            else if (source.ordinal)
                running.bind(place, static_cast<std::int64_t>(row + 1));
        }
    }

private:
    static constexpr auto none = static_cast<std::size_t>(-1);
    struct Source {
        std::size_t column = none;
        Value const* single = nullptr;
        bool clock = false, ordinal = false;
    };
    [[nodiscard]] Source source(std::string_view name, Bindings const& bindings) const {
        for (std::size_t c = 0; c < rows_.names.size(); ++c)
            if (rows_.names[c] == name) return {.column = c};
        for (auto const& [known, value] : bindings)
            if (known == name) return {.single = &value};
        return {.clock = name == "now", .ordinal = name == "i"};
    }

    Rows const& rows_;
    std::vector<Source> sources_;
};

struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, Finalize>;

[[nodiscard]] inline sqlite3_stmt* prepare(sqlite3* db, std::string_view sql, unsigned flags) {
    sqlite3_stmt* statement = nullptr;
    int const code =
        sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), flags, &statement, nullptr);
    if (code != SQLITE_OK) throw make_error(db, code, "preparing a statement");
    return statement;
}
/// A `.where` with `:name` or `?` in it would be read with NULL there, and match nothing for ever.
inline void check_parameters(sqlite3_stmt* prepared, Statement const& statement) {
    if (static_cast<std::size_t>(sqlite3_bind_parameter_count(prepared)) == statement.parameters.size())
        return;
    throw ConfigError{
        "fila sqlite: a statement has a parameter that nobody binds; a .where cannot hold :name, ?, @name or "
        "$name"};
}
inline void execute(sqlite3* db, char const* sql, std::string_view doing, bool committing = false) {
    int const code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) throw make_error(db, code, doing, committing);
}

}  // namespace fila::inline v1::sqlite::detail
