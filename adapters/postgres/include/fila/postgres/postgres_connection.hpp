// SPDX-License-Identifier: MIT
// One connection as SqlStore uses it: statements, a transaction, savepoints, the catalogue.
//
// A connection that breaks is lost for ever: `lost()` says so, every later call throws, and the store opens
// another. So the settings that it was opened with hold as long as it lives.
//
// In a transaction the SQL of ours and the SQL of the handler take turns. `handle()` gives the connection to
// the handler, with the role's own planner settings and time-outs; the next verb takes it back, and looks
// whether the transaction is still the one that holds the rows: a handler may have sent COMMIT as plain SQL.
//
// What can go in one message does: BEGIN with the first statement, COMMIT with the last. Such a message is SQL that
// executes prepared statements; behind a pooler there are none, and each goes alone.
//
// Thread safety: one thread at a time, not always the same one.
#pragma once

#include <fila/postgres/postgres_catalogue.hpp>
#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_errors.hpp>
#include <fila/postgres/postgres_field.hpp>
#include <fila/postgres/postgres_guarded.hpp>
#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/postgres/postgres_prepared.hpp>
#include <fila/postgres/postgres_settings.hpp>
#include <fila/postgres/postgres_values.hpp>
#include <fila/table/catalogue.hpp>
#include <fila/table/postgres_dialect.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/table_name.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::postgres {

/// One session of the server. Not to be copied or moved; one thread at a time.
class Connection : private detail::GuardedConnection {
public:
    /// Throws ConfigError for a configuration that makes no sense, Error if the server cannot be had.
    explicit Connection(Config const& config)
        : GuardedConnection{config},
          session_{config.session},
          settings_{config, connection_->server_version()} {
        if (!settings_.connect.empty())
            guarded(Doing::connecting,
                    [&] { return pqxx::nontransaction{*connection_}.exec(settings_.connect); });
    }
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection() { rollback(); }

    using GuardedConnection::lost;

    // ---- statements ----

    /// Outside `begin` the statement is a transaction of its own.
    template <class OnRow>
    void run(Statement const& statement, Bindings const& bindings, OnRow const& on_row) {
        detail::each_row(execute(statement, detail::parameters(statement, bindings)), on_row);
    }
    /// Many rows: one array a column, one statement, one round trip.
    template <class OnRow>
    void run_rows(Statement const& statement, Bindings const& bindings, Rows const& rows,
                  OnRow const& on_row) {
        detail::each_touched(execute(statement, detail::parameters(statement, bindings, rows)), on_row);
    }
    /// Several statements in one transaction, one process at a time; for DDL, so without the time-outs.
    void script(std::string_view sql) {
        begin();
        unhurried_ = true;
        try {
            own(*open_,
                "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; "
                "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('fila'), 0)");
            own(*open_, std::string{sql});
        } catch (...) {
            unhurried_ = false;
            rollback();
            throw;
        }
        unhurried_ = false;
        commit();
    }

    // ---- a transaction ----

    /// BEGIN is sent with the first statement.
    void begin() {
        drop_stale_statements();
        mark_ = std::to_string(++transactions_);
        turn_ = Turn::store;
        savepoint_ = Savepoint::none;
        begun_ = failed_ = ended_ = false;
        guarded(Doing::in_transaction, [&] { open_.emplace(*connection_); });
    }
    /// Throws if what `begin` opened is no longer open, or an error has spoilt it: PostgreSQL would then
    /// answer COMMIT with a quiet ROLLBACK.
    void commit() {
        require_unspoilt();
        to_store();
        if (savepoint_ != Savepoint::none) savepoint_ = Savepoint::released;  // gone with the transaction
        if (begun_) guarded(Doing::committing, [&] { open_->exec("COMMIT"); });
        open_.reset();
    }
    /// Whether `finish` may be called: there are prepared statements, and the server has not refused such a one.
    [[nodiscard]] bool can_finish() const noexcept { return session_ == Session::own && can_finish_; }
    /// A last statement, made with Dialect::or_raise, and COMMIT, which the server never comes to if that fails.
    /// False: it touched no row, and the transaction can only be rolled back. A savepoint with nothing but locks
    /// before it is released first.
    [[nodiscard]] bool finish(Statement const& statement, Bindings const& bindings, Rows const& rows) {
        require_unspoilt();
        auto const parameters = detail::parameters(statement, bindings, rows);
        auto const call = bridge::call(*connection_, prepared_to_finish(statement), parameters);
        bool const at_once = begun_ && call && (lazy_ || savepoint_ != Savepoint::made);
        try {
            if (at_once) {
                auto const sql = (savepoint_ == Savepoint::made ? release : "") +
                                 (turn_ == Turn::handler ? settings_.to_store : "") + *call + "; COMMIT";
                guarded(Doing::finishing, [&] {
                    return prepared_.with(statement.text, [&](auto const&) { return exec(*open_, sql); });
                });
                open_.reset();
                return true;
            }
            if (lazy_) release_savepoint();
            (void)execute(statement, parameters);
        } catch (Error const& e) {
            // 25P02: the first word was refused already, so the savepoint is there still.
            if (at_once && e.code() != "25P02" && savepoint_ != Savepoint::none)
                savepoint_ = Savepoint::released;
            if (at_once && by_handler(e)) end();
            if (e.code() != "22P02" ||
                std::string_view{e.what()}.find(postgres_no_row) == std::string_view::npos)
                throw;
            return false;
        }
        commit();
        return true;
    }
    bool rollback() noexcept {
        try {
            if (open_ && begun_ && !lost_) renewed().exec("ROLLBACK");
        } catch (...) {
            lost_ = true;
        }
        open_.reset();
        return !lost_;
    }
    [[nodiscard]] bool in_transaction() const noexcept { return open_.has_value() && !ended_ && !lost_; }

