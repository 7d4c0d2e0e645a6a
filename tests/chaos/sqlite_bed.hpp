// SPDX-License-Identifier: MIT
// SqliteBed: the table in a file of its own.
#pragma once

#include "chaos/bed.hpp"

#include <sqlite3.h>

#include <memory>

namespace fila_chaos {

class SqliteBed : public Bed {
public:
    /// The file is `folder`/jobs.db, by default in a directory of the test's own. The log of runs is elsewhere.
    explicit SqliteBed(std::filesystem::path const& folder = {}) {
        if (folder.empty()) std::filesystem::create_directory(directory() / "db");
        file_ = (folder.empty() ? directory() / "db" : folder) / "jobs.db";
        make(file_);
    }
    /// An empty table in another file.
    void make(std::filesystem::path const& file) {
        auto const db = connect(file);
        run(db.get(), "PRAGMA journal_mode = WAL");
        run(db.get(), ddl("integer PRIMARY KEY AUTOINCREMENT", "integer", "0"));
        run(db.get(),
            "CREATE TRIGGER audit AFTER UPDATE OF status ON jobs WHEN NEW.status IN ('done', 'dead') OR "
            "NEW.failures > OLD.failures BEGIN INSERT INTO settles VALUES (NEW.id, NEW.run, OLD.failures + "
            "OLD.crashes + 1, OLD.fence, NEW.status); END");
    }

    Cells query(std::string const& sql) override {
        if (!db_) db_ = connect(file_);
        return run(db_.get(), sql);
    }
    /// The test's own connection; the next query makes another one.
    void disconnect() { db_.reset(); }
    [[nodiscard]] char const* store() const override { return "sqlite"; }
    [[nodiscard]] std::vector<std::string> worker_options() const override {
        return {"store=sqlite", "table=jobs", "effects=effects", "where=" + file_.string(),
                "runs=" + (directory() / "runs").string()};
    }

    [[nodiscard]] std::filesystem::path const& file() const { return file_; }
    [[nodiscard]] std::filesystem::path beside(char const* suffix) const { return file_.string() + suffix; }
    [[nodiscard]] std::uintmax_t log_size() const {
        std::error_code none;
        auto const size = std::filesystem::file_size(beside("-wal"), none);
        return none ? 0 : size;
    }

    struct Close {
        void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
    };
    using Database = std::unique_ptr<sqlite3, Close>;
    [[nodiscard]] static Database connect(std::filesystem::path const& file) {
        sqlite3* db = nullptr;
        int const code = sqlite3_open(file.c_str(), &db);
        Database owned{db};
        if (code != SQLITE_OK) throw std::runtime_error{"cannot open " + file.string()};
        sqlite3_busy_timeout(db, 30'000);
        return owned;
    }
    static Cells run(sqlite3* db, std::string sql) {
        for (auto at = sql.find("{s}"); at != sql.npos; at = sql.find("{s}")) sql.erase(at, 3);
        Cells cells;
        auto const collect = [](void* to, int n, char** values, char**) {
            auto& line = static_cast<Cells*>(to)->emplace_back();
            for (int i = 0; i < n; ++i) line.emplace_back(values[i] != nullptr ? values[i] : "");
            return 0;
        };
        if (sqlite3_exec(db, sql.c_str(), collect, &cells, nullptr) != SQLITE_OK)
            throw std::runtime_error{sql + ": " + sqlite3_errmsg(db)};
        return cells;
    }

private:
    std::filesystem::path file_;
    Database db_;
};

}  // namespace fila_chaos
