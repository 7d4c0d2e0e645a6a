// SPDX-License-Identifier: MIT
// Driver: what SqlStore needs of a database. A connection, a dialect, and a way into a user's own
// transaction.
//
// | expression | returns | semantics |
// |---|---|---|
// | `D::Config` | copyable | how to connect. The constructor of Connection validates it: ConfigError names each field |
// | `D::dialect(config)` | `Dialect` | the words; pure |
// | `D::connections(config)` | `std::size_t` | how many connections claims and transactions share, ≥ 1 |
// | `D::one_writer` | `bool` | true: one connection serves every verb (SQLite). false: two more are kept for settles and for extends and rescues |
// | `D::patience(config)` | `std::chrono::milliseconds` | how long a verb waits for a connection in use before it throws a retryable Error |
// | `D::sorts` | `bool` | whether rows of a claim come in claim order; else SqlStore sorts them |
// | `D::examine(connection, examination)` | | what slows or stops a queue in this database: adds to the findings of an Examination; bounded, and never throws for lack of a privilege |
// | `D::borrow(handle)` | has `run_rows` | works on a user's open transaction (`pqxx::transaction_base&`) or connection (`sqlite3*`); commits nothing that the user began |
//
// | `D::Connection` | returns | semantics |
// |---|---|---|
// | `Connection(config)` | | opens and prepares the session; throws ConfigError or Error |
// | `c.run(statement, bindings, on_row)` | | outside `begin` the statement is a transaction of its own |
// | `c.run_rows(statement, bindings, rows, on_row)` | | many rows. PostgreSQL: each column an array. SQLite: once a row, with `:i` the row's place from 1, or INSERTs of many of them, in one transaction if none is open |
// | `c.begin()` `c.commit()` | | a write transaction, which may be opened together with its first statement; commit throws if the transaction that `begin` opened is no longer the open one |
// | `c.finish(statement, bindings, rows)` | `bool` | optional: runs a statement that fails where it touches no row (Dialect::or_raise) and commits, in one round trip. False: it touched none, and nothing is or can be committed. Throws as `run_rows` and `commit` do; after a throw `rollback_to_savepoint` may find no way back |
// | `c.can_finish()` | `bool` | noexcept; with `finish`: whether it saves anything here, and is to be called |
// | `c.rollback()` | `bool` | noexcept; true too if nothing was open; false: throw the connection away |
// | `c.in_transaction()` | `bool` | noexcept; false if it is known, without a round trip, that the transaction that `begin` opened has ended |
// | `c.savepoint()` | | one savepoint, moved by each call |
// | `c.defer_savepoint()` | | the first one, with nothing but locks before it: need not be made before `handle()` is asked for |
// | `c.release_savepoint()` | | what came after it need not be undone any more; may do nothing |
// | `c.rollback_to_savepoint()` | `bool` | true: as it was then, row locks included. False, only after a release or a failed commit: all is rolled back, and a new transaction is open |
// | `c.handle()` | reference or pointer | what a handler gets: `pqxx::transaction_base&`, `sqlite3*` |
// | `c.script(sql)` | | several statements, in one transaction, one process at a time: DDL |
// | `c.catalogue(name)` | `Catalogue` | |
// | `c.served_by_index(statement)` | `bool` | asks the planner, with scans and sorts forbidden as far as it allows; true if it cannot say |
// | `c.lost()` | `bool` | noexcept; the connection is broken: it is destroyed, never revived |
//
// `on_row(record)`: `record[i].null()`, `.get<W>()` for each wire type (throws std::exception where the value
// does not fit), `.cursor_value()`: a Value that, bound again, compares equal to the column. A record is
// valid during the call. `run_rows` of a statement without columns calls it with a Touched for each row that was
// touched. One thread at a time uses a connection; not always the same one. Everything but the
// noexcept functions may throw, and throws fila::Error only: retryable, maybe_applied and code set.
#pragma once

#include <fila/table/catalogue.hpp>
#include <fila/table/dialect.hpp>
#include <fila/table/examination.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/table_name.hpp>
#include <fila/types/error.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace fila::inline v1 {

namespace detail {

/// Reads one row in every way a store may.
struct DriverProbe {
    template <class Record>
    void operator()(Record const& record) const {
        auto const field = record[std::size_t{0}];
        static_assert(std::same_as<decltype(field.null()), bool>);
        static_assert(std::same_as<decltype(field.cursor_value()), Value>);
        static_assert(std::same_as<decltype(field.template get<std::int64_t>()), std::int64_t>);
        static_assert(std::same_as<decltype(field.template get<double>()), double>);
        static_assert(std::same_as<decltype(field.template get<bool>()), bool>);
        static_assert(std::same_as<decltype(field.template get<std::string>()), std::string>);
        static_assert(std::same_as<decltype(field.template get<Bytes>()), Bytes>);
        static_assert(std::same_as<decltype(field.template get<Uuid>()), Uuid>);
        static_assert(std::same_as<decltype(field.template get<Instant>()), Instant>);
    }
};

}  // namespace detail

/// A connection runs one statement, or one for many rows.
template <class C>
concept DriverStatements =
    requires(C& c, Statement const& statement, Bindings const& bindings, Rows const& rows) {
        c.run(statement, bindings, detail::DriverProbe{});
        c.run_rows(statement, bindings, rows, detail::DriverProbe{});
    };

