// SPDX-License-Identifier: MIT
// verify_packages as a program under test: its command line, its table, its run log.
#pragma once

#include "support/child_process.hpp"
#include "package_root.hpp"

#include <pqxx/pqxx>
#include <sqlite3.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace fila_test {

inline std::vector<std::string> verify_packages(PackageRoot const& root, std::string const& database,
                                                std::vector<std::string> const& more = {}) {
    std::vector<std::string> command{VERIFY_PACKAGES, "--root", root.path().string(), "--database", database};
    command.insert(command.end(), more.begin(), more.end());
    return command;
}

/// A database of one test: an SQLite file, or a PostgreSQL database of its own on the tests' server.
class Database {
public:
    using Rows = std::vector<std::vector<std::string>>;
    virtual ~Database() = default;
    [[nodiscard]] virtual std::string address() const = 0;  ///< what --database takes
    [[nodiscard]] virtual Rows query(std::string const& sql) const = 0;

    [[nodiscard]] std::map<std::string, std::size_t> counts() const {
        std::map<std::string, std::size_t> counts;
        for (auto const& row : query("SELECT status, count(*) FROM packages GROUP BY status"))
            counts[row[0]] = std::stoull(row[1]);
        return counts;
    }
};

class SqliteFile : public Database {
public:
    explicit SqliteFile(fs::path file) : file_{std::move(file)} {}
    [[nodiscard]] std::string address() const override { return file_.string(); }
    [[nodiscard]] Rows query(std::string const& sql) const override {
        auto const connection = open();
        Rows rows;
        auto const add = [](void* to, int columns, char** values, char**) {
            auto& row = static_cast<Rows*>(to)->emplace_back();
            for (int i = 0; i < columns; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
            return 0;
        };
        if (::sqlite3_exec(connection.get(), sql.c_str(), add, &rows, nullptr) != SQLITE_OK)
            throw std::runtime_error{std::string{::sqlite3_errmsg(connection.get())} + " in " + sql};
        return rows;
    }
    using Connection = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
    /// Nobody else writes until it is destroyed.
    [[nodiscard]] Connection lock() const {
        auto connection = open();
        if (::sqlite3_exec(connection.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error{"cannot lock " + file_.string()};
        return connection;
    }

private:
    [[nodiscard]] Connection open() const {
        sqlite3* raw = nullptr;
        int const opened = ::sqlite3_open(file_.c_str(), &raw);
        Connection connection{raw, &::sqlite3_close};
        if (opened != SQLITE_OK) throw std::runtime_error{"cannot open " + file_.string()};
        ::sqlite3_busy_timeout(raw, 10'000);
        return connection;
    }
    fs::path file_;
};

class PostgresDatabase : public Database {
public:
    /// Nothing where the tests have no server.
    static std::unique_ptr<PostgresDatabase> create() {
        auto const* server = std::getenv("FILA_TEST_POSTGRES");
        if (server == nullptr || *server == '\0') return nullptr;
        return std::unique_ptr<PostgresDatabase>{new PostgresDatabase{server}};
    }
    ~PostgresDatabase() override {
        try {
            execute(server_, "DROP DATABASE " + name_ + " WITH (FORCE)");
        } catch (std::exception const&) {  // the server goes away with the tests anyway
        }
    }
    [[nodiscard]] std::string address() const override {
        // The server is named by libpq's keywords: host=/tmp/x user=postgres dbname=postgres.
        std::string address = "postgresql:///" + name_, word;
        char separator = '?';
        for (std::istringstream words{server_}; words >> word; separator = '&')
            if (!word.starts_with("dbname=")) address += separator + word;
        return address;
    }
    [[nodiscard]] Rows query(std::string const& sql) const override { return execute(address(), sql); }

private:
    explicit PostgresDatabase(std::string server)
        : server_{std::move(server)}, name_{"fila_examples_" + std::to_string(::getpid())} {
        execute(server_, "CREATE DATABASE " + name_);
    }
    static Rows execute(std::string const& conninfo, std::string const& sql) {
        pqxx::connection connection{conninfo};
        pqxx::nontransaction session{connection};
        Rows rows;
        for (auto const& from : session.exec(sql)) {
            auto& row = rows.emplace_back();
            for (auto const& field : from) row.emplace_back(field.c_str());
        }
        return rows;
    }
    std::string server_, name_;
};

/// "ok 298", "modified 2" … of a printed summary.
inline std::map<std::string, std::size_t> printed_counts(std::string const& out) {
    std::map<std::string, std::size_t> counts;
    std::istringstream lines{out};
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words{line};
        std::string status, rest;
        std::size_t count = 0;
        if (words >> status >> count && !(words >> rest) && count != 0) counts[status] = count;
    }
    return counts;
}

/// What the processes wrote of their checks, and the test of their deaths.
class RunLogReader {
public:
    explicit RunLogReader(fs::path file) : file_{std::move(file)} { append(file_, ""); }
    [[nodiscard]] std::string path() const { return file_.string(); }
    /// To be called when the process has been waited for.
    void died(pid_t pid) const { append(file_, "died " + std::to_string(pid) + " -\n"); }

    struct Event {
        std::string what, pid, package;
    };
    [[nodiscard]] std::vector<Event> events() const {
        std::istringstream words{read_file(file_)};
        std::vector<Event> events;
        for (Event e; words >> e.what >> e.pid >> e.package;) events.push_back(e);
        return events;
    }
    [[nodiscard]] std::size_t size() const { return events().size(); }

    /// Packages that were checked while another check of the same package went on.
    [[nodiscard]] std::set<std::string> overlaps() const {
        std::set<std::string> result;
        std::map<std::string, std::string> checked_by;
        for (auto const& [what, pid, package] : events()) {
            if (what == "died") {
                std::erase_if(checked_by,
                              [&, &dead = pid](auto const& entry) { return entry.second == dead; });
            } else if (what == "start") {
                if (!checked_by.emplace(package, pid).second) result.insert(package);
            } else {
                checked_by.erase(package);
            }
        }
        return result;
    }
    [[nodiscard]] std::map<std::string, std::size_t> ends_by_process() const {
        std::map<std::string, std::size_t> ends;
        for (auto const& e : events())
            if (e.what == "end") ++ends[e.pid];
        return ends;
    }

private:
    fs::path file_;
};

}  // namespace fila_test
