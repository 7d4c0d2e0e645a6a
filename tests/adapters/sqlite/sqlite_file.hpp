// SPDX-License-Identifier: MIT
// A SQLite file for one test, and a plain second connection to it: what other programs do to a table.
#pragma once

#include <fila/sqlite/sqlite_statement.hpp>

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

/// A directory of its own, gone with the test.
class SqliteFile {
public:
    SqliteFile() {
        static std::atomic<int> count{0};
        directory_ = std::filesystem::temp_directory_path() /
                     ("fila_sqlite_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
        std::filesystem::create_directories(directory_);
    }
    SqliteFile(SqliteFile const&) = delete;
    SqliteFile& operator=(SqliteFile const&) = delete;
    ~SqliteFile() {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    [[nodiscard]] std::filesystem::path directory() const { return directory_; }
    [[nodiscard]] std::string path() const { return (directory_ / "test.db").string(); }

private:
    std::filesystem::path directory_;
};

class PlainConnection {
public:
    explicit PlainConnection(std::string const& path) {
        sqlite3* db = nullptr;
        int const code = sqlite3_open(path.c_str(), &db);
        db_.reset(db);
        if (code != SQLITE_OK) throw std::runtime_error("cannot open " + path);
        sqlite3_busy_timeout(db, 10000);
    }
    [[nodiscard]] sqlite3* get() const { return db_.get(); }

    void exec(std::string const& sql) {
        if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(db_.get()));
    }
    /// Binds `values` to the statement's parameters, in order of mention, and returns the first column as
    /// text; nullopt for NULL.
    std::vector<std::optional<std::string>> column(std::string const& sql,
                                                   std::vector<fila::Value> const& values = {}) {
        fila::sqlite::detail::StatementPtr const statement{fila::sqlite::detail::prepare(get(), sql, 0)};
        fila::sqlite::detail::Running running{get(), statement.get()};
        for (std::size_t i = 0; i < values.size(); ++i) running.bind(static_cast<int>(i + 1), values[i]);
        std::vector<std::optional<std::string>> out;
        auto collect = [&](auto const& record) {
            out.push_back(record[0].null() ? std::nullopt
                                           : std::optional{record[0].template get<std::string>()});
        };
        running.step(collect);
        return out;
    }
    std::optional<std::string> text(std::string const& sql, std::vector<fila::Value> const& values = {}) {
        auto all = column(sql, values);
        if (all.empty()) return "(no row)";
        return all.front();
    }
    std::int64_t number(std::string const& sql, std::vector<fila::Value> const& values = {}) {
        auto const value = text(sql, values);
        return value ? std::stoll(*value) : throw std::runtime_error("NULL: " + sql);
    }

private:
    struct Close {
        void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
    };
    std::unique_ptr<sqlite3, Close> db_;
};
