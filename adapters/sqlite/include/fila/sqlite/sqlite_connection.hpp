// SPDX-License-Identifier: MIT
// One connection to a SQLite file, as fila::Driver wants it.
//
// WAL; every write transaction is IMMEDIATE, since a reader that becomes a writer can fail at once however
// long the busy timeout; statements are reset as soon as they are done, so that no snapshot outlives them and
// the log can be checkpointed. Thread safety: one thread at a time.
#pragma once

#include <fila/sqlite/sqlite_catalogue.hpp>
#include <fila/sqlite/sqlite_config.hpp>
#include <fila/sqlite/sqlite_prepared.hpp>
#include <fila/table/statement.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

namespace fila::inline v1::sqlite {

/// One handle on the file. Not to be copied or moved; one thread at a time.
class Connection {
public:
    /// Throws ConfigError: what is wrong with the configuration, or why the file cannot be used.
    explicit Connection(Config const& config) : config_{config}, jitter_{std::random_device{}()} {
        validate();
        open();
        set_up();
    }
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection() = default;

    /// What handlers get; it stays ours to close.
    [[nodiscard]] sqlite3* handle() const noexcept { return db_.get(); }
    /// As it was given.
    [[nodiscard]] Config const& config() const noexcept { return config_; }
    /// A memory database is never lost: its content would be.
    [[nodiscard]] bool lost() const noexcept { return lost_ && config_.file != ":memory:"; }

    // ---- statements -----------------------------------------------------------------------------

    template <class F>
    void run(Statement const& statement, Bindings const& bindings, F on_row) {
        guarded([&] {
            require_in_place();
            Rows const none;
            detail::Running running{handle(), prepared(statement).get()};
            detail::Binder{statement, bindings, none}(running, 0);
            running.step(on_row);
        });
    }
    /// No round trips are saved by arrays here: the same statement once a row, in one transaction. An INSERT is run
    /// for many rows at once, and says how many it made, not which.
    template <class F>
    void run_rows(Statement const& statement, Bindings const& bindings, Rows const& rows, F on_row) {
        guarded([&] {
            require_in_place();
            bool const own = rows.size() > 1 && sqlite3_get_autocommit(handle()) != 0;
            if (own) begin();
            try {
                detail::Binder const bind{statement, bindings, rows};
                auto& reused = prepared(statement);
                auto const again = [this] {
                    if (!rollback()) return false;
                    begin();
                    return true;
                };
                auto const done = own ? reused.run_many(statement, bind, rows.size(), on_row, again) : 0;
                reused.run_each(bind, done, rows.size(), on_row);
                if (own) commit();
            } catch (...) {
                if (own) (void)rollback();
                throw;
            }
        });
    }
    /// IMMEDIATE: processes that migrate at once do it one after the other.
    void script(std::string_view sql) {
        guarded([&] {
            begin();
            try {
                detail::execute(handle(), std::string{sql}.c_str(), "running a script");
                commit();
            } catch (...) {
                (void)rollback();
                throw;
            }
        });
    }

    // ---- transactions ---------------------------------------------------------------------------

    void begin() {
        guarded([&] {
            require_in_place();
            detail::execute(handle(), "BEGIN IMMEDIATE", "beginning a transaction");
        });
        begun_at_ = ended_;
        marked_ = false;
    }
    void commit() {
        if (!in_transaction())
            throw Error{
                "fila sqlite: the transaction was ended by somebody else (a COMMIT or ROLLBACK in the "
                "handler, or "
                "an error that undid it): its rows are no longer held"};
        guarded([&] {
            require_in_place();
            detail::execute(handle(), "COMMIT", "committing", true);
        });
    }
    [[nodiscard]] bool rollback() noexcept {
        if (sqlite3_get_autocommit(handle()) != 0) return true;
        sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
        return sqlite3_get_autocommit(handle()) != 0;
    }
    [[nodiscard]] bool in_transaction() const noexcept {
        return sqlite3_get_autocommit(handle()) == 0 && begun_at_ == ended_;
    }
    void savepoint() {
        guarded([&] {
            if (marked_) detail::execute(handle(), "RELEASE fila_mark", "moving the savepoint");
            detail::execute(handle(), "SAVEPOINT fila_mark", "setting a savepoint");
        });
        marked_ = true;
    }
    void defer_savepoint() { savepoint(); }
    /// It costs nothing to leave it where it is.
    void release_savepoint() const noexcept {}
    [[nodiscard]] bool rollback_to_savepoint() {
        guarded([&] { detail::execute(handle(), "ROLLBACK TO fila_mark", "going back to the savepoint"); });
        return true;
    }

