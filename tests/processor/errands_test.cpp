// SPDX-License-Identifier: MIT
// Errands: in a transaction each worker of a pool asks for its own row, side by side with the others.
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include "support/watched_clock.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/limiter/fixed_limiter.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/processor/processor.hpp>

#include <set>
#include <thread>

using namespace std::chrono_literals;
using fila::RowState;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::in_time;
using fila_tests::lost_request;
using fila_tests::OpenAtEnd;
using fila_tests::refusal;
using fila_tests::Running;
using fila_tests::ScriptedStore;
using fila_tests::Verb;
using fila_tests::WatchedClock;
using fila_tests::When;

namespace {

template <class Store = ScriptedStore<>>
struct World {
    explicit World(int rows, std::size_t connections = 4)
        : store{clock, {.keep_finished = true, .max_transactions = connections}},
          runs(static_cast<std::size_t>(rows) + 1) {
        for (int i = 1; i <= rows; ++i) store.table().put(i);
    }
    template <class... Policies>
    [[nodiscard]] auto pooled(std::size_t threads, Policies... policies) {
        return fila::Processor{store,
                               fila::ThreadPool{threads},
                               [this](int const& row) { ++runs[static_cast<std::size_t>(row)], ++handled; },
                               WatchedClock{watched},
                               fila::InTransaction{},
                               std::move(policies)...};
    }
    /// Calls `then` before or after each claim but the first `pass`.
    template <class Then>
    void at_claims(When when, std::size_t pass, Then then) {
        store.hook([this, when, pass, then](Verb verb, When now) {
            if (verb == Verb::claim && now == when && ++claims > pass) then(claims - pass);
        });
    }
    [[nodiscard]] bool each_ran_once() const {
        return std::all_of(runs.begin() + 1, runs.end(), [](auto& n) { return n == 1; });
    }
    [[nodiscard]] bool no_locks() {
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k)
            if (r->locked) return false;
        return true;
    }

    fila::ManualClock clock;
    WatchedClock watched{clock};
    Store store;
    std::vector<std::atomic<int>> runs;
    std::atomic<int> handled{0};
    std::atomic<std::size_t> claims{0};
};

/// Rows in hand, by what an observer is told: never less than none.
struct InHand {
    using policy_role = fila::observer_role;
    void operator()(fila::RowsClaimed const& e) const { *now += static_cast<long>(e.rows); }
    void operator()(fila::RowsSettled const& e) const {
        if ((*now -= static_cast<long>(e.rows())) < 0) *below = true;
    }
    std::shared_ptr<std::atomic<long>> now = std::make_shared<std::atomic<long>>(0);
    std::shared_ptr<std::atomic<bool>> below = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

TEST_CASE("errands: an observer hears of a row's claim before it hears of its settle") {
    World<> world{2000};
    InHand const in_hand;
    auto p = world.pooled(4, in_hand);
    CHECK(p.drain().completed == 2000);
    CHECK(*in_hand.now == 0);
    CHECK_FALSE(*in_hand.below);
    CHECK(world.each_ran_once());
}

TEST_CASE("errands: as many workers claim at once as there are, and each row is handled once") {
    World<> world{40};
    Gate gate;
    world.at_claims(When::before, 3, [&](std::size_t) { gate.pass(); });
    auto p = world.pooled(4);
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 4; }));
    gate.open();
    auto const report = running.wait();
    CHECK(report.completed == 40);
    CHECK(adds_up(report));
    CHECK(world.each_ran_once());
    CHECK(world.no_locks());
}

TEST_CASE("errands: a pass over nothing asks once") {
    World<> world{0};
    auto p = world.pooled(4);
    CHECK(p.drain().claimed == 0);
    CHECK(world.store.calls(Verb::claim) == 1);
}

TEST_CASE("errands: a pass waits for the one that is late, and takes what it brings") {
    World<> world{20};
    Gate gate;
    world.at_claims(When::before, 3, [&](std::size_t which) {
        if (which == 1) gate.pass();
    });
    auto p = world.pooled(4);
    Running running{p, {}};
    OpenAtEnd const open{gate};
    // The others have met all rows, and one of them nothing more.
    REQUIRE(eventually([&] { return world.handled == 20 && world.store.calls(Verb::claim) >= 22; }));
    CHECK_FALSE(running.over());
    world.store.table().put(0);
    gate.open();
    CHECK(running.wait().completed == 21);
    CHECK(world.each_ran_once());
}

TEST_CASE("errands: one that fails after it has kept its row from the others leaves no row out") {
    World<> world{20};
    Gate gate;
    world.at_claims(When::after, 3, [&](std::size_t which) {
        if (which == 1) gate.pass(), throw lost_request();
    });
    auto p = world.pooled(4);
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return world.handled == 19 && world.store.calls(Verb::claim) >= 21; }));
    gate.open();
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 1ms));
    auto const report = running.wait();
    CHECK(report.completed == 20);
    CHECK(report.errors == 1);
    CHECK(world.each_ran_once());
    CHECK(world.no_locks());
}

