// SPDX-License-Identifier: MIT
// How a run ends: by a stop, a time limit, a hard stop, or a critical failure.
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/limiter/fixed_limiter.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/observer/observer_group.hpp>
#include <fila/processor/processor.hpp>

#include <functional>
#include <random>

using namespace std::chrono_literals;
using fila::RowState;
using fila::StopReason;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::in_time;
using fila_tests::OpenAtEnd;
using fila_tests::Running;
using fila_tests::ScriptedStore;
using fila_tests::Verb;
using fila_tests::When;

namespace {

// One type of handler for the whole file: a processor is dear to compile.
using Work = std::function<void(int const&, fila::Context&)>;
using Store = ScriptedStore<>;
using Pooled = fila::Processor<Store&, fila::ThreadPool, Work, fila::ManualClock, fila::Pace, fila::TimeLimit,
                               fila::CountingObserver, fila::FixedLimiter>;
using Alone = fila::Processor<Store&, fila::InlineExecutor, Work, fila::ManualClock, fila::Pace>;

struct World {
    explicit World(int rows = 0) {
        for (int i = 1; i <= rows; ++i) store.table().put(i);
    }
    [[nodiscard]] Pooled pooled(std::size_t threads, Work work, fila::Pace pace = {},
                                fila::TimeLimit limit = {}, std::size_t slots = 10'000) {
        return Pooled{store, fila::ThreadPool{threads}, std::move(work), clock, pace, limit,
                      count, fila::FixedLimiter{slots}};
    }
    [[nodiscard]] Alone alone(Work work, fila::Pace pace = {}) {
        return Alone{store, fila::InlineExecutor{}, std::move(work), clock, pace};
    }
    [[nodiscard]] auto row(std::int64_t key) { return *store.table().find(key); }
    [[nodiscard]] std::size_t in_state(RowState state) {
        std::size_t n = 0;
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k) n += r->state == state;
        return n;
    }
    [[nodiscard]] bool nothing_spent() {
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k)
            if (r->history.failures || r->history.crashes) return false;
        return true;
    }
    fila::ManualClock clock;
    Store store{clock};
    fila::CountingObserver count;
};

}  // namespace

TEST_CASE("case 22: a stop gives back what was not started, settles what was, and spends nothing") {
    World world{50};
    Gate gate;
    auto p = world.pooled(2, [&](int const&, fila::Context&) { gate.pass(); }, {.batch = 50});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    running.request_stop();
    // Given back at once, by the caller's own hand: both workers are busy.
    REQUIRE(eventually([&] { return world.store.table().counts(100).pending == 48; }));
    CHECK_FALSE(running.over());
    gate.open();
    auto const report = running.wait();
    CHECK(report.completed == 2);
    CHECK(report.released == 48);
    CHECK(adds_up(report));
    CHECK(world.in_state(RowState::pending) == 48);
    CHECK(world.in_state(RowState::processing) == 0);
    CHECK(world.nothing_spent());
}

TEST_CASE("case 37: after a stop each row runs once more, and none is lost or doubled") {
    World world{20};
    std::vector<std::atomic<int>> completed(21);
    std::atomic<bool> patient{false};
    auto const work = [&](int const& row, fila::Context& context) {
        if (!patient && !eventually([&] { return context.stop_requested(); })) return;
        if (context.stop_requested()) throw std::runtime_error{"interrupted"};
        ++completed[static_cast<std::size_t>(row)];
    };
    auto p = world.pooled(3, work, {.soft_stop_timeout = 1s});
    {
        Running running{p};
        REQUIRE(eventually([&] { return world.count.totals().claimed > 0; }));
        running.request_stop();
        REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
        auto const report = running.wait();
        CHECK(adds_up(report));
        CHECK(report.retried <= 3);
    }
    patient = true;
    for (int pass = 0; pass < 3; ++pass) {
        world.clock.advance(1h);
        p.drain();
    }
    for (std::size_t i = 1; i <= 20; ++i) CHECK(completed[i] == 1);
    CHECK(world.in_state(RowState::completed) == 20);
}