    // ---- catalogue ------------------------------------------------------------------------------

    [[nodiscard]] Catalogue catalogue(TableName const& name) {
        return detail::CatalogueReader<Connection>{*this, name}.read();
    }
    /// Prepared anew each time: a kept EXPLAIN does not see indexes that came later.
    [[nodiscard]] bool served_by_index(Statement const& statement) {
        bool served = true;
        auto look = [&](Record const& step) {
            auto const text = step[3].get<std::string>();
            bool const sorts = text.find("TEMP B-TREE") != text.npos;
            bool const scans = text.starts_with("SCAN") && text.find("INDEX") == text.npos;
            if (sorts || scans) served = false;
        };
        try {
            detail::StatementPtr const explain{
                detail::prepare(handle(), "EXPLAIN QUERY PLAN " + statement.text, 0)};
            detail::check_parameters(explain.get(), statement);
            detail::Running{handle(), explain.get()}.step(look);
        } catch (ConfigError const&) {
            throw;
        } catch (Error const&) {
            return true;
        }
        return served;
    }

private:
    struct Close {
        void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
    };

    void validate() const {
        std::string faults;
        auto fault = [&](std::string_view what) { faults += "\n  ", faults += what; };
        if (config_.file.empty()) fault("file is empty: give a path, or \":memory:\"");
        if (config_.file.find('\0') != config_.file.npos) fault("file contains NUL");
        if (config_.busy_timeout.count() < 0) fault("busy_timeout is negative");
        if (config_.busy_timeout > std::chrono::hours{1}) fault("busy_timeout is longer than an hour");
        if (sqlite3_threadsafe() == 0)
            fault("this SQLite was built with SQLITE_THREADSAFE=0, and stores are used by many threads");
        if (sqlite3_libversion_number() < 3035000)
            fault("this SQLite is older than 3.35, which brought RETURNING");
        if (!faults.empty()) throw ConfigError{"fila::sqlite::Config:" + faults};
    }
    void open() {
        sqlite3* db = nullptr;
        int const create = config_.create ? SQLITE_OPEN_CREATE : 0;
        int const code = sqlite3_open_v2(config_.file.c_str(), &db,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, nullptr);
        db_.reset(db);
        if (code != SQLITE_OK) {
            auto what = "cannot open \"" + config_.file + "\"";
            if (std::error_code unknown; !config_.create && !std::filesystem::exists(config_.file, unknown))
                what += " (there is no such file: give its path, or make it with fila::OnStart::migrate)";
            refuse(make_error(db, code, what));
        }
        if (sqlite3_db_readonly(db, "main") == 1)
            refuse(make_error(nullptr, SQLITE_READONLY, "cannot write \"" + config_.file + "\""));
    }
    void set_up() {
        auto* const db = handle();
        sqlite3_extended_result_codes(db, 1);
        sqlite3_busy_handler(db, &Connection::on_busy, this);
        // A transaction that a handler ended by hand cannot be told from ours by its state alone.
        sqlite3_commit_hook(db, &Connection::on_commit, this);
        sqlite3_rollback_hook(db, &Connection::on_rollback, this);
        constexpr char const* levels[] = {"OFF", "NORMAL", "FULL"};
        auto const pragmas = std::string{"PRAGMA synchronous = "} +
                             levels[static_cast<int>(config_.synchronous)] +
                             "; PRAGMA journal_size_limit = 4194304";
        try {
            write_ahead_log();
            detail::execute(db, pragmas.c_str(), "setting up \"" + config_.file + "\"");
        } catch (Error const& e) {
            if (e.retryable()) throw;
            refuse(e);
        }
    }
    /// Changing the journal mode answers BUSY without asking the busy handler.
    void write_ahead_log() {
        auto const deadline = std::chrono::steady_clock::now() + config_.busy_timeout;
        for (int tries = 0;; ++tries) {
            int const code = sqlite3_exec(handle(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
            if (code == SQLITE_OK) return;
            if ((code & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline)
                throw make_error(handle(), code, "cannot use \"" + config_.file + "\"");
            std::this_thread::sleep_for(pause(tries));
        }
    }
    [[noreturn]] static void refuse(Error const& e) { throw ConfigError{e.what(), {.code = e.code()}}; }

    template <class F>
    void guarded(F f) {
        try {
            f();
        } catch (Error const& e) {
            int const code = e.code().empty() ? SQLITE_OK : std::stoi(e.code());
            if (is_broken(code)) lost_ = true;
            if (code == SQLITE_FULL) use_log_again();
            throw;
        }
    }
    /// With write-ahead logging SQLite goes on writing into a file that nobody can find any more.
    void require_in_place() const {
        int moved = 0;
        sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        if (moved != 0) throw make_error(nullptr, SQLITE_READONLY_DBMOVED, "using \"" + config_.file + "\"");
    }
    /// A log that has filled the disk is moved into the file by a commit only, and no commit succeeds any
    /// more. Most of it is older versions of the same pages, so there is room for what it holds.
    void use_log_again() const noexcept {
        sqlite3_wal_checkpoint_v2(handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    }
    detail::Prepared& prepared(Statement const& statement) {
        auto const known = prepared_.find(statement.text);
        if (known != prepared_.end()) return known->second;
        detail::Prepared fresh{handle(), statement, true};
        detail::check_parameters(fresh.get(), statement);
        return prepared_.emplace(statement.text, std::move(fresh)).first->second;
    }

    /// Doubles up to about ten milliseconds, and scatters: processes that wait together must not wake
    /// together.
    std::chrono::microseconds pause(int tries) {
        auto const most = std::int64_t{100} << std::min(tries, 7);
        return std::chrono::microseconds{
            std::uniform_int_distribution<std::int64_t>{most / 2, most}(jitter_)};
    }
    static int on_busy(void* self, int tries) {
        auto& c = *static_cast<Connection*>(self);
        auto const now = std::chrono::steady_clock::now();
        if (tries == 0) c.busy_since_ = now;
        if (now - c.busy_since_ >= c.config_.busy_timeout) return 0;
        std::this_thread::sleep_for(c.pause(tries));
        return 1;
    }
    static int on_commit(void* self) {
        ++static_cast<Connection*>(self)->ended_;
        return 0;
    }
    static void on_rollback(void* self) { ++static_cast<Connection*>(self)->ended_; }

    Config config_;
    std::minstd_rand jitter_;
    std::unique_ptr<sqlite3, Close> db_;
    std::unordered_map<std::string, detail::Prepared> prepared_;
    std::chrono::steady_clock::time_point busy_since_{};
    std::uint64_t ended_ = 0, begun_at_ = 0;
    bool marked_ = false, lost_ = false;
};

/// A user's own connection: their transaction if one is open, else one of ours around the rows.
class BorrowedConnection {
public:
    /// Throws Error for null. It must stay open, and is not closed.
    explicit BorrowedConnection(sqlite3* db) : db_{db} {
        if (db == nullptr) throw Error{"fila sqlite: the connection to enqueue through is null"};
    }

    template <class F>
    void run_rows(Statement const& statement, Bindings const& bindings, Rows const& rows, F on_row) {
        bool const own = sqlite3_get_autocommit(db_) != 0;
        detail::execute(db_, own ? "BEGIN IMMEDIATE" : "SAVEPOINT fila_borrowed", "beginning to enqueue");
        try {
            detail::Binder const bind{statement, bindings, rows};
            detail::Prepared prepared{db_, statement, false};
            auto const again = [&] {
                if (!own)
                    return sqlite3_exec(db_, "ROLLBACK TO fila_borrowed", nullptr, nullptr, nullptr) ==
                           SQLITE_OK;
                sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);  // a trigger may have done so
                detail::execute(db_, "BEGIN IMMEDIATE", "beginning to enqueue");
                return true;
            };
            auto const done = prepared.run_many(statement, bind, rows.size(), on_row, again);
            prepared.run_each(bind, done, rows.size(), on_row);
            detail::execute(db_, own ? "COMMIT" : "RELEASE fila_borrowed", "ending to enqueue", own);
        } catch (...) {
            sqlite3_exec(db_, own ? "ROLLBACK" : "ROLLBACK TO fila_borrowed; RELEASE fila_borrowed", nullptr,
                         nullptr, nullptr);
            throw;
        }
    }

private:
    sqlite3* db_;
};

}  // namespace fila::inline v1::sqlite