TEST_CASE("errands: what fails together is one fault, and is waited for once") {
    World<> world{20};
    Gate gate;
    world.at_claims(When::before, 3, [&](std::size_t which) {
        if (which <= 4) gate.pass(), throw lost_request();
    });
    fila::CountingObserver count;
    auto p = world.pooled(4, count, fila::Pace{.max_faults = 2});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 4; }));
    gate.open();
    REQUIRE(eventually([&] { return gate.inside() == 0 && count.totals().faults == 1; }));
    REQUIRE(world.watched.at_rest(1));
    CHECK(world.store.calls(Verb::claim) == 7);  // not before time has passed
    REQUIRE(world.watched.until([&] { return running.over(); }, 1ms, 1));
    auto const report = running.wait();
    CHECK(report.completed == 20);
    CHECK(report.errors == 1);
    CHECK(count.totals().faults == 1);
    CHECK(world.each_ran_once());
    CHECK(world.no_locks());
}

TEST_CASE("errands: a drain whose claims are refused for good gives up, and leaves nothing behind") {
    World<> world{20};
    Gate gate;
    world.at_claims(When::after, 3, [&](std::size_t) { gate.pass(), throw refusal(); });
    auto p = world.pooled(4);
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 4; }));
    gate.open();
    CHECK_THROWS_WITH(running.wait(), "refused by the store");
    CHECK(p.last_report().completed == 3);
    CHECK(p.last_report().errors == 1);
    CHECK(adds_up(p.last_report()));
    CHECK(world.store.calls(Verb::claim) == 7);
    CHECK(world.no_locks());
}

TEST_CASE("errands: without a connection for each worker the others go on, and nobody calls it a fault") {
    World<> world{20};
    std::vector<std::optional<ScriptedStore<>::Transaction>> theirs;
    for (int i = 0; i < 3; ++i) theirs.push_back(world.store.begin());
    auto p = world.pooled(4);
    Running running{p, {}};
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    auto const report = running.wait();
    CHECK(report.completed == 20);
    CHECK(report.errors == 0);
    CHECK(world.each_ran_once());
}

TEST_CASE("errands: a row that is found when the run has been stopped is given back, and none is asked for") {
    World<> world{20};
    Gate gate;
    world.at_claims(When::after, 3, [&](std::size_t) { gate.pass(); });
    auto p = world.pooled(4);
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 4; }));
    running.request_stop();
    gate.open();
    auto const report = running.wait();
    CHECK(report.completed == 3);
    CHECK(report.released == 4);
    CHECK(adds_up(report));
    CHECK(world.store.calls(Verb::claim) == 7);
    CHECK(world.no_locks());
}

TEST_CASE("errands: a hard stop waits for the answers of those that are out, and rolls their rows back") {
    World<> world{3, 2};
    Gate gate;
    world.at_claims(When::after, 1, [&](std::size_t) { gate.pass(); });
    fila::FixedLimiter limiter{2};
    auto p = world.pooled(2, limiter, fila::Pace{.soft_stop_timeout = 0s, .hard_stop_timeout = 0s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    CHECK(p.health().in_flight == 0);  // nothing is in hand that has not been found
    running.request_stop();
    // A run that does not wait is over in a moment.
    CHECK_FALSE(eventually([&] { return running.over(); }, std::chrono::seconds{1}));
    gate.open();
    auto const report = running.wait();
    CHECK(world.no_locks());
    CHECK(report.claimed == 1);
    CHECK(report.completed == 1);
    CHECK(report.abandoned == 0);
    CHECK(limiter.acquire(2) == 2);
    CHECK(world.store.table().find(2)->state == RowState::pending);
    CHECK(world.handled == 1);
}

TEST_CASE("errands: where a failed row cannot be put off only one is out, and a pass meets no row twice") {
    World<ScriptedStore<int, false>> world{40};
    std::atomic<int> inside{0}, most{0};
    world.store.hook([&](Verb verb, When when) {
        if (verb == Verb::begin && when == When::before) most = std::max(most.load(), ++inside);
        if (verb == Verb::mark && when == When::after) --inside;
    });
    fila::Processor p{world.store, fila::ThreadPool{4},
                      [&](int const& row) {
                          ++world.runs[static_cast<std::size_t>(row)];
                          if (row % 4 == 0) throw std::runtime_error{"no"};
                      },
                      world.clock, fila::InTransaction{}};
    auto const report = p.drain();
    CHECK(report.completed == 30);
    CHECK(report.retried == 10);
    CHECK(most == 1);
    CHECK(world.each_ran_once());
}

TEST_CASE("errands: where there is no pool the caller asks, one row after the other") {
    World<> world{5};
    std::set<std::thread::id> threads;
    world.at_claims(When::before, 0, [&](std::size_t) { threads.insert(std::this_thread::get_id()); });
    std::vector<int> order;
    fila::Processor p{world.store, fila::InlineExecutor{}, [&](int const& row) { order.push_back(row); },
                      world.clock, fila::InTransaction{}};
    CHECK(p.drain().completed == 5);
    CHECK(threads == std::set{std::this_thread::get_id()});
    CHECK(order == std::vector{1, 2, 3, 4, 5});
    CHECK(world.store.calls(Verb::begin) == 6);
}
