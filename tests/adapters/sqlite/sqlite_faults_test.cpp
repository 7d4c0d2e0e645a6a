// SPDX-License-Identifier: MIT
// Transactions, other processes, and what goes wrong with files.
#include "adapters/sqlite/sqlite_file.hpp"
#include "adapters/sqlite/sqlite_verbs.hpp"
#include "support/catch.hpp"
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using fila::Ack;
using fila::sqlite::Config;
using fila::sqlite::SqliteStore;

namespace {

using Job = fila::Job<std::string>;
constexpr auto jobs = fila::job_table<std::string>("fila_jobs");
using Store = SqliteStore<std::remove_const_t<decltype(jobs)>>;
using Batch = fila::batch_t<Store>;

Store open(std::string const& path, std::chrono::milliseconds busy = 5s) {
    return Store{Config{.file = path, .busy_timeout = busy}, jobs, fila::OnStart::migrate};
}
std::vector<Job> rows(std::size_t n, std::string const& payload = "x") {
    return std::vector<Job>(n, Job{0, payload});
}

/// Runs in a child that is not root, who may write anything; true if it says so.
bool as_nobody(std::function<bool()> const& f) {
    pid_t const child = ::fork();
    if (child == 0) {
        bool ok = false;
        try {
            if (::geteuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0)) ok = f();
        } catch (...) {}
        ::_exit(ok ? 0 : 1);
    }
    int status = -1;
    return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
std::string refusal(Config const& config) {
    try {
        Store{config, jobs, fila::OnStart::migrate};
    } catch (fila::ConfigError const& e) {
        return e.what();
    }
    return "(no ConfigError)";
}

}  // namespace

// ---- transactions -------------------------------------------------------------------------------

TEST_CASE("sqlite transaction: the status and the handler's writes are committed together, or not at all") {
    SqliteFile file;
    auto store = open(file.path());
    PlainConnection plain{file.path()};
    plain.exec("CREATE TABLE ledger (job INTEGER)");
    store.enqueue(rows(1));
    for (bool const commits : {false, true}) {
        auto transaction = store.begin();
        REQUIRE(transaction);
        CHECK_FALSE(store.begin());  // the one writer is out
        Batch batch;
        (void)transaction->claim({10, {}, {}}, batch);
        REQUIRE(batch.tickets().size() == 1);
        CHECK(plain.text("SELECT status FROM fila_jobs") == "pending");
        fila::sqlite::detail::execute(transaction->handle(), "INSERT INTO ledger VALUES (1)", "test");
        CHECK(settle(*transaction, batch.tickets()[0], fila::complete()) == Ack::applied);
        CHECK(plain.number("SELECT count(*) FROM ledger") == 0);
        if (commits) transaction->commit();
    }
    CHECK(plain.number("SELECT count(*) FROM ledger") == 1);
    CHECK(plain.number("SELECT count(*) FROM fila_jobs") == 0);
}

TEST_CASE("case 59: a failed attempt undoes its writes, keeps its row and is counted") {
    SqliteFile file;
    auto store = open(file.path());
    PlainConnection plain{file.path()};
    plain.exec("CREATE TABLE ledger (job INTEGER)");
    store.enqueue(rows(1));
    auto transaction = store.begin();
    Batch batch;
    (void)transaction->claim({1, {}, {}}, batch);
    for (int attempt = 0; attempt < 3; ++attempt) {  // one savepoint, moved (case 90)
        transaction->mark();
        fila::sqlite::detail::execute(transaction->handle(), "INSERT INTO ledger VALUES (1)", "test");
        transaction->back();
    }
    CHECK(settle(*transaction, batch.tickets()[0], fila::retry(1h, "no luck")) == Ack::applied);
    transaction->commit();
    CHECK(plain.number("SELECT count(*) FROM ledger") == 0);
    CHECK(plain.text("SELECT failures || ' ' || last_error || ' ' || status FROM fila_jobs") ==
          "1 no luck pending");
}