TEST_CASE("handlers in flight are told after the soft time-out, with the reason, by value and by token") {
    World world{2};
    std::atomic<int> told{0}, by_token{0}, in{0};
    std::atomic<bool> early{false}, wrong{false};
    auto const work = [&](int const&, fila::Context& context) {
        auto const token = context.stop_token();
        std::stop_callback const callback{token, [&] { ++by_token; }};
        ++in;
        if (!eventually([&] { return token.stop_requested(); })) return;
        if (world.clock.now() < fila::TimePoint{} + 30s) early = true;
        if (context.stop_reason() != StopReason::shutdown) wrong = true;
        ++told;
    };
    auto p = world.pooled(2, work, {.soft_stop_timeout = 30s});
    Running running{p};
    REQUIRE(eventually([&] { return in == 2; }));
    running.request_stop();
    running.request_stop();  // a second signal is harmless
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    auto const report = running.wait();
    CHECK(told == 2);
    CHECK(by_token == 2);
    CHECK_FALSE(early);
    CHECK_FALSE(wrong);
    CHECK(report.completed == 2);  // it was asked, and finished: that is what counts
    CHECK(world.count.totals().stops == 1);
}

TEST_CASE(
    "handlers on the caller's own thread are told of a stop too, though that thread is busy with them") {
    World world{3};
    std::atomic<bool> in{false};
    std::atomic<int> told{0};
    auto const work = [&](int const&, fila::Context& context) {
        auto const token = context.stop_token();
        in = true;
        if (eventually([&] { return token.stop_requested(); }) &&
            context.stop_reason() == StopReason::shutdown)
            ++told;
    };
    auto p = world.alone(work, {.soft_stop_timeout = 5s});
    Running running{p};
    REQUIRE(eventually([&] { return in.load(); }));
    running.request_stop();
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    CHECK(running.wait().completed == 1);
    CHECK(told == 1);
    CHECK(world.in_state(RowState::pending) == 2);
}

TEST_CASE("with no other thread at all, a handler that polls is told of the stop and of the drain's limit") {
    World world{3};
    std::stop_source stop;
    std::vector<StopReason> reasons;
    auto const work = [&](int const&, auto& context) {
        if (reasons.empty() && !world.clock.now().time_since_epoch().count()) stop.request_stop();
        for (int i = 0; i < 1000 && !context.stop_requested(); ++i) world.clock.advance(100ms);
        reasons.push_back(context.stop_reason());
    };
    fila::Processor p{world.store, fila::InlineExecutor{}, work,
                      world.clock, fila::InTransaction{},  fila::Pace{.soft_stop_timeout = 5s}};
    SECTION("a stop") {
        auto const report = p.drain(stop.get_token());
        CHECK(report.completed == 1);
        CHECK(reasons == std::vector{StopReason::shutdown});
        CHECK(world.clock.now() == fila::TimePoint{} + 5s);
    }
    SECTION("a time limit") {
        world.clock.advance(1ns);
        auto const report = p.drain({.time_limit = 2s});
        CHECK(report.timed_out);
        CHECK(report.completed == 1);
        CHECK(reasons == std::vector{StopReason::timeout});
    }
}

TEST_CASE("a drain's time limit ends it in order: reason timeout, and the rest stays pending") {
    World world{10};
    std::atomic<int> in{0}, told{0};
    auto const work = [&](int const&, fila::Context& context) {
        ++in;
        if (eventually([&] { return context.stop_requested(); }) &&
            context.stop_reason() == StopReason::timeout)
            ++told;
    };
    auto p = world.pooled(2, work, {.batch = 5, .soft_stop_timeout = 1s});
    Running running{p, {.time_limit = 10s}};
    REQUIRE(eventually([&] { return in == 2; }));
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    auto const report = running.wait();
    CHECK(report.timed_out);
    CHECK(report.completed == 2);
    CHECK(told == 2);
    CHECK(adds_up(report));
    CHECK(world.in_state(RowState::pending) == 8);
    CHECK(world.nothing_spent());
}

TEST_CASE("a drain that ends before its limit has not timed out, and limits of nothing are refused") {
    World world{3};
    auto p = world.pooled(2, [](int const&, fila::Context&) {});
    CHECK_FALSE(p.drain({.time_limit = 1h}).timed_out);
    CHECK_THROWS_AS(p.drain({.time_limit = 0s}), fila::ConfigError);
    CHECK_THROWS_AS(p.drain({.time_limit = -1s}), fila::ConfigError);
}

TEST_CASE("case 116: a stuck handler keeps its slot, not the row, and the others go on") {
    World world{51};
    Gate gate;
    std::atomic<int> quick{0};
    std::atomic<int> stuck_runs{0};
    auto const work = [&](int const& row, fila::Context& context) {
        if (row != 1) return void(++quick);
        if (++stuck_runs > 1) return;
        auto const token = context.stop_token();
        gate.pass();  // ignores the token for ever
    };
    auto p = world.pooled(2, work, {.interval = 1s}, {.per_row = 1s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1 && quick == 50; }));
    // Its lease is not extended any more. So it runs out, and somebody else may take the row.
    REQUIRE(eventually([&] {
        world.clock.advance(1s);
        return world.row(1).history.crashes > 0;
    }));
    // Not beside itself here, but at another machine.
    CHECK(stuck_runs == 1);
    World elsewhere;
    fila::Processor other{world.store, fila::InlineExecutor{}, Work{[](int const&, fila::Context&) {}},
                          world.clock};
    REQUIRE(eventually([&] { return other.drain(), world.row(1).state == RowState::completed; }));
    gate.open();
    running.request_stop();
    auto const report = running.wait();
    CHECK(report.lost >= 1);  // what the stuck one said in the end was refused
    CHECK(adds_up(report));
    CHECK(world.row(1).state == RowState::completed);
    CHECK(stuck_runs == 1);
}

