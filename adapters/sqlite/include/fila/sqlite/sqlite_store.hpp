// SPDX-License-Identifier: MIT
// SqliteStore: a table in a SQLite file as a work queue.
//
// When to use: one host, one file, some thousands of rows a second. Several processes may share the file;
// SQLite has one writer at a time. Alternatives: PostgresStore (many hosts), MemoryStore (nothing outlives
// the process). One store object has one connection: verbs take turns on it. InTransaction holds it for as
// long as a handler runs, so max_transactions() is 1; prefer Leased. `:memory:` works, and lives as long as
// the store.
//
//   fila::sqlite::SqliteStore store{fila::sqlite::Config{"app.db"}, payments};
//
// Thread safety: all members, from any thread. Not across fork(): a child opens a store of its own.
#pragma once

#include <fila/sqlite/sqlite_connection.hpp>
#include <fila/sqlite/sqlite_doctor.hpp>
#include <fila/table/sql_store.hpp>

#include <chrono>
#include <cstddef>

namespace fila::inline v1::sqlite {

/// What SqlStore needs of SQLite (see driver_concept.hpp).
struct SqliteDriver {
    using Config = sqlite::Config;
    using Connection = sqlite::Connection;

    static constexpr bool one_writer = true;
    /// RETURNING has no order.
    static constexpr bool sorts = false;

    [[nodiscard]] static Dialect dialect(Config const& config) { return sqlite_dialect(config.times); }
    [[nodiscard]] static std::size_t connections(Config const&) noexcept { return 1; }
    [[nodiscard]] static std::chrono::milliseconds patience(Config const& config) noexcept {
        return config.busy_timeout;
    }
    static void examine(Connection& connection, Examination& seen) {
        detail::Examiner{connection, seen}.all();
    }
    [[nodiscard]] static BorrowedConnection borrow(sqlite3* db) { return BorrowedConnection{db}; }
    /// Where a file went away, an empty one in its place would only hide that.
    static void reopening(Config& config) noexcept { config.create = false; }
};

template <class T>
class SqliteStore : public SqlStore<T, SqliteDriver> {
public:
    using SqlStore<T, SqliteDriver>::SqlStore;
};
template <class T>
SqliteStore(Config, T, OnStart = OnStart::verify) -> SqliteStore<T>;

}  // namespace fila::inline v1::sqlite