TEST_CASE("case 60: a handler that ends the transaction is found out, whatever it begins afterwards") {
    SqliteFile file;
    auto store = open(file.path());
    store.enqueue(rows(1));
    for (auto const* sql :
         {"COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN IMMEDIATE", "END; SAVEPOINT s"}) {
        INFO(sql);
        auto transaction = store.begin();
        REQUIRE(transaction);
        Batch batch;
        (void)transaction->claim({1, {}, {}}, batch);
        REQUIRE(batch.tickets().size() == 1);
        fila::sqlite::detail::execute(transaction->handle(), sql, "test");
        CHECK(settle(*transaction, batch.tickets()[0], fila::complete()) == Ack::lost);
        CHECK_THROWS_AS(transaction->commit(), fila::Error);
    }
    // Savepoints of the handler's own do no harm.
    auto transaction = store.begin();
    Batch batch;
    (void)transaction->claim({1, {}, {}}, batch);
    fila::sqlite::detail::execute(transaction->handle(), "SAVEPOINT mine; ROLLBACK TO mine; RELEASE mine",
                                  "test");
    CHECK(settle(*transaction, batch.tickets()[0], fila::complete()) == Ack::applied);
    transaction->commit();
    CHECK(store.counts(10).open() == 0);
}

TEST_CASE("case 10: a second claim in one transaction goes on behind the first") {
    SqliteFile file;
    auto store = open(file.path());
    store.enqueue(rows(25));
    auto transaction = store.begin();
    Batch batch;
    fila::ClaimResult<Store::cursor_type> at;
    for (int budget = 0; budget < 5 && at.supply == fila::Supply::more; ++budget)
        at = transaction->claim({10, at.cursor, {}}, batch);
    CHECK(at.supply == fila::Supply::dry);
    REQUIRE(batch.tickets().size() == 25);
    for (std::size_t i = 1; i < 25; ++i) CHECK(batch.tickets()[i - 1].key < batch.tickets()[i].key);
}

TEST_CASE("case 86: a transaction may be dropped at any time, by an exception and after its store") {
    SqliteFile file;
    std::optional<Store> store{open(file.path())};
    store->enqueue(rows(1));
    std::optional<Store::transaction_type> kept;
    try {
        auto transaction = store->begin();
        Batch batch;
        (void)transaction->claim({1, {}, {}}, batch);
        (void)settle(*transaction, batch.tickets()[0], fila::complete());
        throw std::runtime_error("in flight");
    } catch (std::runtime_error const&) {}
    kept = store->begin();
    REQUIRE(kept);
    store.reset();
    Batch batch;
    (void)kept->claim({1, {}, {}}, batch);
    CHECK(batch.tickets().size() == 1);
    CHECK(settle(*kept, batch.tickets()[0], fila::complete()) == Ack::applied);
    kept->commit();
    kept.reset();
    CHECK(PlainConnection{file.path()}.number("SELECT count(*) FROM fila_jobs") == 0);
}

TEST_CASE("sqlite transaction: a verb that meets it waits for its patience and says what to do") {
    SqliteFile file;
    auto store = open(file.path(), 20ms);
    auto transaction = store.begin();
    REQUIRE(transaction);
    try {
        store.enqueue(rows(1));
        FAIL("the one connection is out");
    } catch (fila::Error const& e) {
        CHECK(e.retryable());
        CHECK(std::string{e.what()}.find("own handle") != std::string::npos);
    }
    CHECK(store.enqueue(transaction->handle(), rows(2)) == 2);
    transaction->commit();
    transaction.reset();
    CHECK(store.counts(10).pending == 2);
}

// ---- many threads, many stores ------------------------------------------------------------------

TEST_CASE("case 4: two stores with two threads each claim every row once") {
    SqliteFile file;
    constexpr std::size_t all = 20'000;
    auto first = open(file.path(), 30s), second = open(file.path(), 30s);
    CHECK(first.enqueue(rows(all)) == all);
    std::vector<std::atomic<int>> met(all + 1);
    std::atomic<std::size_t> settled{0}, errors{0};
    auto const work = [&](Store& store) {
        for (std::size_t budget = 0; budget < all; ++budget) {
            try {
                auto const batch = claim(store, 250);
                if (batch.empty()) return;
                std::vector<fila::settlement_t<Store>> done;
                for (auto const& ticket : batch.tickets()) {
                    ++met[static_cast<std::size_t>(ticket.key)];
                    done.push_back({ticket, fila::complete(), nullptr});
                }
                std::vector<Ack> acks(done.size(), Ack::lost);
                store.settle(done, acks);
                settled += static_cast<std::size_t>(std::count(acks.begin(), acks.end(), Ack::applied));
            } catch (std::exception const&) {
                ++errors;
                return;
            }
        }
    };
    std::vector<std::thread> threads;
    for (auto* store : {&first, &first, &second, &second}) threads.emplace_back(work, std::ref(*store));
    for (auto& thread : threads) thread.join();
    CHECK(errors == 0);
    CHECK(settled == all);
    CHECK(std::count_if(met.begin() + 1, met.end(), [](auto const& n) { return n == 1; }) ==
          static_cast<std::ptrdiff_t>(all));
    CHECK(first.counts(10).open() == 0);
}