TEST_CASE("case 116: a handler that hangs among quick ones holds up none of them") {
    World world{2000};
    Gate gate;
    std::atomic<int> quick{0};
    auto p = world.pooled(
        2, [&](int const& row, fila::Context&) { row == 1000 ? void(gate.pass()) : void(++quick); }, {},
        {.per_row = 1min});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return quick == 1999; }));
    gate.open();
    CHECK(running.wait().completed == 2000);
}

TEST_CASE("after a hard stop nobody is told of what the abandoned handler does") {
    World world{1};
    Gate gate;
    std::atomic<int> late{0};
    std::atomic<bool> over{false};
    fila::ThreadPool pool{1};  // goes first at the end, and waits for the handler
    fila::Processor p{world.store,
                      pool,
                      [&](int const&) { gate.pass(), throw std::runtime_error{"too late"}; },
                      world.clock,
                      fila::Pace{.soft_stop_timeout = 0s, .hard_stop_timeout = 0s},
                      fila::observe([&](fila::RowFailed const&) { late += over; })};
    {
        Running running{p};
        REQUIRE(eventually([&] { return gate.inside() == 1; }));
        CHECK(running.stop().abandoned == 1);
    }
    over = true;
    gate.open();
    REQUIRE(eventually([&] { return gate.inside() == 0; }));
    // The pool's only thread is free again when it runs something else: by then the handler has thrown.
    world.store.table().put(2);
    fila::Processor next{world.store, pool, [](int const&) {}, world.clock};
    CHECK(next.drain().completed == 1);
    CHECK(late == 0);
    CHECK(world.row(1).history.failures == 0);
}

TEST_CASE("a row's time limit is exact where it is asked for, and trips the token by the keeper") {
    World world{1};
    std::atomic<bool> in{false}, token_tripped{false}, exact{true};
    fila::TimePoint deadline{};
    auto const work = [&](int const&, fila::Context& context) {
        deadline = context.deadline();
        auto const token = context.stop_token();
        if (context.stop_reason() != StopReason::none) exact = false;
        world.clock.advance(2s - 1ns);
        if (context.stop_reason() != StopReason::none) exact = false;
        world.clock.advance(1ns);
        if (context.stop_reason() != StopReason::timeout) exact = false;
        in = true;
        token_tripped = in_time(world.clock, [&] { return token.stop_requested(); }, 1ms);
    };
    auto p = world.pooled(1, work, {}, {.per_row = 2s});
    auto const report = p.drain();
    CHECK(exact);
    CHECK(token_tripped);
    CHECK(deadline == fila::TimePoint{} + 2s);
    CHECK(report.completed == 1);  // what it returns in time is settled as usual
}

TEST_CASE(
    "case 116: a hard stop returns without the handler that hangs, and what that does later is dropped") {
    World world{5};
    Gate gate;
    auto captured = std::make_shared<int>(7);
    std::weak_ptr<int> const alive = captured;
    std::atomic<int> finished{0};
    {
        auto p = world.pooled(
            2,
            [&, captured = std::move(captured)](int const& row, fila::Context&) {
                if (row == 1) gate.pass(), finished += *captured;
            },
            {.batch = 1, .soft_stop_timeout = 1s, .hard_stop_timeout = 3s}, {}, 5);
        Running running{p};
        REQUIRE(eventually([&] { return gate.inside() == 1 && world.in_state(RowState::completed) == 4; }));
        running.request_stop();
        REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
        auto const report = running.wait();
        CHECK(report.abandoned == 1);
        CHECK(report.completed == 4);
        CHECK(adds_up(report));
        CHECK(gate.inside() == 1);
    }
    // The processor is gone; its parts live as long as the handler does.
    CHECK_FALSE(alive.expired());
    CHECK(world.row(1).state == RowState::processing);
    gate.open();
    CHECK(eventually([&] { return alive.expired(); }));
    CHECK(finished == 7);
    CHECK(world.row(1).state == RowState::processing);  // its settle was dropped: the lease frees the row
    world.clock.advance(1h);
    CHECK(world.store.rescue({}).requeued == 1);
}