/// A connection has transactions with a savepoint, and lends them to handlers.
template <class C>
concept DriverTransactions = requires(C& c, C const& constant) {
    c.begin();
    c.commit();
    { c.rollback() } noexcept -> std::same_as<bool>;
    { constant.in_transaction() } noexcept -> std::same_as<bool>;
    c.savepoint();
    c.defer_savepoint();
    c.release_savepoint();
    { c.rollback_to_savepoint() } -> std::same_as<bool>;
    c.handle();
};

/// A connection settles a transaction's last row and commits at once.
template <class C>
concept FinishingConnection = requires(C& c, C const& constant, Statement const& statement,
                                       Bindings const& bindings, Rows const& rows) {
    { c.finish(statement, bindings, rows) } -> std::same_as<bool>;
    { constant.can_finish() } noexcept -> std::same_as<bool>;
};

/// A connection tells what the live table is, and makes one.
template <class C>
concept DriverCatalogue =
    requires(C& c, std::string_view sql, TableName const& name, Statement const& statement) {
        c.script(sql);
        { c.catalogue(name) } -> std::same_as<Catalogue>;
        { c.served_by_index(statement) } -> std::same_as<bool>;
    };

/// All that SqlStore does with a connection; the table above says what each call means.
template <class C>
concept DriverConnection =
    DriverStatements<C> && DriverTransactions<C> && DriverCatalogue<C> && requires(C const& constant) {
        { constant.lost() } noexcept -> std::same_as<bool>;
    };

/// The driver knows what slows or stops a queue in its database.
template <class D>
concept DriverExaminer = requires(typename D::Connection& connection, Examination& examination) {
    D::examine(connection, examination);
};

template <class D>
concept Driver = std::copyable<typename D::Config> &&
                 std::constructible_from<typename D::Connection, typename D::Config const&> &&
                 DriverConnection<typename D::Connection> && DriverExaminer<D> &&
                 requires(typename D::Config const& config) {
                     { D::dialect(config) } -> std::same_as<Dialect>;
                     { D::connections(config) } -> std::same_as<std::size_t>;
                     { D::patience(config) } -> std::same_as<std::chrono::milliseconds>;
                     { D::sorts } -> std::convertible_to<bool>;
                     { D::one_writer } -> std::convertible_to<bool>;
                 };

/// Tells other processes of new rows, and hears of theirs. `announces(config)`: after an enqueue;
/// `announces_inside(config)`: in users' transactions too; `announce(connection or borrowed, channel)`;
/// `listens(config)`; `Listener(config, channel, wake)`: wakes from a thread of its own, until it is destroyed.
template <class D>
concept AnnouncingDriver =
    requires(typename D::Connection& connection, typename D::Config const& config, std::string channel) {
        { D::announces(config) } -> std::same_as<bool>;
        { D::announces_inside(config) } -> std::same_as<bool>;
        { D::listens(config) } -> std::same_as<bool>;
        D::announce(connection, channel);
        typename D::Listener;
    };

/// Whether `enqueue` can go through a user's own `Handle`.
template <class D, class Handle>
concept Borrows =
    requires(Handle& handle, Statement const& statement, Bindings const& bindings, Rows const& rows) {
        D::borrow(handle).run_rows(statement, bindings, rows, detail::DriverProbe{});
    };

namespace detail {

template <class D, class C>
consteval bool check_driver_parts() {
    static_assert(DriverStatements<C>,
                  "fila driver: Connection needs  run(Statement const&, Bindings const&, on_row)  and  "
                  "run_rows(Statement const&, Bindings const&, Rows const&, on_row)");
    static_assert(
        DriverTransactions<C>,
        "fila driver: Connection needs  begin, commit, bool rollback() noexcept, bool in_transaction() const "
        "noexcept, savepoint, defer_savepoint, release_savepoint, bool rollback_to_savepoint(), handle");
    static_assert(
        FinishingConnection<C> || !(
                                      requires { &C::finish; } || requires { &C::can_finish; }),
        "fila driver: finishing at once is both  bool finish(Statement const&, Bindings const&, Rows "
        "const&)  and  bool can_finish() const noexcept");
    static_assert(DriverCatalogue<C>,
                  "fila driver: Connection needs  script(std::string_view), Catalogue catalogue(TableName "
                  "const&), bool "
                  "served_by_index(Statement const&)");
    static_assert(DriverExaminer<D>,
                  "fila driver: needs  examine(Connection&, Examination&), which may do nothing");
    static_assert(
        Driver<D>,
        "fila driver: needs  Config, Connection(Config const&), bool lost() const noexcept, dialect(config), "
        "connections(config), patience(config), sorts, one_writer");
    return true;
}
/// Says, one sentence each, what a would-be driver lacks.
template <class D>
consteval bool check_driver() {
    constexpr bool has_types = requires {
        typename D::Config;
        typename D::Connection;
    };
    static_assert(has_types, "fila driver: needs  using Config = …;  and  using Connection = …;");
    if constexpr (has_types) check_driver_parts<D, typename D::Connection>();
    return true;
}

}  // namespace detail
}  // namespace fila::inline v1