TEST_CASE("case 103: claims, settles and extends of one store go on in three threads at once") {
    SqliteFile file;
    auto store = open(file.path(), 30s);
    store.enqueue(rows(3000));
    std::atomic<bool> done{false};
    std::atomic<int> errors{0};
    std::mutex mutex;
    std::vector<fila::ticket_t<Store>> in_hand;
    auto const guarded = [&](auto f) {
        try {
            f();
        } catch (std::exception const&) {
            ++errors;
            done = true;
        }
    };
    std::thread keeper{[&] {
        guarded([&] {
            while (!done) {
                std::vector<fila::ticket_t<Store>> copy;
                {
                    std::lock_guard lock{mutex};
                    copy = in_hand;
                }
                std::vector<Ack> acks(copy.size(), Ack::lost);
                store.extend(copy, 1min, acks);
                (void)store.rescue({});
                std::this_thread::yield();
            }
        });
    }};
    std::thread claimer{[&] {
        guarded([&] {
            for (int budget = 0; budget < 3000 && !done; ++budget) {
                auto const batch = claim(store, 20);
                if (batch.empty()) return;
                std::lock_guard lock{mutex};
                in_hand.insert(in_hand.end(), batch.tickets().begin(), batch.tickets().end());
            }
        });
    }};
    std::size_t settled = 0;
    guarded([&] {
        for (long budget = 0; budget < 10'000'000 && settled < 3000 && !done; ++budget) {
            std::vector<fila::settlement_t<Store>> finished;
            {
                std::lock_guard lock{mutex};
                for (auto const& ticket : in_hand) finished.push_back({ticket, fila::complete(), nullptr});
                in_hand.clear();
            }
            if (finished.empty()) {
                std::this_thread::yield();
                continue;
            }
            std::vector<Ack> acks(finished.size(), Ack::lost);
            store.settle(finished, acks);
            settled += static_cast<std::size_t>(std::count(acks.begin(), acks.end(), Ack::applied));
        }
    });
    done = true;
    claimer.join();
    keeper.join();
    CHECK(errors == 0);
    CHECK(settled == 3000);
    CHECK(store.counts(10).open() == 0);
}

TEST_CASE("sqlite: several processes may migrate at once") {
    SqliteFile file;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            int code = 1;
            try {
                auto store = open(file.path(), 30s);
                store.migrate();
                store.enqueue(rows(10));
                code = 0;
            } catch (...) {}
            ::_exit(code);
        }
        children.push_back(child);
    }
    for (pid_t const child : children) {
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    CHECK(open(file.path()).counts(100).pending == 40);
}

TEST_CASE("case 85: a store is refused to the child of a fork, and the parent's file stays whole") {
    SqliteFile file;
    auto store = std::make_unique<Store>(open(file.path()));
    store->enqueue(rows(100));
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int code = 1;
        try {
            (void)claim(*store);
        } catch (fila::Error const& e) {
            code = std::string{e.what()}.find("fork") != std::string::npos ? 0 : 2;
        } catch (...) {}
        store.reset();
        ::_exit(code);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
    auto const batch = claim(*store);
    CHECK(batch.size() == 100);
    for (auto const& ticket : batch.tickets())
        CHECK(settle(*store, ticket, fila::complete()) == Ack::applied);
    CHECK(PlainConnection{file.path()}.text("PRAGMA integrity_check") == "ok");
}

// ---- locks and logs -----------------------------------------------------------------------------