TEST_CASE("a processor may run again after a hard stop, with the slots that were abandoned") {
    World world{1};
    Gate gate;
    std::atomic<bool> hang{true};
    auto p = world.pooled(
        1,
        [&](int const&, fila::Context&) {
            if (hang) gate.pass();
        },
        {.soft_stop_timeout = 0s, .hard_stop_timeout = 0s}, {}, 1);
    {
        Running running{p};
        REQUIRE(eventually([&] { return gate.inside() == 1; }));
        CHECK(running.stop().abandoned == 1);
    }
    hang = false;
    gate.open();
    world.store.table().put(2);
    Running again{p, {}};
    REQUIRE(in_time(world.clock, [&] { return world.row(2).state == RowState::completed; }, 1s));
    REQUIRE(in_time(world.clock, [&] { return again.over(); }, 1s));
    CHECK(again.wait().abandoned == 0);
}

TEST_CASE("after a hard stop no answer of the store is waited for") {
    World world{1};
    Gate gate;
    auto p = world.pooled(
        1, [&](int const&, fila::Context&) { gate.pass(); },
        {.soft_stop_timeout = 0s, .hard_stop_timeout = 1s, .max_faults = 1000, .max_backoff = 1h});
    world.store.fail(Verb::settle, When::before, fila_tests::lost_request(), 1000);
    Running running{p};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    gate.open();
    // Into long back-offs, by small steps of time.
    REQUIRE(in_time(world.clock, [&] { return world.store.calls(Verb::settle) >= 12; }, 1s));
    running.request_stop();
    REQUIRE(eventually([&] { return world.clock.waiting() >= 2; }));
    world.clock.advance(2s);
    REQUIRE(eventually([&] { return running.over(); }));
    CHECK(world.store.calls(Verb::settle) < 1000);
    auto const report = running.wait();
    CHECK(report.unsettled + report.abandoned == 1);
    CHECK(adds_up(report));
}

TEST_CASE(
    "a critical failure ends the run: others are told, unstarted rows given back, the rest is settled") {
    World world{20};
    std::atomic<int> in{0}, cancelled{0};
    auto const work = [&](int const& row, fila::Context& context) {
        auto const token = context.stop_token();
        if (++in < 3 && !eventually([&] { return in >= 3; })) return;
        if (row == 2) throw fila::CriticalFailure{"the disk is gone"};
        if (eventually([&] { return token.stop_requested(); }) &&
            context.stop_reason() == StopReason::cancelled)
            ++cancelled;
    };
    auto p = world.pooled(3, work, {.batch = 20, .soft_stop_timeout = 1h});
    Running running{p, {}};
    REQUIRE(eventually([&] { return running.over(); }));
    CHECK_THROWS_WITH(running.wait(), "the disk is gone");
    auto const report = p.last_report();
    CHECK(cancelled == 2);
    CHECK(report.completed == 2);
    CHECK(report.retried == 1);  // its attempt is spent
    CHECK(report.released == 17);
    CHECK(adds_up(report));
    CHECK(world.row(2).history.failures == 1);
    CHECK(world.row(2).error == "the disk is gone");
    CHECK(world.in_state(RowState::processing) == 0);
}

TEST_CASE("a critical failure of a derived type reaches the caller as it is") {
    struct DiskGone : fila::CriticalFailure {
        DiskGone() : CriticalFailure{"disk"} {}
        int device = 8;
    };
    World world{3};
    auto p = world.alone([](int const&, fila::Context&) { throw DiskGone{}; });
    int device = 0;
    try {
        p.run();
    } catch (DiskGone const& e) {
        device = e.device;
    }
    CHECK(device == 8);
    CHECK(world.in_state(RowState::pending) == 3);
}