    /// One savepoint, moved: however many rows there are, one subtransaction is open.
    void savepoint() {
        require_open();
        to_store();
        own(*open_, std::string{savepoint_ == Savepoint::made ? release : ""} + make_savepoint);
        savepoint_ = Savepoint::made;
        lazy_ = false;
    }
    /// The first one, where nothing but locks came before it. It is made when the handler gets the connection:
    /// until then there is nothing of his to undo.
    void defer_savepoint() {
        require_open();
        to_store();
        savepoint_ = Savepoint::deferred;
        lazy_ = true;
    }
    /// What came after it stays. Behind a savepoint an UPDATE of a row that was locked before it makes a
    /// multixact, for each row; and those are finite, and slow to clean up.
    void release_savepoint() {
        require_open();
        if (savepoint_ == Savepoint::made) {
            if (turn_ == Turn::handler)
                to_store(release);
            else
                own(*open_, release);
        }
        if (savepoint_ != Savepoint::none) savepoint_ = Savepoint::released;
    }
    /// Row locks taken before the savepoint stay, and settings made since are undone. False if there was no way
    /// back to it, since it was released or a COMMIT has failed: then a new transaction is open, without locks.
    [[nodiscard]] bool rollback_to_savepoint() {
        require_open();
        if (savepoint_ == Savepoint::none)
            throw Error{"fila postgres: rollback_to_savepoint() without a savepoint()", {.code = "3B001"}};
        if (savepoint_ == Savepoint::made) {
            own(renewed(), std::string{"ROLLBACK TO SAVEPOINT fila_row; "} + (lazy_ ? release : ""));
            turn_ = Turn::store;
            if (lazy_) savepoint_ = Savepoint::deferred;
            failed_ = false;
            return true;
        }
        if (savepoint_ == Savepoint::deferred && !failed_) return true;
        rollback();
        begin();
        return false;
    }

    /// For the handler's statements, until the next call of ours. It may not end the transaction: neither by
    /// `commit()` or `abort()` nor by SQL.
    [[nodiscard]] pqxx::transaction_base& handle() {
        require_open();
        if (turn_ == Turn::store) {
            bool const first = savepoint_ == Savepoint::deferred;
            own(*open_, "SET LOCAL fila.transaction = '" + mark_ + "'; " + (first ? make_savepoint : "") +
                            settings_.to_handler);
            if (first) savepoint_ = Savepoint::made;
            turn_ = Turn::handler;
        }
        return *open_;
    }

    // ---- the catalogue ----

    [[nodiscard]] Catalogue catalogue(TableName const& name) {
        return detail::read_catalogue(
            name, [this](Statement const& s, Bindings const& b, auto on_row) { run(s, b, on_row); });
    }
    /// Whether the planner, which our settings forbid to scan and sort as far as it can be forbidden, needs
    /// neither.
    [[nodiscard]] bool served_by_index(Statement const& statement) {
        bool served = true;
        try {
            auto const one = bridge::Parameters(statement.parameters.size(), "1");
            detail::each_row(
                execute_unnamed({"EXPLAIN " + statement.text, {}}, one),
                [&](Record const& record) { served = served && !detail::scans_or_sorts(record[0].text()); });
        } catch (Error const&) {
            if (lost_) throw;
        }
        return served;
    }
    /// Throws what keeps the statement from being run, privileges included. Runs nothing.
    void rehearse(Statement const& statement) {
        (void)execute_unnamed({"EXPLAIN " + statement.text, {}},
                              bridge::Parameters(statement.parameters.size(), std::nullopt));
    }

private:
    enum class Turn : std::uint8_t { store, handler };
    enum class Savepoint : std::uint8_t { none, deferred, made, released };
    static constexpr char const* make_savepoint = "SAVEPOINT fila_row; ";
    static constexpr char const* release = "RELEASE SAVEPOINT fila_row; ";

