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
// Thread safety: one thread at a time, not always the same one.
#pragma once

#include <fila/postgres/postgres_catalogue.hpp>
#include <fila/postgres/postgres_config.hpp>
#include <fila/postgres/postgres_errors.hpp>
#include <fila/postgres/postgres_field.hpp>
#include <fila/postgres/postgres_pqxx.hpp>
#include <fila/postgres/postgres_reply_watch.hpp>
#include <fila/postgres/postgres_settings.hpp>
#include <fila/postgres/postgres_values.hpp>
#include <fila/table/catalogue.hpp>
#include <fila/table/statement.hpp>
#include <fila/table/table_name.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila::inline v1::postgres {

/// One session of the server. Not to be copied or moved; one thread at a time.
class Connection {
public:
    /// Throws ConfigError for a configuration that makes no sense, Error if the server cannot be had.
    explicit Connection(Config const& config)
        : session_{config.session},
          connection_{open(config)},
          line_{connection_->sock(), config.longest_call()},
          settings_{config, connection_->server_version()} {
        if (!settings_.connect.empty())
            guarded(Doing::connecting,
                    [&] { return pqxx::nontransaction{*connection_}.exec(settings_.connect); });
    }
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection() { rollback(); }

    [[nodiscard]] bool lost() const noexcept { return lost_; }

    // ---- statements ----

    /// Outside `begin` the statement is a transaction of its own.
    template <class OnRow>
    void run(Statement const& statement, Bindings const& bindings, OnRow const& on_row) {
        each(execute(statement, detail::parameters(statement, bindings)), on_row);
    }
    /// Many rows: one array a column, one statement, one round trip.
    template <class OnRow>
    void run_rows(Statement const& statement, Bindings const& bindings, Rows const& rows,
                  OnRow const& on_row) {
        each(execute(statement, detail::parameters(statement, bindings, rows)), on_row);
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

    void begin() {
        drop_stale_statements();
        mark_ = std::to_string(++transactions_);
        turn_ = Turn::store;
        savepoint_ = Savepoint::none;
        failed_ = ended_ = false;
        try {
            guarded(Doing::in_transaction, [&] {
                open_.emplace(*connection_);
                open_->exec(settings_.begin + "SET LOCAL fila.transaction = '" + mark_ + "'");
            });
        } catch (...) {
            rollback();
            throw;
        }
    }
    /// Throws if what `begin` opened is no longer open, or an error has spoilt it: PostgreSQL would then
    /// answer COMMIT with a quiet ROLLBACK.
    void commit() {
        require_open();
        if (failed_)
            throw Error{"fila postgres: commit after a failed statement: roll back instead",
                        {.code = "25P02"}};
        to_store();
        if (savepoint_ != Savepoint::none) savepoint_ = Savepoint::released;  // gone with the transaction
        guarded(Doing::committing, [&] { open_->exec("COMMIT"); });
        open_.reset();
    }
    bool rollback() noexcept {
        try {
            if (open_ && !lost_) renewed().exec("ROLLBACK");
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
            own(*open_, (first ? make_savepoint : "") + settings_.to_handler);
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
            each(execute_unnamed({"EXPLAIN " + statement.text, {}}, one),
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
    static std::unique_ptr<pqxx::connection> open(Config const& config) {
        config.validate();
        try {
            return bridge::connect(detail::with_defaults(config.conninfo));
        } catch (...) {
            throw current_failure(Doing::connecting).error;
        }
    }

    enum class Turn : std::uint8_t { store, handler };
    enum class Savepoint : std::uint8_t { none, deferred, made, released };
    static constexpr char const* make_savepoint = "SAVEPOINT fila_row; ";
    static constexpr char const* release = "RELEASE SAVEPOINT fila_row; ";

    /// Every call into libpqxx goes through here.
    template <class F>
    auto guarded(Doing doing, F&& call) -> decltype(call()) {
        if (lost_)
            throw Error{"fila postgres: this connection was lost", {.retryable = true, .code = "08003"}};
        try {
            detail::ReplyWatch::Call const watched{unhurried_ ? nullptr : &line_};
            return call();
        } catch (...) {
            bool const silent = line_.given_up();
            auto failure = current_failure(doing, silent ? line_.silence() : std::string{});
            lost_ = lost_ || failure.connection_lost || silent;
            stale_ = failure.stale_plan;
            if (open_) failed_ = true;
            throw std::move(failure.error);
        }
    }
    template <class OnRow>
    static void each(pqxx::result const& result, OnRow const& on_row) {
        for (std::size_t i = 0; i < bridge::rows(result); ++i) on_row(Record{result, i});
    }

    pqxx::result execute(Statement const& statement, bridge::Parameters const& parameters) {
        if (open_) {
            require_open();
            to_store();
            return guarded(Doing::in_transaction, [&] { return send(*open_, statement, parameters); });
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
        if (open_)
            return guarded(Doing::in_transaction,
                           [&] { return bridge::execute(*open_, statement.text, parameters); });
        begin();
        try {
            auto result = guarded(Doing::in_transaction,
                                  [&] { return bridge::execute(*open_, statement.text, parameters); });
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
        auto known = prepared_.find(statement.text);
        if (known == prepared_.end()) {
            auto name = "fila_" + std::to_string(++prepared_so_far_);
            connection_->prepare(name, statement.text);
            known = prepared_.emplace(statement.text, std::move(name)).first;
        }
        try {
            return bridge::execute_prepared(tx, known->second, parameters);
        } catch (pqxx::sql_error const& e) {
            if (detail::stale_plan(bridge::sqlstate(e), e.what())) {
                stale_names_.push_back(std::move(known->second));
                prepared_.erase(known);
            }
            throw;
        }
    }
    /// Outside any transaction: a failed one would refuse.
    void drop_stale_statements() {
        while (!stale_names_.empty()) {
            auto const name = std::move(stale_names_.back());
            stale_names_.pop_back();
            guarded(Doing::in_transaction, [&] {
                try {
                    connection_->unprepare(name);
                } catch (pqxx::sql_error const&) {
                    // The server no longer knows it: gone, as wished.
                }
            });
        }
    }

    /// SQL of ours without parameters, in the open transaction. That there is none, or no savepoint, can only
    /// be the handler's doing.
    pqxx::result own(pqxx::transaction_base& tx, std::string const& sql) {
        std::string code;
        try {
            return guarded(Doing::in_transaction, [&] {
                try {
                    return tx.exec(sql);
                } catch (pqxx::usage_error const&) {
                    throw Error{"commit() or abort() was called on it", {.code = "25P01"}};
                }
            });
        } catch (Error const& e) {
            if (e.code() != "25P01" && e.code() != "3B001") throw;
        }
        end();
    }
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
    bool lost_ = false;
    bool stale_ = false;
    bool failed_ = false;  ///< the open transaction can only be rolled back
    bool ended_ = false;   ///< by the handler, against the rules
    Turn turn_ = Turn::store;
    Savepoint savepoint_ = Savepoint::none;
    bool lazy_ = false;  ///< nothing but locks came before the savepoint
    std::uint64_t transactions_ = 0;
    std::uint64_t prepared_so_far_ = 0;
    std::string mark_;        ///< a setting local to the open transaction: gone if it is another one
    bool unhurried_ = false;  ///< DDL takes what it takes
    std::unique_ptr<pqxx::connection> connection_;
    detail::ReplyWatch::Line line_;
    detail::SettingsSql settings_;
    std::map<std::string, std::string, std::less<>> prepared_;  ///< by text
    std::vector<std::string> stale_names_;
    std::optional<pqxx::nontransaction> open_;
};

}  // namespace fila::inline v1::postgres