TEST_CASE("case 110: stops before the start, from a handler, twice, and from eight threads at once") {
    World world{30};
    SECTION("before the start: nothing is claimed") {
        auto p = world.pooled(2, [](int const&, fila::Context&) {});
        p.stop();
        p.stop();
        CHECK(p.run().claimed == 0);
        CHECK(p.drain().claimed == 0);  // a stopped processor stays stopped
        CHECK(world.in_state(RowState::pending) == 30);
    }
    SECTION("a token that has tripped already: nothing is claimed, and the next run is another matter") {
        auto p = world.pooled(2, [](int const&, fila::Context&) {});
        std::stop_source stop;
        stop.request_stop();
        CHECK(p.run(stop.get_token()).claimed == 0);
        CHECK(p.drain().completed == 30);
    }
    SECTION("from a handler, on a pool") {
        std::function<void()> stop;
        auto p = world.pooled(2, [&](int const&, fila::Context&) { stop(), stop(); });
        stop = [&] { p.stop(); };
        auto const report = p.run();
        CHECK(report.completed >= 1);
        CHECK(adds_up(report));
        CHECK(world.in_state(RowState::processing) == 0);
    }
    SECTION("from a handler, on the caller's thread") {
        std::function<void()> stop;
        auto p = world.alone([&](int const&, fila::Context&) { stop(); });
        stop = [&] { p.stop(); };
        CHECK(p.run().completed == 1);
        CHECK(world.in_state(RowState::pending) == 29);
    }
    SECTION("from eight threads while it runs") {
        std::atomic<int> handled{0};
        auto p = world.pooled(2, [&](int const&, fila::Context&) { ++handled; });
        Running running{p};
        REQUIRE(eventually([&] { return handled == 30; }));
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&] { p.stop(); });
        for (auto& t : threads) t.join();
        CHECK(running.wait().completed == 30);
        CHECK(world.count.totals().stops == 1);
    }
    SECTION("a second run at the same time is refused, and harms nothing") {
        Gate gate;
        auto p = world.pooled(1, [&](int const&, fila::Context&) { gate.pass(); });
        Running running{p, {}};
        OpenAtEnd const open{gate};
        REQUIRE(eventually([&] { return gate.inside() == 1; }));
        CHECK_THROWS_AS(p.drain(), fila::Error);
        gate.open();
        CHECK(running.wait().completed == 30);
        CHECK(p.drain().claimed == 0);  // and afterwards it may
    }
}

TEST_CASE("case 109: the last owner of a processor may let go on a thread of its own pool") {
    World world{5};
    std::atomic<int> destroyed{0}, handled{0};
    struct Tells {
        std::atomic<int>& n;
        ~Tells() { ++n; }
    };
    Gate gate;
    auto told = std::make_shared<Tells>(destroyed);
    // After a hard stop the abandoned handler owns the pool that runs it.
    auto p = std::make_unique<Pooled>(world.pooled(
        2, [&, told](int const& row, fila::Context&) { row == 1 ? void(gate.pass()) : void(++handled); },
        {.batch = 1, .soft_stop_timeout = 0s, .hard_stop_timeout = 0s}));
    told.reset();
    {
        Running running{*p};
        REQUIRE(eventually([&] { return gate.inside() == 1 && handled == 4; }));
        running.stop();
    }
    p.reset();
    CHECK(destroyed == 0);
    gate.open();
    CHECK(eventually([&] { return destroyed == 1; }));
}

TEST_CASE(
    "case 108: handlers that enqueue follow-ups, and a stop at any moment: nothing is lost or left in hand") {
    constexpr int depth = 10;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        fila::MemoryStore<int> store{{}, {.keep_finished = true}};
        store.put(depth);
        std::atomic<std::size_t> put{1}, handled{0};
        std::size_t const stop_at = 1 + seed * 97 % ((1u << depth) - 1);
        std::stop_source stop;
        fila::Processor p{store, fila::ThreadPool{4},
                          [&](int const& level) {
                              if (level > 0) put += store.enqueue({level - 1, level - 1});
                              if (++handled == stop_at) stop.request_stop();
                          },
                          fila::Pace{.batch = 1 + seed % 7}, fila::FixedLimiter{1 + seed % 9}};
        auto const report = p.run(stop.get_token());
        auto const counts = store.counts(1u << 20);
        INFO("seed " << seed);
        CHECK(report.completed == handled);
        CHECK(report.completed + counts.pending == put);
        CHECK(counts.processing == 0);
        CHECK(adds_up(report));
        // And then the rest.
        fila::Processor rest{store, fila::ThreadPool{2}, [&](int const& level) {
                                 if (level > 0) put += store.enqueue({level - 1, level - 1});
                                 ++handled;
                             }};
        rest.drain({.until = fila::DrainUntil::nothing_open});
        CHECK(handled == (2u << depth) - 1);
        CHECK(put == handled);
    }
}

TEST_CASE("case 111: made, run, stopped and destroyed, many times over") {
    for (int round = 0; round < 60; ++round) {
        World world{3};
        auto p = world.pooled(2, [](int const&, fila::Context&) {});
        Running running{p};
        if (round % 3) (void)eventually([&] { return world.count.totals().claimed > 0; });
        auto const report = running.stop();
        REQUIRE(adds_up(report));
        REQUIRE(world.in_state(RowState::processing) == 0);
    }
}