    pqxx::result execute(Statement const& statement, bridge::Parameters const& parameters) {
        if (open_) {
            require_open();
            to_store();
            return guarded(Doing::in_transaction, [&] {
                return begun_ ? send(*open_, statement, parameters) : send_first(statement, parameters);
            });
        }
        if (session_ == Session::pooled) return execute_unnamed(statement, parameters);
        drop_stale_statements();
        auto const attempt = [&] {
            return guarded(Doing::statement, [&] {
                pqxx::nontransaction tx{*connection_};
                return send(tx, statement, parameters);
            });
        };
        try {
            return attempt();
        } catch (Error const&) {
            if (!stale_) throw;
        }
        // The table has changed under the plan: nothing was done, and a new plan will do.
        drop_stale_statements();
        return attempt();
    }
    /// In a transaction of its own, with all settings local to it.
    pqxx::result execute_unnamed(Statement const& statement, bridge::Parameters const& parameters) {
        auto const attempt = [&] {
            return guarded(Doing::in_transaction, [&] {
                if (!begun_) open_->exec(opening());
                return bridge::execute(*open_, statement.text, parameters);
            });
        };
        if (open_) return attempt();
        begin();
        try {
            auto result = attempt();
            commit();
            return result;
        } catch (...) {
            rollback();
            throw;
        }
    }
    pqxx::result send(pqxx::transaction_base& tx, Statement const& statement,
                      bridge::Parameters const& parameters) {
        if (session_ == Session::pooled) return bridge::execute(tx, statement.text, parameters);
        return prepared_.with(statement.text, [&](std::string const& name) {
            return bridge::execute_prepared(tx, name, parameters);
        });
    }
    /// The first of a transaction, with its BEGIN.
    pqxx::result send_first(Statement const& statement, bridge::Parameters const& parameters) {
        if (session_ == Session::own)
            if (auto const call = bridge::call(*connection_, prepared_.name(statement.text), parameters))
                return prepared_.with(statement.text,
                                      [&](auto const&) { return open_->exec(opening() + *call); });
        open_->exec(opening());
        return send(*open_, statement, parameters);
    }
    /// From here on there is a transaction to be rolled back.
    std::string const& opening() noexcept {
        begun_ = true;
        return settings_.begin;
    }
    void drop_stale_statements() {
        if (prepared_.some_are_stale()) guarded(Doing::in_transaction, [&] { prepared_.drop_stale(); });
    }
    /// Not every table can have its row settled within a larger statement: one with a rule cannot. That is found out
    /// once a connection, and costs that one transaction.
    std::string const& prepared_to_finish(Statement const& statement) {
        try {
            return guarded(Doing::in_transaction,
                           [&]() -> std::string const& { return prepared_.name(statement.text); });
        } catch (Error const& e) {
            if (e.code() != "0A000") throw;
            can_finish_ = false;
            throw Error{e.what(), {.retryable = true, .code = e.code()}};
        }
    }

    /// SQL of ours without parameters, in the open transaction. That there is none, or no savepoint, can only
    /// be the handler's doing.
    pqxx::result own(pqxx::transaction_base& tx, std::string const& sql) {
        try {
            return guarded(Doing::in_transaction, [&] { return exec(tx, begun_ ? sql : opening() + sql); });
        } catch (Error const& e) {
            if (!by_handler(e)) throw;
        }
        end();
    }
    static pqxx::result exec(pqxx::transaction_base& tx, std::string const& sql) {
        try {
            return tx.exec(sql);
        } catch (pqxx::usage_error const&) {
            throw Error{"commit() or abort() was called on it", {.code = "25P01"}};
        }
    }
    static bool by_handler(Error const& e) { return e.code() == "25P01" || e.code() == "3B001"; }
    [[noreturn]] void end() {
        ended_ = true;
        throw Error{
            "fila postgres: the handler ended the transaction that held its row: others may have the row by "
            "now. Return an outcome, or throw; leave COMMIT and ROLLBACK to the store",
            {.code = "25P01"}};
    }
    void require_open() {
        if (!open_) throw Error{"fila postgres: no transaction is open", {.code = "25P01"}};
        if (ended_) end();
    }
    void require_unspoilt() {
        require_open();
        if (failed_)
            throw Error{"fila postgres: commit after a failed statement: roll back instead",
                        {.code = "25P02"}};
    }
    void to_store(char const* first = "") {
        if (turn_ == Turn::store) return;
        auto const answer = own(*open_, first + settings_.to_store +
                                            "SELECT pg_catalog.current_setting('fila.transaction', true)");
        if (bridge::text(answer, 0, 0) != mark_) end();
        turn_ = Turn::store;
    }
    /// A fresh object over the same server transaction: the handler may have closed the one it had.
    pqxx::transaction_base& renewed() {
        open_.reset();
        return open_.emplace(*connection_);
    }

    Session session_;
    bool begun_ = false;  ///< the server knows of the open transaction
    bool ended_ = false;  ///< by the handler, against the rules
    Turn turn_ = Turn::store;
    Savepoint savepoint_ = Savepoint::none;
    bool lazy_ = false;  ///< nothing but locks came before the savepoint
    bool can_finish_ = true;
    std::uint64_t transactions_ = 0;
    std::string mark_;  ///< a setting local to the open transaction: gone if it is another one
    detail::SettingsSql settings_;
    detail::PreparedStatements prepared_{*connection_};
    std::optional<pqxx::nontransaction> open_;
};

}  // namespace fila::inline v1::postgres
