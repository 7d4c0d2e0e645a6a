// SPDX-License-Identifier: MIT
// PostgresStore: any PostgreSQL table with a status column, as a store. Over libpqxx 6.4 … 8, PostgreSQL 12
// and later.
//
// Use it where the work lies in PostgreSQL already. For a file beside the program there is SqliteStore, for
// tests MemoryStore; they keep the same rules.
//
// Isolation is READ COMMITTED, said explicitly, whatever the role's default. Claims skip rows that others
// have locked and do not stand in the way of foreign keys. All times are the server's clock. Thread safety:
// shared objects are safe; each verb uses one connection of the store's pool. Not across fork(). Throws:
// ConfigError from the constructor, with every mismatch between mapping and table at once; else fila::Error
// as the table in postgres_errors.hpp says.
//
// Example:
//   fila::postgres::PostgresStore store{{.conninfo = "service=billing", .connections = 4}, payments};
//   pqxx::work order{connection};
//   store.enqueue(order, rows);   // in the user's own transaction: committed with it, or not at all
#pragma once

#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_connection.hpp>
#include <fila/postgres/postgres_doctor.hpp>
#include <fila/postgres/postgres_listener.hpp>
#include <fila/table/postgres_dialect.hpp>
#include <fila/table/sql_store.hpp>

#include <chrono>
#include <cstddef>

namespace fila::inline v1::postgres {

/// Enqueues through a user's own transaction: nothing is prepared, set or committed. The connection is the
/// user's; its client_encoding should be UTF8.
class Borrowed {
public:
    /// The transaction must be open, and outlive this.
    explicit Borrowed(pqxx::transaction_base& transaction) noexcept : transaction_{&transaction} {}

    template <class OnRow>
    void run_rows(Statement const& statement, Bindings const& bindings, Rows const& rows,
                  OnRow const& on_row) {
        auto const parameters = detail::parameters(statement, bindings, rows);
        auto const result = [&] {
            try {
                return bridge::execute(*transaction_, statement.text, parameters);
            } catch (...) {
                throw current_failure(Doing::in_transaction).error;
            }
        }();
        detail::each_touched(result, on_row);
    }
    template <class OnRow>
    void run(Statement const& statement, Bindings const& bindings, OnRow const& on_row) {
        run_rows(statement, bindings, {}, on_row);
    }

private:
    pqxx::transaction_base* transaction_;
};

/// What SqlStore needs of PostgreSQL (see driver_concept.hpp).
struct Driver {
    using Config = postgres::Config;
    using Connection = postgres::Connection;

    static constexpr bool one_writer = false;
    static constexpr bool sorts = true;

    static Dialect dialect(Config const& config) {
        auto dialect = postgres_dialect();
        // Behind a pooler nobody hears that the server crashed and may have forgotten claims.
        if (config.session == Session::pooled) dialect.unsynced.clear();
        return dialect;
    }
    static std::size_t connections(Config const& config) { return config.connections; }
    static std::chrono::milliseconds patience(Config const& config) { return config.patience; }
    static void examine(Connection& connection, Examination& seen) {
        detail::Examiner{connection, seen}.all();
    }

    /// Hears of rows that others put in; see AnnouncingDriver.
    using Listener = detail::Listener;
    /// Whether an enqueue wakes processors in other processes.
    static bool announces(Config const& config) noexcept { return config.notify != Notify::never; }
    /// Whether one within a user's transaction does.
    static bool announces_inside(Config const& config) noexcept { return config.notify == Notify::always; }
    /// Nothing that a session does behind a pooler reaches the next one's transactions: no LISTEN there.
    static bool listens(Config const& config) noexcept {
        return config.notify != Notify::never && config.session == Session::own;
    }
    /// The message is always the same, so that no row is too large for it.
    static void announce(Connection& connection, std::string const& channel) {
        // A transaction of its own, which waits for no disk: while one with a NOTIFY in it commits, all others
        // wait.
        connection.run({"SELECT pg_catalog.set_config('synchronous_commit', 'off', true), "
                        "pg_catalog.pg_notify($1::text, '')",
                        {"channel"}},
                       {{"channel", channel}}, [](auto const&) {});
    }
    /// The same at the commit of the user's transaction.
    static void announce(Borrowed& user, std::string const& channel) {
        user.run({"SELECT pg_catalog.pg_notify($1::text, '')", {"channel"}}, {{"channel", channel}},
                 [](auto const&) {});
    }
    static Borrowed borrow(pqxx::transaction_base& transaction) { return Borrowed{transaction}; }
};
static_assert(fila::Driver<Driver>);

template <class Table>
class PostgresStore : public SqlStore<Table, Driver> {
public:
    using SqlStore<Table, Driver>::SqlStore;
};
template <class Table>
PostgresStore(Config, Table, OnStart = OnStart::verify) -> PostgresStore<Table>;

}  // namespace fila::inline v1::postgres
