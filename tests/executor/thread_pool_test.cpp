// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/lane_of.hpp"
#include <fila/executor.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <signal.h>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using fila_tests::eventually;
using fila_tests::LaneOf;

TEST_CASE("an inline executor runs the task on the caller's thread, at once") {
    std::optional<std::thread::id> ran_on;
    LaneOf lane{[&] { ran_on = std::this_thread::get_id(); }};
    fila::InlineExecutor const executor;
    executor.execute(lane.task());
    CHECK(ran_on == std::this_thread::get_id());
    CHECK(executor.concurrency() == 0);
}

TEST_CASE("a pool runs each task once, on its own threads") {
    constexpr int tasks = 10'000;
    std::atomic<int> runs{0};
    std::atomic<int> on_caller{0};
    auto const caller = std::this_thread::get_id();
    LaneOf lane{[&] {
        ++runs;
        if (std::this_thread::get_id() == caller) ++on_caller;
    }};
    {
        fila::ThreadPool pool{4};
        CHECK(pool.concurrency() == 4);
        for (int i = 0; i < tasks; ++i) pool.execute(lane.task());
    }
    CHECK(runs == tasks);
    CHECK(on_caller == 0);
}

TEST_CASE("a pool of n threads runs n tasks at once") {
    constexpr int n = 3;
    std::atomic<int> inside{0};
    std::atomic<int> alone{0};
    LaneOf lane{[&] {
        ++inside;
        if (!eventually([&] { return inside == n; })) ++alone;
    }};
    {
        fila::ThreadPool pool{n};
        for (int i = 0; i < n; ++i) pool.execute(lane.task());
    }
    CHECK(alone == 0);
}

TEST_CASE("tasks are started in the order in which they came") {
    std::vector<int> order;
    std::list<LaneOf<std::function<void()>>> lanes;
    std::atomic<bool> go{false};
    LaneOf gate{[&] { (void)eventually([&] { return go.load(); }); }};
    {
        fila::ThreadPool pool{1};
        pool.execute(gate.task());
        for (int i = 0; i < 100; ++i)
            pool.execute(lanes.emplace_back([&order, i] { order.push_back(i); }).task());
        go = true;
    }
    REQUIRE(order.size() == 100);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("the destructor runs what was accepted") {
    std::atomic<int> runs{0};
    std::atomic<bool> go{false};
    LaneOf gate{[&] { (void)eventually([&] { return go.load(); }); }};
    LaneOf counted{[&] { ++runs; }};
    auto pool = std::make_unique<fila::ThreadPool>(2);
    pool->execute(gate.task());
    pool->execute(gate.task());
    for (int i = 0; i < 50; ++i) pool->execute(counted.task());
    go = true;
    pool.reset();
    CHECK(runs == 50);
}

TEST_CASE("a pool can be moved while it works") {
    std::atomic<int> runs{0};
    LaneOf lane{[&] { ++runs; }};
    fila::ThreadPool a{2};
    a.execute(lane.task());
    fila::ThreadPool b{std::move(a)};
    b.execute(lane.task());
    fila::ThreadPool c{1};
    c.execute(lane.task());
    c = std::move(b);
    CHECK(runs >= 1);  // the one thread that c had before has run its task
    c.execute(lane.task());
    CHECK(c.concurrency() == 2);
    CHECK(eventually([&] { return runs == 4; }));
}

TEST_CASE("case 108: tasks that post tasks all run, though the pool is being closed") {
    constexpr int chains = 32, depth = 500;
    // A lane that posts itself until its chain is over, as the engine's workers wake each other.
    struct Chain final : fila::detail::Lane {
        Chain(fila::ThreadPool& p, std::atomic<int>& n) : Lane{"chain"}, pool{p}, runs{n} {}
        fila::Step step() noexcept override {
            ++runs;
            if (--left > 0) pool.execute(fila::Task{*this});
            return {fila::Step::done};
        }
        fila::ThreadPool& pool;
        std::atomic<int>& runs;
        int left = depth;
    };
    std::atomic<int> runs{0};
    std::list<Chain> lanes;
    {
        fila::ThreadPool pool{3};
        for (int i = 0; i < chains; ++i) pool.execute(fila::Task{lanes.emplace_back(pool, runs)});
    }
    CHECK(runs == chains * depth);
}

TEST_CASE("case 109: a pool that is destroyed by one of its own tasks neither deadlocks nor aborts") {
    struct Shared {
        std::shared_ptr<fila::ThreadPool> pool;
        std::atomic<bool> destroyed{false};
        std::atomic<int> later{0};
    };
    for (int round = 0; round < 50; ++round) {
        auto const shared = std::make_shared<Shared>();
        std::atomic<bool> go{false};
        LaneOf last_owner{[shared, &go] {
            (void)eventually([&] { return go.load(); });
            shared->pool.reset();
            shared->destroyed = true;
        }};
        LaneOf after{[shared] { ++shared->later; }};
        shared->pool = std::make_shared<fila::ThreadPool>(2);
        shared->pool->execute(last_owner.task());
        for (int i = 0; i < 10; ++i) shared->pool->execute(after.task());
        go = true;
        REQUIRE(eventually([&] { return shared->destroyed.load() && shared->later == 10; }));
    }
}

TEST_CASE("case 112: a pool that cannot have all of its threads has none") {
    std::atomic<int> started{0}, ended{0};
    int calls = 0;
    auto const third_fails = [&](std::function<void()> work) {
        if (++calls == 3)
            throw std::system_error{std::make_error_code(std::errc::resource_unavailable_try_again)};
        return std::thread{[&, work = std::move(work)] {
            ++started;
            work();
            ++ended;
        }};
    };
    CHECK_THROWS_AS((fila::ThreadPool{5, third_fails}), std::system_error);
    CHECK(calls == 3);
    CHECK(started == 2);
    CHECK(ended == 2);  // at once: they were joined before the exception came out
}

TEST_CASE("threads may be made by the caller's own function") {
    std::atomic<int> named{0};
    std::atomic<int> runs{0};
    LaneOf lane{[&] { ++runs; }};
    {
        fila::ThreadPool pool{2, [&](std::function<void()> work) {
                                  return std::thread{[&named, work = std::move(work)] {
                                      ++named;
                                      work();
                                  }};
                              }};
        pool.execute(lane.task());
    }
    CHECK(named == 2);
    CHECK(runs == 1);
}

TEST_CASE("case 113: signals do not reach the threads of a pool, save those of their own faults") {
    std::atomic<int> open{0};
    std::atomic<bool> fault_open{false};
    LaneOf lane{[&] {
        sigset_t mask;
        pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        for (int const s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD})
            open += sigismember(&mask, s) != 1;
        fault_open = sigismember(&mask, SIGSEGV) == 0;
    }};
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    {
        fila::ThreadPool pool{1};
        pool.execute(lane.task());
    }
    CHECK(open == 0);
    CHECK(fault_open);

    sigset_t after;
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
}

TEST_CASE("case 120: a pool of no threads, or of absurdly many, is refused by name") {
    CHECK_THROWS_AS(fila::ThreadPool{0}, fila::ConfigError);
    CHECK_THROWS_AS(fila::ThreadPool{10'001}, fila::ConfigError);
    CHECK_THROWS_AS(fila::ThreadPool{static_cast<std::size_t>(-1)}, fila::ConfigError);
    try {
        fila::ThreadPool{0};
    } catch (fila::ConfigError const& e) {
        CHECK(std::string{e.what()}.find("ThreadPool::threads must be at least 1") != std::string::npos);
    }
}
