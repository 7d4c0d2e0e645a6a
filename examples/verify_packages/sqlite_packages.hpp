// SPDX-License-Identifier: MIT
// SqlitePackages: the table of packages in an SQLite file, with the little SQL that is this program's own.
#pragma once

#include "options.hpp"
#include "package_table.hpp"
#include <fila/sqlite/sqlite_store.hpp>

#include <sqlite3.h>

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

class SqlitePackages {
public:
    /// Makes the table if there is none. Throws if the file cannot be used.
    explicit SqlitePackages(Options const& options)
        : connection_{open(options.database)},
          store_{fila::sqlite::Config{options.database}, package_mapping} {}

    [[nodiscard]] auto& store() { return store_; }

    /// Puts in the packages that are not in the table yet. One transaction: of two programs that start at
    /// once, the second finds the rows of the first, and a killed one leaves none or all.
    std::size_t enqueue_new(std::vector<Package> const& packages) {
        sql("BEGIN IMMEDIATE");
        std::set<std::string> known;
        for (auto& row : sql("SELECT package || ' ' || version || ' ' || architecture FROM packages"))
            known.insert(std::move(row[0]));
        std::vector<Package> fresh;
        for (auto const& p : packages)
            if (!known.contains(p.name + ' ' + p.version + ' ' + p.architecture)) fresh.push_back(p);
        store_.enqueue(connection_.get(), fresh);
        sql("COMMIT");
        return fresh.size();
    }

    [[nodiscard]] std::map<std::string, std::size_t> counts_by_status() {
        std::map<std::string, std::size_t> counts;
        for (auto const& row : sql("SELECT status, count(*) FROM packages GROUP BY status"))
            counts[row[0]] = std::stoull(row[1]);
        return counts;
    }

private:
    struct Close {
        void operator()(sqlite3* connection) const noexcept { ::sqlite3_close(connection); }
    };
    using Connection = std::unique_ptr<sqlite3, Close>;

    static Connection open(std::string const& file) {
        sqlite3* raw = nullptr;
        int const result = ::sqlite3_open(file.c_str(), &raw);
        Connection connection{raw};
        if (result != SQLITE_OK) throw std::runtime_error{file + ": " + ::sqlite3_errstr(result)};
        ::sqlite3_busy_timeout(raw, 10'000);
        execute(raw, "BEGIN IMMEDIATE");
        execute(raw, sqlite_schema);
        execute(raw, "COMMIT");
        return connection;
    }
    static std::vector<std::vector<std::string>> execute(sqlite3* connection, char const* text) {
        std::vector<std::vector<std::string>> rows;
        auto const add = [](void* to, int columns, char** values, char**) {
            static_cast<std::vector<std::vector<std::string>>*>(to)->emplace_back(values, values + columns);
            return 0;
        };
        if (::sqlite3_exec(connection, text, add, &rows, nullptr) != SQLITE_OK)
            throw std::runtime_error{std::string{::sqlite3_db_filename(connection, "main")} + ": " +
                                     ::sqlite3_errmsg(connection)};
        return rows;
    }
    std::vector<std::vector<std::string>> sql(char const* text) { return execute(connection_.get(), text); }

    Connection connection_;
    fila::sqlite::SqliteStore<std::remove_const_t<decltype(package_mapping)>> store_;
};