TEST_CASE(
    "case 94: a store that reads and then writes while others commit is never told 'database is locked'") {
    SqliteFile file;
    auto store = open(file.path(), 30s);
    store.enqueue(rows(300));
    std::atomic<bool> done{false};
    std::thread other{[&] {
        PlainConnection plain{file.path()};
        while (!done)
            plain.exec(
                "UPDATE fila_jobs SET payload = payload || 'y' WHERE id = 1; DELETE FROM fila_jobs WHERE id "
                "< 0");
    }};
    int errors = 0;
    try {
        for (int i = 0; i < 100; ++i) {
            CHECK(store.counts(1000).pending > 0);
            auto transaction = store.begin();
            Batch batch;
            (void)transaction->claim({2, {}, {}}, batch);
            for (auto const& ticket : batch.tickets()) (void)settle(*transaction, ticket, fila::complete());
            transaction->commit();
            transaction.reset();
            (void)claim(store, 1);
        }
    } catch (fila::Error const& e) {
        ++errors;
        UNSCOPED_INFO(e.what());
    }
    done = true;
    other.join();
    CHECK(errors == 0);
    CHECK(store.counts(1000).open() == 100);
}

TEST_CASE("sqlite: a lock held for longer than busy_timeout is a retryable error that says so") {
    SqliteFile file;
    auto store = open(file.path(), 20ms);
    PlainConnection other{file.path()};
    other.exec("BEGIN IMMEDIATE");
    try {
        store.enqueue(rows(1));
        FAIL("the lock is held");
    } catch (fila::Error const& e) {
        CHECK(e.retryable());
        CHECK_FALSE(e.maybe_applied());
        CHECK(e.code() == "5");
        CHECK(std::string{e.what()}.find("busy_timeout") != std::string::npos);
    }
    CHECK_THROWS_AS(store.begin(), fila::Error);
    other.exec("ROLLBACK");
    CHECK(store.enqueue(rows(1)) == 1);
}

TEST_CASE("case 96: the log stays small while rows flow, also behind a slow handler") {
    SqliteFile file;
    auto store = open(file.path());
    std::string const payload(2000, 'p');
    std::uintmax_t most = 0;
    auto const log_size = [&] { return std::filesystem::file_size(file.path() + "-wal"); };
    for (int round = 0; round < 100; ++round) {
        store.enqueue(rows(200, payload));
        auto const batch = claim(store, 200);  // in hand over the next rounds: nothing of it pins the log
        std::vector<fila::settlement_t<Store>> done;
        for (auto const& ticket : batch.tickets()) done.push_back({ticket, fila::complete(), nullptr});
        std::vector<Ack> acks(done.size());
        store.settle(done, acks);
        most = std::max(most, log_size());
    }
    CHECK(most <= 32u << 20);
    store.enqueue(rows(1));
    CHECK(log_size() <= 8u << 20);
}

TEST_CASE("case 97: rows in hand pin no snapshot: others write, and so do we") {
    SqliteFile file;
    auto store = open(file.path());
    PlainConnection other{file.path()};
    store.enqueue(rows(50));
    fila::ClaimResult<Store::cursor_type> at;
    int met = 0;
    for (int budget = 0; budget < 100 && at.supply == fila::Supply::more; ++budget) {
        Batch batch;
        at = store.claim({1, at.cursor, 1min}, batch);
        other.exec("UPDATE fila_jobs SET payload = 'z' WHERE id = 50");
        for (auto const& ticket : batch.tickets())
            met += settle(store, ticket, fila::complete()) == Ack::applied;
    }
    CHECK(met == 50);
    CHECK(other.text("PRAGMA wal_checkpoint(TRUNCATE)") == "0");  // nobody is in the way
}

