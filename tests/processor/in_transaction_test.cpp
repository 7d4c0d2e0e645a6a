// SPDX-License-Identifier: MIT
// InTransaction on the processor: what commits together, what is undone, what a fault at each verb leaves.
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include "support/watched_clock.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/limiter/fixed_limiter.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>

#include <functional>

using namespace std::chrono_literals;
using fila::RowState;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::in_time;
using fila_tests::lost_answer;
using fila_tests::lost_request;
using fila_tests::OpenAtEnd;
using fila_tests::refusal;
using fila_tests::Running;
using fila_tests::ScriptedStore;
using fila_tests::Verb;
using fila_tests::When;

namespace {

using Store = ScriptedStore<>;
using Context = fila::InTransactionContext<fila::Context, Store::Transaction>;
using Work = std::function<fila::Outcome(int const&, Context&)>;
using Alone = fila::Processor<Store&, fila::InlineExecutor, Work, fila::ManualClock, fila::InTransaction,
                              fila::Pace, fila::FixedDelay>;
using Pooled = fila::Processor<Store&, fila::ThreadPool, Work, fila::ManualClock, fila::InTransaction,
                               fila::Pace, fila::FixedDelay>;

struct World {
    explicit World(int rows = 0, std::size_t connections = 8)
        : store{clock, {.keep_finished = true, .max_transactions = connections}} {
        for (int i = 1; i <= rows; ++i) store.table().put(i);
    }
    [[nodiscard]] Alone alone(Work work, fila::Pace pace = {}) {
        return Alone{store,
                     fila::InlineExecutor{},
                     std::move(work),
                     clock,
                     fila::InTransaction{},
                     pace,
                     fila::FixedDelay{.delay = 1s, .max_attempts = 5}};
    }
    [[nodiscard]] Pooled pooled(std::size_t threads, Work work, fila::Pace pace = {}) {
        return Pooled{store,
                      fila::ThreadPool{threads},
                      std::move(work),
                      clock,
                      fila::InTransaction{},
                      pace,
                      fila::FixedDelay{.delay = 1s, .max_attempts = 5}};
    }
    [[nodiscard]] auto row(std::int64_t key) { return *store.table().find(key); }
    [[nodiscard]] bool no_locks() {
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k)
            if (r->locked) return false;
        return true;
    }
    /// What a handler writes through its transaction.
    [[nodiscard]] Work writing(std::function<fila::Outcome(int)> then) {
        return [this, then = std::move(then)](int const& row, Context& context) {
            context.transaction().write([this] { ++written; });
            return then(row);
        };
    }
    fila::ManualClock clock;
    Store store;
    std::atomic<int> written{0};
};

fila::Outcome finish(int) { return fila::complete(); }

}  // namespace

TEST_CASE("in a transaction: the handler's writes and the row's status commit together") {
    World world{3};
    auto p = world.alone(world.writing([](int) { return fila::complete("paid"); }));
    auto const report = p.drain();
    CHECK(report.completed == 3);
    CHECK(world.written == 3);
    CHECK(world.row(2).word == "paid");
    CHECK(world.store.calls(Verb::commit) == 3);  // one row, one transaction
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: a thrown failure undoes the writes and is recorded all the same") {
    World world{1};
    auto p = world.alone(world.writing([](int) -> fila::Outcome { throw std::runtime_error{"no"}; }));
    auto const report = p.drain();
    CHECK(report.retried == 1);
    CHECK(world.written == 0);
    CHECK(world.row(1).history.failures == 1);
    CHECK(world.row(1).error == "no");
    CHECK(world.row(1).due == world.clock.now() + 1s);
    CHECK(world.store.calls(Verb::back) == 1);
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: a failure that is returned keeps the writes") {
    World world{1};
    auto p = world.alone(world.writing([](int) { return fila::retry(3s, "half done"); }));
    CHECK(p.drain().retried == 1);
    CHECK(world.written == 1);
    CHECK(world.row(1).history.failures == 1);
    CHECK(world.row(1).due == world.clock.now() + 3s);
}

