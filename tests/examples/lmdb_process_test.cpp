// SPDX-License-Identifier: MIT
// The example store over LMDB among processes that share a directory, that are killed, and that run out of room.
#include "examples/package_root.hpp"
#include "support/catch.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

#include <atomic>
#include <charconv>
#include <examples/07_lmdb_store/lmdb_store.hpp>
#include <map>
#include <thread>

namespace {

using fila_test::ChildProcess;
using Env = std::shared_ptr<lmdb::Environment const>;

constexpr lmdb::Options quick{.durable = false};
constexpr int accounts = 40;

std::string account(int n) { return "account" + std::to_string(n % accounts); }
void deposit_one_each(Env const& env, int deposits) {
    std::vector<std::string> rows;
    for (int n = 0; n < deposits; ++n) rows.push_back(account(n) + " 1 " + std::to_string(n));
    LmdbStore{env}.enqueue(rows);
}
/// What is booked, of all accounts.
int booked(Env const& env) {
    lmdb::Txn const txn{*env, MDB_RDONLY};
    int sum = 0;
    for (int n = 0; n < accounts; ++n) {
        auto const balance = txn.get(env->data, account(n)).value_or("0");
        int value = -1;
        std::from_chars(balance.data(), balance.data() + balance.size(), value);
        sum += value;
    }
    return sum;
}
std::map<std::string, int> lines_of(std::vector<std::string> const& outputs) {
    std::map<std::string, int> lines;
    for (auto const& output : outputs) {
        std::istringstream text{output};
        for (std::string line; std::getline(text, line);) ++lines[line];
    }
    return lines;
}

using Batch = fila::Batch<std::string, lmdb::Id>;
using Settlement = fila::Settlement<std::string, lmdb::Id>;

void settle_first(auto& claims, Batch const& batch, fila::Outcome outcome) {
    Settlement const settlement{batch.tickets()[0], std::move(outcome), nullptr};
    fila::Ack ack = fila::Ack::lost;
    claims.settle({&settlement, 1}, {&ack, 1});
    REQUIRE(ack == fila::Ack::applied);
}

/// The child does `work` and leaves without a destructor.
template <class Work>
fila_test::Ended in_a_fork(Work work) {
    auto const pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        try {
            work();
        } catch (...) {
            ::_exit(99);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            .out = {},
            .err = {}};
}

}  // namespace

TEST_CASE("two processes book each deposit in one LMDB environment exactly once") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 400);
    ChildProcess one{{LMDB_STORE, directory.path()}}, two{{LMDB_STORE, directory.path()}};
    auto const first = one.wait(), second = two.wait();
    INFO(first.err << second.err);
    CHECK(first.exit_code == 0);
    CHECK(second.exit_code == 0);
    CHECK(booked(env) == 400);
    CHECK(LmdbStore{env}.counts(1000).open() == 0);
}

TEST_CASE("processes that are killed while they book in LMDB leave no deposit half done") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 600);
    ChildProcess last{{LMDB_STORE, directory.path()}};
    for (int round = 1; round <= 3; ++round) {
        ChildProcess victim{{LMDB_STORE, directory.path()}};
        auto const before = booked(env);
        fila_test::wait_until([&] { return booked(env) > before + 10 || booked(env) == 600; },
                              "some progress");
        victim.signal(SIGKILL);
        victim.wait();
    }
    auto const ended = last.wait();
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(booked(env) == 600);
    CHECK(LmdbStore{env}.counts(1000).open() == 0);
}

TEST_CASE("two processes that lease from one LMDB environment take each row once") {
    fila_test::TemporaryDirectory const directory;
    deposit_one_each(lmdb::open(directory.path(), quick), 400);
    ChildProcess one{{LMDB_STORE, directory.path(), "leased"}}, two{{LMDB_STORE, directory.path(), "leased"}};
    auto const first = one.wait(), second = two.wait();
    INFO(first.err << second.err);
    CHECK(first.exit_code == 0);
    CHECK(second.exit_code == 0);
    auto const lines = lines_of({first.out, second.out});
    CHECK(lines.size() == 400);
    for (auto const& [line, times] : lines) {
        INFO(line);
        CHECK(times == 1);
    }
}

