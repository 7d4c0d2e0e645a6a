// SPDX-License-Identifier: MIT
// Bed: the table of one test, seen from outside of the library: what was put in, what came out, and by whom.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace fila_chaos {

enum class Strategy { leased, in_transaction };
inline constexpr char const* word(Strategy s) { return s == Strategy::leased ? "leased" : "in-transaction"; }

/// A directory of the test's own.
class Scratch {
public:
    Scratch() {
        auto name = (std::filesystem::temp_directory_path() / "fila-chaos-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary directory"};
        path_ = name;
    }
    Scratch(Scratch const&) = delete;
    Scratch& operator=(Scratch const&) = delete;
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// One run of a handler, as it stands in the log of runs.
struct Run {
    std::int64_t key = 0;
    std::uint32_t attempt = 0;
    int pid = 0;
    bool ended = false, told = false;
};
using Runs = std::map<std::int64_t, Run>;

/// What is wrong with a table when all is done; everything but `rows` and `extra_runs` should be zero.
struct Verdict {
    std::int64_t rows = 0;
    std::int64_t missing = 0;        ///< enqueued, and not there any more (or there without being enqueued)
    std::int64_t lost = 0;           ///< not done
    std::int64_t settled_twice = 0;  ///< rows that were finished more than once
    std::int64_t settled_stale = 0;  ///< settles by a run that was not the row's latest attempt
    std::int64_t settled_early = 0;  ///< settles by a run that had not ended
    std::int64_t twins = 0;          ///< runs of a row beside the one that had the same attempt
    std::int64_t effects_wrong = 0;  ///< rows whose effects and status disagree
    std::int64_t extra_runs = 0;     ///< the price of "at least once"
    std::int64_t told = 0;           ///< runs that were told that their row was lost
};

/// A trigger, and not the library, writes down each settle: which run it names, and which attempt the row was
/// at. `{s}` in SQL is where the table's schema goes.
class Bed {
public:
    using Cells = std::vector<std::vector<std::string>>;

    virtual ~Bed() = default;
    /// Any statement, over a connection of the test's own.
    virtual Cells query(std::string const& sql) = 0;
    [[nodiscard]] virtual char const* store() const = 0;
    /// What the workers are told of the table.
    [[nodiscard]] virtual std::vector<std::string> worker_options() const = 0;
    /// Of a row: that somebody has it.
    [[nodiscard]] virtual std::string held() const { return "status = 'processing'"; }
    /// The log of runs: a file, unless the bed has better.
    virtual Runs runs() { return read_runs(scratch_.path() / "runs"); }

    std::int64_t number(std::string const& sql) {
        auto const cells = query(sql);
        if (cells.empty() || cells[0].empty()) throw std::runtime_error{"no answer: " + sql};
        return std::stoll(cells[0][0]);
    }
    void enqueue(std::int64_t rows) {
        query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
              std::to_string(rows) + ") INSERT INTO {s}jobs (payload) SELECT 'job' FROM n");
        enqueued_ += rows;
    }
    std::int64_t done() { return number("SELECT count(*) FROM {s}jobs WHERE status = 'done'"); }
    std::int64_t open() {
        return number("SELECT count(*) FROM {s}jobs WHERE status IN ('pending', 'processing')");
    }
    std::int64_t dead() { return number("SELECT count(*) FROM {s}jobs WHERE status = 'dead'"); }
    /// Rows that are some process's just now (leased only), but for each `except`-th.
    std::vector<std::string> in_hand(int except) {
        std::vector<std::string> keys;
        for (auto const& row : query("SELECT id FROM {s}jobs WHERE " + held() + " AND id % " +
                                     std::to_string(except) + " <> 0"))
            keys.push_back(row[0]);
        return keys;
    }
    [[nodiscard]] std::filesystem::path const& directory() const { return scratch_.path(); }
    [[nodiscard]] std::int64_t enqueued() const { return enqueued_; }

    Verdict judge(Strategy strategy) {
        Verdict v;
        auto const all = runs();
        v.rows = enqueued_;
        v.missing = enqueued_ - number("SELECT count(*) FROM {s}jobs");
        v.lost = enqueued_ - done();
        std::map<std::string, int> finished;
        for (auto const& s : query("SELECT key, run, attempt, status FROM {s}settles")) {
            if (s[3] == "done" || s[3] == "dead") v.settled_twice += ++finished[s[0]] == 2;
            if (s[1].empty()) continue;  // no handler saw the row
            auto const run = all.find(std::stoll(s[1]));
            if (run == all.end() || std::to_string(run->second.key) != s[0] ||
                std::to_string(run->second.attempt) != s[2])
                ++v.settled_stale;
            else if (!run->second.ended)
                ++v.settled_early;
        }
        std::set<std::pair<std::int64_t, std::uint32_t>> attempts;
        std::set<std::int64_t> keys;
        for (auto const& [run, r] : all) {
            keys.insert(r.key);
            // In a transaction an attempt that was undone has never been.
            if (!attempts.emplace(r.key, r.attempt).second && strategy == Strategy::leased) ++v.twins;
            v.told += r.told;
        }
        v.extra_runs = static_cast<std::int64_t>(all.size() - keys.size());
        if (strategy == Strategy::in_transaction)
            v.effects_wrong = number(
                "SELECT count(*) FROM (SELECT id FROM {s}jobs j WHERE "
                "(SELECT count(*) FROM {s}effects e WHERE e.key = j.id) <> (CASE WHEN status = 'done' THEN 1 "
                "ELSE 0 "
                "END) OR (status = 'done' AND NOT EXISTS "
                "(SELECT 1 FROM {s}effects e WHERE e.key = j.id AND e.run = j.run))) AS disagreeing");
        return v;
    }

protected:
    static Runs read_runs(std::filesystem::path const& file) {
        Runs all;
        std::ifstream in{file};
        for (std::string line; std::getline(in, line);) {
            std::istringstream words{line};
            char what = 0;
            std::int64_t run = 0;
            words >> what >> run;
            auto& r = all[run];
            if (what == 'B')
                words >> r.key >> r.attempt >> r.pid;
            else
                r.ended = true, words >> r.told;
            if (!words) throw std::runtime_error{"a torn line in the log of runs: " + line};
        }
        return all;
    }

    /// `bigint` and friends are words that both databases take.
    static std::string ddl(std::string const& key, std::string const& time, std::string const& now) {
        return "CREATE TABLE {s}jobs (id " + key +
               ", payload text NOT NULL, run bigint, status text NOT NULL DEFAULT 'pending', lease_until " +
               time +
               ", fence bigint NOT NULL DEFAULT 0, failures integer NOT NULL DEFAULT 0, "
               "crashes integer NOT NULL DEFAULT 0, due_at " +
               time + " NOT NULL DEFAULT " + now +
               ", last_error text);"
               "CREATE INDEX next_jobs ON {s}jobs (due_at, id) WHERE status = 'pending';"
               "CREATE INDEX stale_jobs ON {s}jobs (lease_until) WHERE status = 'processing';" +
               logs();
    }
    static std::string logs() {
        return "CREATE TABLE {s}settles (key bigint, run bigint, attempt integer, fence bigint, status text);"
               "CREATE TABLE {s}effects (key bigint, run bigint);";
    }

private:
    Scratch scratch_;
    std::int64_t enqueued_ = 0;
};

}  // namespace fila_chaos