TEST_CASE(
    "in a transaction: where failures cannot be recorded they roll back, and the pass goes on behind them") {
    fila::ManualClock clock;
    ScriptedStore<int, false> store{clock};
    for (int i = 1; i <= 5; ++i) store.table().put(i);
    std::atomic<int> runs{0}, written{0};
    fila::Processor p{store, fila::InlineExecutor{},
                      [&](int const& row, auto& context) {
                          ++runs;
                          context.transaction().write([&] { ++written; });
                          if (row == 2) throw std::runtime_error{"no"};
                      },
                      clock, fila::InTransaction{}};
    auto const report = p.drain();
    CHECK(report.completed == 4);
    CHECK(report.retried == 1);
    CHECK(adds_up(report));
    CHECK(runs == 5);
    CHECK(written == 4);
    CHECK(store.table().find(2)->state == RowState::pending);
    CHECK(store.table().find(2)->history.failures == 0);
    CHECK_FALSE(store.table().find(2)->locked);
    CHECK(p.drain().retried == 1);  // the next pass meets it again
    CHECK(runs == 6);
}

TEST_CASE("case 29: in a transaction, a commit with an unknown end is in doubt, and is not repeated") {
    World world{3};
    std::atomic<int> runs{0};
    auto p = world.alone(world.writing([&](int) { return ++runs, fila::complete(); }));
    SECTION("it had happened") {
        world.store.fail(Verb::commit, When::after, lost_answer());
        auto const report = p.drain();
        CHECK(report.in_doubt == 1);
        CHECK(report.completed == 2);
        CHECK(adds_up(report));
        CHECK(runs == 3);
        CHECK(world.row(1).state == RowState::completed);
    }
    SECTION("it had not") {
        world.store.fail(Verb::commit, When::before, lost_answer());
        auto const report = p.drain();
        CHECK(report.in_doubt == 1);
        CHECK(report.completed == 2);
        CHECK(runs == 3);
        CHECK(world.row(1).state == RowState::pending);  // rolled back: the next pass runs it
        CHECK(p.drain().completed == 1);
        CHECK(world.written == 3);
    }
    CHECK(world.no_locks());
}

TEST_CASE(
    "in a transaction: a commit that may be tried later leaves the row pending, writes undone, nothing "
    "spent") {
    World world{2};
    world.store.fail(Verb::commit, When::before, lost_request());
    auto p = world.alone(world.writing(finish));
    auto const report = p.drain();
    CHECK(report.completed == 1);
    CHECK(report.unsettled == 1);
    CHECK(adds_up(report));
    CHECK(world.written == 1);
    CHECK(world.row(1).history.failures == 0);
    CHECK(p.drain().completed == 1);
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: a drain whose commits all fail gives up, and handlers do not run for nothing") {
    World world{100};
    std::atomic<int> runs{0};
    world.store.fail(Verb::commit, When::before, lost_request(), 1'000'000);
    auto p = world.alone(world.writing([&](int) { return ++runs, fila::complete(); }), {.max_faults = 5});
    Running running{p, {}};
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    CHECK_THROWS_WITH(running.wait(), "connection lost");
    CHECK(runs == 5);
    CHECK(p.last_report().unsettled == 5);
    CHECK(adds_up(p.last_report()));
    CHECK(world.written == 0);
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: a run whose commits all fail waits ever longer, and recovers by itself") {
    World world{3};
    fila_tests::WatchedClock const watched{world.clock};
    std::atomic<int> runs{0};
    world.store.fail(Verb::commit, When::before, lost_request(), 1'000'000);
    fila::Processor p{world.store, fila::InlineExecutor{}, [&](int const&) { ++runs; },
                      watched,     fila::InTransaction{},  fila::Pace{.interval = 1s, .max_backoff = 10s}};
    Running running{p};
    REQUIRE(watched.pass(10min, 1s, 1));
    CHECK(runs >= 40);
    CHECK(runs <= 200);
    world.store.heal();
    REQUIRE(watched.pass(1min, 1s, 1));
    CHECK(running.stop().completed == 3);
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: what the store refuses is the row's failure, without its writes") {
    World world{2};
    auto const verb = GENERATE(Verb::settle, Verb::commit);
    world.store.fail(verb, When::before, refusal());
    auto p = world.alone(world.writing(finish));
    auto const report = p.drain();
    CHECK(report.completed == 1);
    CHECK(report.retried == 1);
    CHECK(adds_up(report));
    CHECK(world.written == 1);
    CHECK(world.row(1).history.failures == 1);
    CHECK(world.row(1).error == "refused by the store");
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: a failure that cannot be recorded either rolls back, and the drain ends") {
    World world{2};
    world.store.fail(Verb::back, When::before, refusal());
    auto p = world.alone(world.writing([](int row) -> fila::Outcome {
        if (row == 1) throw std::runtime_error{"no"};
        return fila::complete();
    }));
    auto const report = p.drain();
    CHECK(report.completed == 1);
    CHECK(report.unsettled == 1);
    CHECK(adds_up(report));
    CHECK(world.row(1).state == RowState::pending);
    CHECK(world.no_locks());
}