TEST_CASE("what a killed process had leased from LMDB is done by another when the lease has run out") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 100);
    auto const victim = in_a_fork([&] {
        LmdbStore store{lmdb::open(directory.path(), quick)};
        Batch batch;
        store.claim({.limit = 30, .lease = std::chrono::milliseconds{1}}, batch);
        ::raise(SIGKILL);
    });
    CHECK(victim.signal == SIGKILL);
    CHECK(LmdbStore{env}.counts(1000).processing == 30);
    auto const ended = fila_test::run({LMDB_STORE, directory.path(), "leased"});
    INFO(ended.err);
    CHECK(ended.exit_code == 0);
    CHECK(lines_of({ended.out}).size() == 100);
    CHECK(LmdbStore{env}.counts(1000).open() == 0);
}

TEST_CASE("a process that dies in the middle of a write to LMDB blocks nobody and has written nothing") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    auto const victim = in_a_fork([&] {
        auto const own = lmdb::open(directory.path(), quick);
        lmdb::Txn txn{*own};
        txn.replace(txn.next_id(), lmdb::Row{});
        ::raise(SIGKILL);
    });
    CHECK(victim.signal == SIGKILL);
    CHECK(LmdbStore{env}.counts(10).pending == 0);
    deposit_one_each(env, 2);
    CHECK(LmdbStore{env}.counts(10).pending == 2);
}

TEST_CASE(
    "a row that a process dies with in a transaction of LMDB is free at once, and what it wrote is not "
    "there") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 1);
    auto const victim = in_a_fork([&] {
        LmdbStore store{lmdb::open(directory.path(), quick)};
        auto transaction = store.begin().value();
        Batch batch;
        transaction.claim({.limit = 1}, batch);
        transaction.put(account(0), "1");
        settle_first(transaction, batch, fila::complete());
        ::raise(SIGKILL);
    });
    CHECK(victim.signal == SIGKILL);
    CHECK(booked(env) == 0);
    auto transaction = LmdbStore{env}.begin().value();
    Batch batch;
    transaction.claim({.limit = 1}, batch);
    CHECK(batch.size() == 1);
}

TEST_CASE("of two transactions of LMDB that change what both have read the second writes nothing") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 2);
    LmdbStore store{env};
    auto one = store.begin().value(), two = store.begin().value();
    Batch first, second;
    one.claim({.limit = 1}, first), two.claim({.limit = 1}, second);
    REQUIRE(first.rows() != second.rows());
    CHECK_FALSE(one.get("balance"));
    CHECK_FALSE(two.get("balance"));
    one.put("balance", "1"), two.put("balance", "1");
    CHECK(one.get("balance") == "1");  // its own
    settle_first(one, first, fila::complete()), settle_first(two, second, fila::complete());
    one.commit();
    try {
        two.commit();
        FAIL("both were committed");
    } catch (fila::Error const& e) {
        CHECK(e.retryable());
        CHECK_FALSE(e.maybe_applied());
    }
    CHECK(store.counts(10).pending == 1);
}

TEST_CASE("a row that was changed by hand under a transaction of LMDB makes its commit write nothing") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 1);
    auto transaction = LmdbStore{env}.begin().value();
    Batch batch;
    transaction.claim({.limit = 1}, batch);
    transaction.put(account(0), "1");
    settle_first(transaction, batch, fila::complete());
    lmdb::Txn by_hand{*env};
    by_hand.replace(batch.tickets()[0].key, std::nullopt);
    by_hand.commit();
    CHECK_THROWS_AS(transaction.commit(), fila::Error);
    CHECK(booked(env) == 0);
}

TEST_CASE("a commit to LMDB lets go of its rows although the transaction is still there") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 1);
    auto one = LmdbStore{env}.begin().value(), two = LmdbStore{env}.begin().value();
    Batch first, second;
    one.claim({.limit = 1}, first);
    settle_first(one, first, fila::release());
    one.commit();
    two.claim({.limit = 1}, second);
    CHECK(second.size() == 1);
}

