// SPDX-License-Identifier: MIT
// SQLite:  bench_sqlite do=WHAT file=PATH [synchronous=normal|full] [batch=N] [rows=N] …
//
//   do=drain rows=N processes=N   a new file with N rows, drained by the library, a store a process; also tells the
//                                 longest claim of any, and the least share of any
//   do=loop rows=N                the same rows and the statements that the store sends, in a bare loop
//   do=fused rows=N               the same, settling a batch and claiming the next one in one transaction
//   do=enqueue rows=N             enqueues by the library into a new file
//   do=insert rows=N              the statement that the store sends, in a bare loop, a thousand a transaction
#include "bench/bench_options.hpp"
#include "bench/bench_processes.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/processor/processor.hpp>
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <ranges>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace fila_bench;

namespace {

constexpr auto jobs = fila::job_table<std::string>("jobs");
using Row = fila::Job<std::string>;
using Store = fila::sqlite::SqliteStore<decltype(jobs)>;

/// A store that remembers its longest claim.
class Timed : public Store {
public:
    using Store::Store;
    auto claim(auto const& request, auto& out) {
        auto const start = Steady::now();
        auto result = Store::claim(request, out);
        longest = std::max(longest, seconds_since(start));
        return result;
    }
    double longest = 0;
};

fila::sqlite::Config config(Options const& o) {
    auto const full = o.text("synchronous", "normal") == "full";
    return {.file = o.text("file"),
            .synchronous = full ? fila::sqlite::Synchronous::full : fila::sqlite::Synchronous::normal};
}
auto rows(std::size_t n) {
    std::string text = R"({"to": "user@example.com", "subject": "welcome"})";
    text.resize(120, ' ');
    return std::views::iota(std::size_t{0}, n) |
           std::views::transform([text](std::size_t) { return Row{0, text}; });
}
void make_file(Options const& o, std::size_t n) {
    for (auto const* suffix : {"", "-wal", "-shm"}) std::remove((o.text("file") + suffix).c_str());
    Store store{config(o), jobs, fila::OnStart::migrate};
    store.enqueue(rows(n));
    // The last connection to close moves the log into the file: runs begin without one.
}

// ---- by the library -----------------------------------------------------------------------------

void drain(Options const& o) {
    auto const n = count(o, "rows", 100'000), processes = count(o, "processes", 1);
    make_file(o, n);
    fila::Pace const pace{.batch = count(o, "batch", 0)};
    auto const [results, seconds] = in_processes(processes, [&](auto const& wait_for_start) {
        Timed store{config(o), jobs, fila::OnStart::nothing};
        fila::Processor p{store, fila::InlineExecutor{}, [](Row&) {}, pace};
        wait_for_start();
        auto const report = p.drain();
        return ProcessResult{report.completed, store.longest};
    });
    std::size_t done = 0, least = n;
    double longest = 0;
    for (auto const& r : results) {
        done += r.items;
        least = std::min(least, r.items);
        longest = std::max(longest, r.longest);
    }
    if (done != n) throw std::runtime_error{std::to_string(done) + " of " + std::to_string(n)};
    std::cout << "{\"items\": " << n << ", \"seconds\": " << seconds
              << ", \"rate\": " << static_cast<double>(n) / seconds << ", \"longest_ms\": " << longest * 1e3
              << ", \"least_share\": " << static_cast<double>(least) / static_cast<double>(n) << "}\n";
}
void enqueue(Options const& o) {
    make_file(o, 0);
    Store store{config(o), jobs, fila::OnStart::nothing};
    auto const n = count(o, "rows", 100'000);
    auto const start = Steady::now();
    store.enqueue(rows(n));
    print_rate(n, seconds_since(start));
}

// ---- what one would write with the same statements ----------------------------------------------

class Bare {
public:
    explicit Bare(Options const& o) {
        check(sqlite3_open_v2(o.text("file").c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                              nullptr));
        execute("PRAGMA journal_mode = WAL");
        execute(("PRAGMA synchronous = " + o.text("synchronous", "normal")).c_str());
        fila::render(jobs, fila::sqlite::sqlite_dialect())
            .each([&](std::string_view name, fila::Statement const& s) {
                if (name == "claim") prepare(s, claim_);
                if (name == "claim_after") prepare(s, claim_after_);
                if (name == "erase") prepare(s, erase_);
                if (name == "enqueue") prepare(s, enqueue_);
            });
        begin_.statement = prepare("BEGIN IMMEDIATE");
        commit_.statement = prepare("COMMIT");
    }
    Bare(Bare const&) = delete;
    Bare& operator=(Bare const&) = delete;
    ~Bare() {
        for (auto* s : {&claim_, &claim_after_, &erase_, &enqueue_, &begin_, &commit_})
            sqlite3_finalize(s->statement);
        sqlite3_close(db_);
    }

    std::size_t drain(std::size_t batch, bool fused) {
        std::size_t done = 0;
        for (;;) {
            if (fused) {
                step(begin_);
                settle();
                claim(batch);
                step(commit_);
            } else {
                claim(batch);
            }
            if (hand_.empty()) return done;
            done += hand_.size();
            if (!fused) {
                bool const many = hand_.size() > 1;
                if (many) step(begin_);
                settle();
                if (many) step(commit_);
            }
        }
    }
    void insert(std::size_t n, std::string const& text) {
        for (std::size_t i = 0; i < n;) {
            step(begin_);
            for (auto const end = std::min(n, i + 1000); i < end; ++i) {
                bind(enqueue_, "now", micros());
                bind(enqueue_, "priority", 0);
                check(sqlite3_bind_text(enqueue_.statement, enqueue_.place("c0"), text.data(),
                                        static_cast<int>(text.size()), SQLITE_STATIC));
                step(enqueue_);
            }
            step(commit_);
        }
    }

private:
    struct Prepared {
        sqlite3_stmt* statement = nullptr;
        std::vector<std::string> parameters;
        /// 0, which nothing is bound to, if the statement has no such parameter.
        [[nodiscard]] int place(std::string_view name) const {
            auto const at = std::find(parameters.begin(), parameters.end(), name);
            return at == parameters.end() ? 0 : static_cast<int>(at - parameters.begin()) + 1;
        }
    };
    struct InHand {
        std::int64_t key, fence;
    };

    static std::int64_t micros() {
        auto const since = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
    }
    void check(int code) const {
        if (code != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db_)};
    }
    void execute(char const* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
    sqlite3_stmt* prepare(std::string const& sql) {
        sqlite3_stmt* s = nullptr;
        check(sqlite3_prepare_v3(db_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &s, nullptr));
        return s;
    }
    void prepare(fila::Statement const& s, Prepared& into) { into = {prepare(s.text), s.parameters}; }
    void bind(Prepared const& p, std::string_view name, std::int64_t value) const {
        if (int const place = p.place(name); place != 0) check(sqlite3_bind_int64(p.statement, place, value));
    }
    void step(Prepared const& p) const {
        int const code = sqlite3_step(p.statement);
        if (code != SQLITE_DONE && code != SQLITE_ROW) throw std::runtime_error{sqlite3_errmsg(db_)};
        sqlite3_reset(p.statement);
    }
    /// Goes on behind what was claimed before, as a pass over the table does.
    void claim(std::size_t batch) {
        auto const& p = begun_ ? claim_after_ : claim_;
        auto const now = micros();
        if (!begun_) start_ = now;
        bind(p, "now", now);
        bind(p, "start", start_);
        bind(p, "n", static_cast<std::int64_t>(batch));
        bind(p, "lease", 300'000'000);
        bind(p, "after_priority", at_[0]);
        bind(p, "after_due", at_[1]);
        bind(p, "after_key", at_[2]);
        owner(p);
        hand_.clear();
        int code;
        while ((code = sqlite3_step(p.statement)) == SQLITE_ROW) {
            auto* const s = p.statement;
            hand_.push_back({sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)});
            at_ = std::max(
                at_, {sqlite3_column_int64(s, 5), sqlite3_column_int64(s, 6), sqlite3_column_int64(s, 7)});
            payload_.assign(reinterpret_cast<char const*>(sqlite3_column_text(s, 8)),
                            static_cast<std::size_t>(sqlite3_column_bytes(s, 8)));
        }
        if (code != SQLITE_DONE) throw std::runtime_error{sqlite3_errmsg(db_)};
        sqlite3_reset(p.statement);
        begun_ = true;
    }
    void settle() {
        owner(erase_);
        std::int64_t i = 0;
        for (auto const& row : hand_) {
            bind(erase_, "k", row.key);
            bind(erase_, "fence", row.fence);
            bind(erase_, "i", ++i);
            step(erase_);
        }
    }
    void owner(Prepared const& p) const {
        if (int const place = p.place("owner"); place != 0)
            check(sqlite3_bind_text(p.statement, place, "bare", 4, SQLITE_STATIC));
    }

    sqlite3* db_ = nullptr;
    Prepared claim_, claim_after_, erase_, enqueue_, begin_, commit_;
    std::vector<InHand> hand_;
    std::array<std::int64_t, 3> at_{};
    std::int64_t start_ = 0;
    bool begun_ = false;
    std::string payload_;
};

void bare_drain(Options const& o, bool fused) {
    auto const n = count(o, "rows", 100'000);
    make_file(o, n);
    Bare bare{o};
    auto const start = Steady::now();
    auto const done = bare.drain(count(o, "batch", 100), fused);
    auto const seconds = seconds_since(start);
    if (done != n) throw std::runtime_error{std::to_string(done) + " of " + std::to_string(n)};
    print_rate(n, seconds);
}
void bare_insert(Options const& o) {
    make_file(o, 0);
    Bare bare{o};
    auto const n = count(o, "rows", 100'000);
    auto const text = (*rows(1).begin()).payload;
    auto const start = Steady::now();
    bare.insert(n, text);
    print_rate(n, seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        auto const what = o.text("do");
        if (what == "drain") return drain(o);
        if (what == "loop" || what == "fused") return bare_drain(o, what == "fused");
        if (what == "enqueue") return enqueue(o);
        if (what == "insert") return bare_insert(o);
        throw std::invalid_argument{"do=" + what};
    });
}