TEST_CASE("case 60: a row that its transaction does not hold any more is reported as lost, and loudly") {
    World world{2};
    fila::CountingObserver count;
    fila::Processor p{world.store,
                      fila::InlineExecutor{},
                      [&](int const& row, Context& context) {
                          if (row == 1) context.transaction().commit();  // never do this
                      },
                      world.clock,
                      fila::InTransaction{},
                      count};
    auto const report = p.drain();
    CHECK(report.lost == 1);
    CHECK(report.completed == 1);
    CHECK(report.errors == 1);
    CHECK(count.totals().faults == 1);
    CHECK(adds_up(report));
    CHECK(world.row(1).state == RowState::pending);
    CHECK(world.no_locks());
}

namespace {

/// The same transactions, of which the store says that they settle and commit at once.
struct FinishingTransaction : Store::Transaction {
    void finish(Store::Settlements settlements, std::span<fila::Ack> acks) {
        settle(settlements, acks);
        if (acks[0] == fila::Ack::applied) commit();
    }
};
struct FinishingStore : Store {
    using transaction_type = FinishingTransaction;
    std::optional<FinishingTransaction> begin() {
        auto inner = Store::begin();
        if (!inner) return std::nullopt;
        return FinishingTransaction{std::move(*inner)};
    }
};

}  // namespace

TEST_CASE("in a transaction that settles and commits at once, all is as in two steps") {
    World world{3};
    FinishingStore store{world.store};
    auto const drain = [&](std::function<void(int, FinishingTransaction&)> const& work) {
        auto const handle = [&](int const& row, auto& context) {
            context.transaction().write([&] { ++world.written; });
            work(row, context.transaction());
        };
        fila::Processor p{store, fila::InlineExecutor{}, handle, world.clock, fila::InTransaction{}};
        auto const report = p.drain();
        CHECK(adds_up(report));
        CHECK(world.no_locks());
        return report;
    };
    auto const nothing = [](int, FinishingTransaction&) {};
    SECTION("it commits once") {
        CHECK(drain(nothing).completed == 3);
        CHECK(world.written == 3);
        CHECK(world.store.calls(Verb::commit) == 3);
    }
    SECTION("a row that it holds no more is lost") {
        auto const report = drain([](int row, auto& transaction) {
            if (row == 2) transaction.commit();
        });
        CHECK(report.lost == 1);
        CHECK(report.completed == 2);
        CHECK(world.row(2).state == RowState::pending);
    }
    SECTION("an unknown end is in doubt") {
        world.store.fail(Verb::commit, When::after, lost_answer());
        auto const report = drain(nothing);
        CHECK(report.in_doubt == 1);
        CHECK(report.completed == 2);
    }
    SECTION("what is refused is the row's failure, without its writes") {
        world.store.fail(Verb::commit, When::before, refusal());
        auto const report = drain(nothing);
        CHECK(report.retried == 1);
        CHECK(report.completed == 2);
        CHECK(world.written == 2);
        CHECK(world.row(1).history.failures == 1);
    }
}

TEST_CASE("in a transaction: faults of a claim leave no lock and no transaction behind") {
    World world{3, 1};
    auto const verb = GENERATE(Verb::begin, Verb::claim, Verb::mark);
    auto const when = GENERATE(When::before, When::after);
    world.store.fail(verb, when, lost_request(), 2);
    auto p = world.alone(world.writing(finish));
    Running running{p, {}};
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 1ms));
    auto const report = running.wait();
    CHECK(report.completed == 3);
    CHECK(report.errors == 2);
    CHECK(adds_up(report));
    CHECK(world.no_locks());
    CHECK(world.store.begin().has_value());
}

TEST_CASE("no free connection means no claim now: the drain waits for one, and goes on") {
    World world{5, 1};
    auto theirs = world.store.begin();
    auto p = world.alone(world.writing(finish));
    Running running{p, {}};
    REQUIRE(in_time(world.clock, [&] { return world.store.calls(Verb::begin) >= 5; }, 10ms));
    CHECK_FALSE(running.over());
    CHECK(world.written == 0);
    theirs.reset();
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    CHECK(running.wait().completed == 5);
}