TEST_CASE("threads that claim in transactions of LMDB meet each row once") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 400);
    std::atomic<int> met = 0, conflicts = 0;
    {
        std::vector<std::jthread> threads;
        for (int n = 0; n < 4; ++n)
            threads.emplace_back([&] {
                for (LmdbStore store{env};;) {
                    auto transaction = store.begin().value();
                    Batch batch;
                    transaction.claim({.limit = 1}, batch);
                    if (batch.empty()) return;
                    ++met;
                    Settlement const settlement{batch.tickets()[0], fila::complete(), nullptr};
                    fila::Ack ack = fila::Ack::lost;
                    transaction.settle({&settlement, 1}, {&ack, 1});
                    try {
                        transaction.commit();
                    } catch (fila::Error const&) {
                        ++conflicts;
                    }
                }
            });
    }
    CHECK(met == 400);
    CHECK(conflicts == 0);
    CHECK(LmdbStore{env}.counts(1000).open() == 0);
}

TEST_CASE("threads that book in one LMDB environment lose no deposit") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    deposit_one_each(env, 200);
    auto const deposit = [](std::string const& row, auto& context) {
        auto const name = row.substr(0, row.find(' '));
        auto const balance = context.transaction().get(name).value_or("0");
        context.transaction().put(name, std::to_string(std::stoi(balance) + 1));
    };
    fila::Processor bank{LmdbStore{env}, fila::ThreadPool{4}, deposit, fila::InTransaction{}};
    CHECK(bank.drain({.until = fila::DrainUntil::nothing_open}).completed == 200);
    CHECK(booked(env) == 200);
}

TEST_CASE("an LMDB environment without room says so and goes on when it has more") {
    fila_test::TemporaryDirectory const directory;
    std::size_t kept = 0;
    {
        LmdbStore store{lmdb::open(directory.path(), {.map_size = 256 * 1024, .durable = false})};
        std::vector<std::string> const row(1, std::string(1000, 'x'));
        try {
            for (; kept < 10'000; ++kept) store.enqueue(row);
            FAIL("there is room for ten megabytes in a quarter of one");
        } catch (fila::Error const& e) {
            CHECK(std::string{e.what()}.find("Options::map_size") != std::string::npos);
            CHECK(e.retryable());
            CHECK(e.code() == std::to_string(MDB_MAP_FULL));
        }
    }
    auto const env = lmdb::open(directory.path(), quick);
    std::atomic<std::size_t> done = 0;
    auto const count = [&](std::string const&) { ++done; };
    fila::Processor p{LmdbStore{env}, fila::ThreadPool{2}, count};
    p.drain();
    CHECK(kept > 0);
    CHECK(done == kept);
}

TEST_CASE("an LMDB environment is opened once a process and not used by a child of it") {
    fila_test::TemporaryDirectory const directory;
    auto const env = lmdb::open(directory.path(), quick);
    CHECK_THROWS_AS(lmdb::open(directory.path(), quick), fila::ConfigError);
    deposit_one_each(env, 1);
    auto const child = in_a_fork([&] {
        try {
            deposit_one_each(env, 1);
        } catch (fila::Error const&) {
            ::_exit(7);
        }
    });
    CHECK(child.exit_code == 7);
    CHECK(LmdbStore{env}.counts(10).pending == 1);
}

TEST_CASE("a key that LMDB cannot hold is refused when it is written and not at the commit") {
    fila_test::TemporaryDirectory const directory;
    auto transaction = LmdbStore{lmdb::open(directory.path(), quick)}.begin().value();
    CHECK_THROWS_AS(transaction.put(std::string(512, 'k'), "1"), fila::Error);
    CHECK_THROWS_AS(transaction.put("", "1"), fila::Error);
    CHECK_NOTHROW(transaction.put(std::string(511, 'k'), "1"));
}