TEST_CASE("case 98: a memory database works, with many threads on its one connection") {
    auto store = open(":memory:", 30s);
    store.enqueue(rows(1000));
    std::atomic<std::size_t> settled{0};
    std::atomic<int> errors{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            try {
                for (int budget = 0; budget < 1000; ++budget) {
                    auto const batch = claim(store, 10);
                    if (batch.empty()) return;
                    for (auto const& ticket : batch.tickets())
                        if (settle(store, ticket, fila::complete()) == Ack::applied) ++settled;
                }
            } catch (std::exception const&) {
                ++errors;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(errors == 0);
    CHECK(settled == 1000);
}

TEST_CASE("case 100: a late settle never hits another row under the same id") {
    SqliteFile file;
    auto store = open(file.path());
    PlainConnection plain{file.path()};
    store.enqueue(rows(1));
    auto const ticket = claim(store).tickets()[0];
    plain.exec("DELETE FROM fila_jobs");
    store.enqueue(rows(1));
    CHECK(plain.number("SELECT id FROM fila_jobs") == ticket.key + 1);  // AUTOINCREMENT: not given again

    // Where the table gives it again, the fence tells the rows apart.
    plain.exec("UPDATE fila_jobs SET id = 1");
    CHECK(settle(store, ticket, fila::complete()) == Ack::lost);
    CHECK(claim(store).size() == 1);
    auto ours = ticket;
    ours.fence = 2;
    CHECK(settle(store, ours, fila::complete()) == Ack::lost);
}

TEST_CASE("case 14: a store opened again is another owner, and the ghost of the first is found out") {
    SqliteFile file;
    std::optional<Store> first{open(file.path())};
    auto second = open(file.path());
    first->enqueue(rows(1));
    auto const ticket = claim(*first).tickets()[0];
    CHECK(extend(second, ticket) == Ack::lost);  // the same fence, another owner
    CHECK(settle(second, ticket, fila::complete()) == Ack::lost);
    PlainConnection{file.path()}.exec("UPDATE fila_jobs SET lease_until = 1");
    CHECK(second.rescue({}).requeued == 1);
    auto const anew = claim(second).tickets()[0];
    CHECK(anew.fence == ticket.fence + 1);
    CHECK(settle(*first, ticket, fila::complete()) == Ack::lost);
    CHECK(settle(second, anew, fila::complete()) == Ack::applied);
}

// ---- files --------------------------------------------------------------------------------------

TEST_CASE("case 101: a full disk is a retryable error, and all goes on when there is room") {
    SqliteFile file;
    auto store = open(file.path());
    store.enqueue(rows(10, std::string(2000, 'p')));
    auto const batch = claim(store);
    {
        auto transaction = store.begin();
        auto const pages = PlainConnection{file.path()}.number("PRAGMA page_count");
        fila::sqlite::detail::execute(transaction->handle(),
                                      ("PRAGMA max_page_count = " + std::to_string(pages)).c_str(), "test");
    }
    int refused = 0;
    for (int i = 0; i < 3; ++i) {
        try {
            store.enqueue(rows(100, std::string(2000, 'p')));
        } catch (fila::Error const& e) {
            CHECK(e.retryable());
            CHECK(e.code() == "13");
            ++refused;
        }
    }
    CHECK(refused == 3);
    CHECK(store.counts(1000).pending == 0);  // each chunk is in, or not
    for (auto const& ticket : batch.tickets()) CHECK(settle(store, ticket, fila::complete()) == Ack::applied);
    {
        auto transaction = store.begin();
        fila::sqlite::detail::execute(transaction->handle(), "PRAGMA max_page_count = 1000000", "test");
    }
    CHECK(store.enqueue(rows(100, std::string(2000, 'p'))) == 100);
}

TEST_CASE("case 101: a file that cannot be written is refused at the start, in one clear message") {
    SqliteFile file;
    { auto store = open(file.path()); }
    ::chmod(file.path().c_str(), 0444);
    ::chmod(file.directory().c_str(), 0555);
    CHECK(as_nobody(
        [&] { return refusal(Config{file.path()}).find("must be writable") != std::string::npos; }));
    ::chmod(file.directory().c_str(), 0755);

    CHECK(refusal(Config{file.path() + "/no/such/directory.db"}).find("does the directory exist") !=
          std::string::npos);
    CHECK(refusal(Config{file.directory().string()}).find("cannot open") != std::string::npos);
    std::ofstream{file.directory() / "letter.txt"} << std::string(4096, 'a');
    CHECK(refusal(Config{(file.directory() / "letter.txt").string()}).find("not a database") !=
          std::string::npos);
}

TEST_CASE("sqlite: nothing is written into a file that was moved, and the one that comes back is opened") {
    SqliteFile file;
    auto const away = file.directory() / "away.db";
    auto store = open(file.path());
    store.enqueue(rows(3));
    auto const ticket = claim(store, 1).tickets()[0];
    auto transaction = store.begin();

    std::filesystem::rename(file.path(), away);
    auto const code_of = [](auto verb) {
        try {
            (void)verb();
        } catch (fila::Error const& e) {
            CHECK(e.retryable() == (e.code() != std::to_string(SQLITE_CANTOPEN)));
            return e.code();
        }
        return std::string{"none"};
    };
    auto const moved = std::to_string(SQLITE_READONLY_DBMOVED);
    CHECK(code_of([&] { return transaction->commit(), 0; }) == moved);
    transaction.reset();
    CHECK(code_of([&] { return settle(store, ticket, fila::complete()); }) ==
          std::to_string(SQLITE_CANTOPEN));
    CHECK_FALSE(std::filesystem::exists(file.path()));
    std::filesystem::rename(away, file.path());
    CHECK(settle(store, ticket, fila::complete()) == Ack::applied);
    CHECK(store.counts(10).pending == 2);

    {
        SqliteFile other;
        open(other.path()).enqueue(rows(5));
        std::filesystem::rename(file.path(), away);
        std::filesystem::remove(file.path() + "-wal"), std::filesystem::remove(file.path() + "-shm");
        std::filesystem::rename(other.path(), file.path());
    }
    CHECK(code_of([&] { return store.enqueue(rows(1)); }) == moved);
    CHECK(claim(store).size() == 5);
}

TEST_CASE("case 120: configuration nonsense is refused at construction, all of it at once, by name") {
    auto const what = refusal(Config{.file = "", .busy_timeout = -1ms});
    CHECK(what.find("file is empty") != std::string::npos);
    CHECK(what.find("busy_timeout is negative") != std::string::npos);
    CHECK(refusal(Config{.file = ":memory:", .busy_timeout = std::chrono::milliseconds::max()})
              .find("busy_timeout") != std::string::npos);
}

TEST_CASE(
    "sqlite: a table that the claim would read or sort as a whole is reported with the index that helps") {
    SqliteFile file;
    PlainConnection plain{file.path()};
    struct Row {
        std::int64_t id = 0;
    };
    constexpr auto mapping = fila::table<Row>("t")
                                 .key("id", &Row::id)
                                 .status("status")
                                 .lease_until("lease")
                                 .fence("fence")
                                 .due_at("due");
    plain.exec(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('pending', "
        "'processing', 'completed', 'dead')), lease INT, fence INT, due INT NOT NULL)");
    plain.exec("CREATE TRIGGER audit AFTER UPDATE OF status ON t BEGIN SELECT 1; END");
    plain.exec("CREATE TRIGGER other AFTER INSERT ON t BEGIN UPDATE t SET due = 0 WHERE id = new.id; END");
    SqliteStore store{Config{file.path()}, mapping};
    auto const found = store.verify();
    REQUIRE(found.size() == 4);
    CHECK(found[0].what.find("may refuse the word 'discarded'") != std::string::npos);
    CHECK(found[1].what.find("trigger \"audit\"") != std::string::npos);
    CHECK(found[2].what.find("claim") != std::string::npos);
    CHECK(found[3].what.find("rescue") != std::string::npos);
    plain.exec(found[2].mend);
    plain.exec(found[3].mend);
    CHECK(store.verify().size() == 2);

    constexpr auto no_key = fila::table<Row>("u").key("id", &Row::id).status("status");
    plain.exec("CREATE TABLE u (id INTEGER, status TEXT)");
    CHECK_THROWS_AS((SqliteStore{Config{file.path()}, no_key}), fila::ConfigError);
    plain.exec("CREATE UNIQUE INDEX u_id ON u (id)");
    CHECK_NOTHROW(SqliteStore{Config{file.path()}, no_key});
    constexpr auto unbound = no_key.where("id > :limit");
    CHECK_THROWS_AS((SqliteStore{Config{file.path()}, unbound}), fila::ConfigError);
    constexpr auto nowhere = fila::table<Row>("attic.u").key("id", &Row::id).status("status");
    CHECK_THROWS_AS((SqliteStore{Config{file.path()}, nowhere}), fila::ConfigError);
}

TEST_CASE("sqlite: the shipped schema is what the mapping of the job table gives") {
    std::ifstream in{FILA_SQLITE_SCHEMA};
    REQUIRE(in);
    std::string const shipped{std::istreambuf_iterator<char>{in}, {}};
    auto store = open(":memory:");
    CHECK(shipped == store.schema_sql());
    store.migrate();
    CHECK(store.verify().empty());
}