TEST_CASE("workers of a pool hold one transaction each, commit for themselves, and meet each row once") {
    World world{200, 4};
    std::vector<std::atomic<int>> runs(201);
    std::atomic<int> inside{0}, most{0};
    auto p = world.pooled(4, [&](int const& row, Context& context) -> fila::Outcome {
        auto const now = ++inside;
        for (auto m = most.load(); m < now && !most.compare_exchange_weak(m, now);) {}
        ++runs[static_cast<std::size_t>(row)];
        context.transaction().write([&] { ++world.written; });
        --inside;
        if (row % 10 == 0) throw std::runtime_error{"no"};
        return fila::complete();
    });
    auto const report = p.drain();
    CHECK(report.completed == 180);
    CHECK(report.retried == 20);
    CHECK(adds_up(report));
    CHECK(world.written == 180);
    CHECK(most <= 4);
    for (std::size_t i = 1; i <= 200; ++i) CHECK(runs[i] == 1);
    CHECK(world.no_locks());
}

TEST_CASE("workers of a pool run at the same time in transactions too") {
    World world{4, 4};
    Gate gate;
    auto p = world.pooled(4, [&](int const&, Context&) { return gate.pass(), fila::complete(); });
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 4; }));
    gate.open();
    CHECK(running.wait().completed == 4);
}

TEST_CASE("in a transaction: a stop finishes the rows in hand, and rolls nothing back") {
    World world{10, 2};
    Gate gate;
    auto p = world.pooled(2, [&](int const&, Context& c) {
        c.transaction().write([&] { ++world.written; });
        return gate.pass(), fila::complete();
    });
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    running.request_stop();
    gate.open();
    auto const report = running.wait();
    CHECK(report.completed == 2);
    CHECK(report.claimed == 2);
    CHECK(world.written == 2);
    CHECK(world.no_locks());
}

TEST_CASE("in a transaction: after a hard stop the abandoned row rolls back when its handler returns") {
    World world{1, 1};
    Gate gate;
    auto p = world.pooled(1,
                          [&](int const&, Context& c) {
                              c.transaction().write([&] { ++world.written; });
                              return gate.pass(), fila::complete();
                          },
                          {.soft_stop_timeout = 0s, .hard_stop_timeout = 0s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    auto const report = running.stop();
    CHECK(report.abandoned == 1);
    CHECK(world.row(1).locked);
    gate.open();
    CHECK(eventually([&] { return world.no_locks(); }));
    CHECK(world.row(1).state == RowState::pending);
    CHECK(world.written == 0);
}

TEST_CASE("in a transaction: a critical failure is recorded without its writes, then thrown") {
    World world{5, 2};
    auto p = world.alone(world.writing([](int row) -> fila::Outcome {
        if (row == 2) throw fila::CriticalFailure{"stop everything"};
        return fila::complete();
    }));
    CHECK_THROWS_AS(p.drain(), fila::CriticalFailure);
    CHECK(world.written == 1);
    CHECK(world.row(1).state == RowState::completed);
    CHECK(world.row(2).history.failures == 1);
    CHECK(world.row(3).state == RowState::pending);
    CHECK(adds_up(p.last_report()));
    CHECK(world.no_locks());
}

TEST_CASE("case 33: in a transaction, a row that cannot be decoded fails alone") {
    World world{5};
    world.store.break_rows([](int row) { return row == 3; });
    auto p = world.alone(world.writing(finish));
    auto const report = p.drain();
    CHECK(report.completed == 4);
    CHECK(report.retried == 1);
    CHECK(world.row(3).history.failures == 1);
    CHECK(world.written == 4);
    CHECK(adds_up(report));
}

TEST_CASE("case 84: more workers than connections are refused at construction, with both numbers") {
    World world{1, 3};
    auto const work = [](int const&) {};
    std::string what;
    try {
        fila::Processor p{world.store, fila::ThreadPool{5}, work, world.clock, fila::InTransaction{}};
    } catch (fila::ConfigError const& e) {
        what = e.what();
    }
    CHECK(what.find("5 workers") != std::string::npos);
    CHECK(what.find("the store has 3") != std::string::npos);
    CHECK(what.find("InTransaction") != std::string::npos);
    // Fewer rows in hand, as many connections as workers, and leases, are all right.
    CHECK_NOTHROW(fila::Processor{world.store, fila::ThreadPool{5}, work, world.clock, fila::InTransaction{},
                                  fila::FixedLimiter{3}});
    CHECK_NOTHROW(
        fila::Processor{world.store, fila::ThreadPool{3}, work, world.clock, fila::InTransaction{}});
    CHECK_NOTHROW(fila::Processor{world.store, fila::ThreadPool{5}, work, world.clock});
}
