// SPDX-License-Identifier: MIT
// What a processor makes of a store that fails, and of leases that are lost.
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include "support/watched_clock.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/observer_group.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>

#include <functional>
#include <map>
#include <set>

using namespace std::chrono_literals;
using fila::RowState;
using fila::StopReason;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::lost_answer;
using fila_tests::lost_request;
using fila_tests::OpenAtEnd;
using fila_tests::refusal;
using fila_tests::Running;
using fila_tests::ScriptedStore;
using fila_tests::Verb;
using fila_tests::When;

namespace {

using Work = std::function<fila::Outcome(int const&, fila::Context&)>;
using Store = ScriptedStore<>;

constexpr std::size_t lanes = 3;  // threads that sleep when there is nothing to do: claimer, settler, keeper

/// Remembers what it hears.
struct Witness {
    using policy_role = fila::observer_role;
    void operator()(fila::LeasesLost const& e) const { *leases_lost += e.rows; }
    void operator()(fila::RowsRescued const& e) const { *rescued += e.requeued; }
    void operator()(fila::Faulted const& e) const {
        std::lock_guard lock{*mutex};
        ++(*faults)[std::string{e.stage}];
    }
    [[nodiscard]] int faults_of(std::string const& stage) const {
        std::lock_guard lock{*mutex};
        return (*faults)[stage];
    }
    std::shared_ptr<std::atomic<std::size_t>> leases_lost = std::make_shared<std::atomic<std::size_t>>(0),
                                              rescued = std::make_shared<std::atomic<std::size_t>>(0);
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
    std::shared_ptr<std::map<std::string, int>> faults = std::make_shared<std::map<std::string, int>>();
};

using Pooled = fila::Processor<Store&, fila::ThreadPool, Work, fila_tests::WatchedClock, fila::Leased,
                               fila::Pace, fila::FixedDelay, Witness>;

struct World {
    explicit World(int rows = 0) {
        for (int i = 1; i <= rows; ++i) store.table().put(i);
    }
    [[nodiscard]] Pooled pooled(std::size_t threads, Work work, fila::Leased leased = {.lease = 30s},
                                fila::Pace pace = {}, fila::FixedDelay retry = {.delay = 1s}) {
        return Pooled{store,  fila::ThreadPool{threads}, std::move(work), watched, leased, pace, retry,
                      witness};
    }
    [[nodiscard]] auto row(std::int64_t key) { return *store.table().find(key); }
    [[nodiscard]] std::size_t in_state(RowState state) {
        std::size_t n = 0;
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k) n += r->state == state;
        return n;
    }
    /// Lets time pass in steps until something is so, and at each step whoever is due do what he has to: else a
    /// slow machine would lose leases that nobody had the time to extend.
    template <class Predicate>
    [[nodiscard]] bool in_time(fila::Duration step, Predicate holds, std::size_t asleep = lanes) {
        return watched.until(holds, step, asleep);
    }
    /// Another machine takes what it can, as if it were a claim of its own.
    [[nodiscard]] std::vector<fila::Ticket<std::int64_t>> steal(std::size_t most = 100) {
        Store::Rows rows;
        store.table().rescue({.max_crashes = 100});
        store.table().claim({most, {}, 1h}, rows);
        return {rows.tickets().begin(), rows.tickets().end()};
    }
    fila::ManualClock clock;
    fila_tests::WatchedClock watched{clock};
    Store store{clock};
    Witness witness;
};

fila::Outcome done(int const&, fila::Context&) { return fila::complete(); }

}  // namespace

// ---- settles ------------------------------------------------------------------------------------------------

TEST_CASE(
    "case 28: a completion that could not be written is written again, inside the lease, and runs once") {
    World world{5};
    std::atomic<int> runs{0};
    world.store.fail(Verb::settle, When::before, lost_request(), 4);
    auto p = world.pooled(2, [&](int const&, fila::Context&) { return ++runs, fila::complete(); });
    Running running{p, {}};
    REQUIRE(world.in_time(1ms, [&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.completed == 5);
    CHECK(report.errors >= 4);
    CHECK(runs == 5);
    CHECK(world.clock.now() < fila::TimePoint{} + 30s);
    CHECK(world.witness.faults_of("settle") >= 4);
}

TEST_CASE("case 28: while the settle is tried again the lease is kept, however long that takes") {
    World world{3};
    std::atomic<int> runs{0};
    world.store.fail(Verb::settle, When::before, lost_request(), 1'000'000);
    auto p =
        world.pooled(2, [&](int const&, fila::Context&) { return ++runs, fila::complete(); }, {.lease = 3s});
    Running running{p};
    REQUIRE(eventually([&] { return runs == 3; }));
    REQUIRE(world.watched.pass(30s, 100ms, lanes));  // ten leases
    world.store.heal();
    REQUIRE(world.in_time(10ms, [&] { return world.in_state(RowState::completed) == 3; }));
    auto const report = running.stop();
    CHECK(report.completed == 3);
    CHECK(report.lost == 0);
    CHECK(report.rescued == 0);
    CHECK(runs == 3);
}

TEST_CASE("case 29: a settle with an unknown end is never called lost, and the row is not run again") {
    World world{4};
    std::atomic<int> runs{0};
    world.store.fail(Verb::settle, When::after, lost_answer());
    auto p = world.pooled(1, [&](int const&, fila::Context&) { return ++runs, fila::complete(); },
                          {.lease = 30s}, {.batch = 4});
    Running running{p, {}};
    REQUIRE(world.in_time(1ms, [&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.in_doubt >= 1);
    CHECK(report.in_doubt + report.completed == 4);
    CHECK(report.lost == 0);
    CHECK(adds_up(report));
    CHECK(runs == 4);
    CHECK(world.in_state(RowState::completed) == 4);
}

TEST_CASE("case 29: not even when the keeper finds the row gone before the settle can be repeated") {
    World world{1};
    std::atomic<bool> applied{false};
    world.store.hook([&](Verb verb, When when) {
        if (verb != Verb::settle) return;
        if (applied) throw lost_request();
        if (when == When::after) applied = true, throw lost_answer();
    });
    auto p = world.pooled(1, done, {.lease = 3s}, {.interval = 1h, .max_faults = 100});
    Running running{p};
    REQUIRE(eventually([&] { return world.store.calls(Verb::settle) >= 1; }));
    REQUIRE(world.in_time(100ms, [&] { return world.store.calls(Verb::extend) == 1; }));
    running.request_stop();
    REQUIRE(world.in_time(100ms, [&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.in_doubt == 1);
    CHECK(report.lost == 0);
    CHECK(*world.witness.leases_lost == 0);  // it was settled, not lost
    CHECK(adds_up(report));
}

TEST_CASE("a release with an unknown end is not repeated: the lease frees the row if need be") {
    World world{5};
    Gate gate;
    std::atomic<int> releases{0};
    world.store.inspect_settles([&](auto settlements) {
        for (auto const& s : settlements) releases += s.outcome.kind() == fila::Outcome::Kind::release;
    });
    auto p = world.pooled(1, [&](int const&, fila::Context&) { return gate.pass(), fila::complete(); },
                          {.lease = 30s}, {.batch = 5});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    world.store.fail(Verb::settle, When::after, lost_answer());
    running.request_stop();
    REQUIRE(world.in_time(1ms, [&] { return releases == 4; }));
    gate.open();
    REQUIRE(world.in_time(1ms, [&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(releases == 4);
    CHECK(report.in_doubt >= 1);
    CHECK(report.in_doubt + report.released == 4);
    CHECK(report.completed == 1);
    CHECK(adds_up(report));
}

TEST_CASE("a settle that is refused for one row's content fails that row alone") {
    World world{64};
    auto const poison = GENERATE(1, 33, 64);
    std::atomic<int> calls{0};
    world.store.inspect_settles([&](auto settlements) {
        ++calls;
        for (auto const& s : settlements)
            if (s.ticket.key == poison && s.outcome.text() == "poison") throw refusal();
    });
    auto p = world.pooled(
        1, [&](int const& row, fila::Context&) { return fila::complete(row == poison ? "poison" : "fine"); },
        {.lease = 30s}, {.batch = 64});
    Running running{p, {}};
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.completed == 63);
    CHECK(report.retried == 1);
    CHECK(adds_up(report));
    CHECK(world.row(poison).history.failures == 1);
    CHECK(world.row(poison).error.find("refused by the store") != std::string::npos);
    CHECK(world.row(poison == 64 ? 63 : poison + 1).word == "fine");
    CHECK(calls < 200);
}

TEST_CASE("a store that refuses even the failure of a row leaves it to its lease, and the rest is settled") {
    World world{8};
    world.store.inspect_settles([&](auto settlements) {
        for (auto const& s : settlements)
            if (s.ticket.key == 3) throw refusal();
    });
    auto p = world.pooled(1, done, {.lease = 30s}, {.batch = 8});
    Running running{p, {}};
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.completed == 7);
    CHECK(report.unsettled == 1);
    CHECK(adds_up(report));
    CHECK(world.row(3).state == RowState::processing);
    world.clock.advance(31s);
    CHECK(world.store.rescue({}).requeued == 1);
}

TEST_CASE("a refusal is laid on the row that it is about, even if that row was lost meanwhile") {
    World world{2};
    Gate gate;
    std::atomic<bool> armed{true};
    world.store.inspect_settles([&](auto settlements) {
        for (auto const& s : settlements) {
            if (s.ticket.key != 1 || !armed) continue;
            if (settlements.size() > 1) throw refusal();  // found by halving
            // Before it can be laid on row 1, the row is lost and the keeper knows it.
            armed = false;
            world.store.table().expire(1);
            (void)world.steal(1);
            auto const before = world.store.calls(Verb::extend);
            auto const asked = [&] { return world.store.calls(Verb::extend) > before; };
            (void)world.in_time(100ms, asked, lanes - 1);  // this is the settler
            (void)world.watched.at_rest(lanes - 1);
            throw refusal();
        }
    });
    auto p = world.pooled(2, [&](int const&, fila::Context&) { return gate.pass(), fila::complete(); },
                          {.lease = 3s}, {.batch = 2});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    gate.open();
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.completed == 1);
    CHECK(world.row(2).state == RowState::completed);
    CHECK(world.row(2).history.failures == 0);
    CHECK(report.lost == 1);
    CHECK(report.unsettled == 0);
    CHECK(adds_up(report));
}

TEST_CASE("a drain gives up settling after Pace::max_faults, and throws the store's error") {
    World world{5};
    world.store.fail(Verb::settle, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(2, done, {.lease = 30s}, {.max_faults = 5, .max_backoff = 100ms});
    Running running{p, {}};
    REQUIRE(world.in_time(10ms, [&] { return running.over(); }));
    CHECK_THROWS_WITH(running.wait(), "connection lost");
    auto const report = p.last_report();
    CHECK(report.unsettled >= 1);
    CHECK(adds_up(report));
    CHECK(world.store.calls(Verb::settle) <= 15);
}

// ---- claims -------------------------------------------------------------------------------------------------

TEST_CASE("case 76: a drain tries a dead store a bounded number of times, then throws") {
    World world{3};
    auto const verb = GENERATE(Verb::claim, Verb::rescue);
    world.store.fail(verb, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(2, done, {.lease = 30s}, {.max_faults = 6, .max_backoff = 1s});
    Running running{p, {}};
    REQUIRE(world.in_time(10ms, [&] { return running.over(); }));
    CHECK_THROWS_WITH(running.wait(), "connection lost");
    CHECK(world.store.calls(verb) == 6);
    CHECK(p.last_report().errors == 6);
}

TEST_CASE("case 76: short leases do not make a drain try for ever: a rescue that works excuses no claim") {
    World world{3};
    world.store.fail(Verb::claim, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(2, done, {.lease = 60ms}, {.max_faults = 10, .max_backoff = 10s});
    Running running{p, {}};
    REQUIRE(world.in_time(5ms, [&] { return running.over() || world.store.calls(Verb::claim) > 100; }));
    CHECK_THROWS_WITH(running.wait(), "connection lost");
    CHECK(world.store.calls(Verb::claim) == 10);
}

TEST_CASE("case 76: a drain does not repeat what the store refuses for good") {
    World world{3};
    world.store.fail(Verb::claim, When::before, refusal(), 1'000'000);
    auto p = world.pooled(2, done);
    CHECK_THROWS_WITH(p.drain(), "refused by the store");
    CHECK(world.store.calls(Verb::claim) == 1);
}

TEST_CASE("case 76: a run waits for a dead store, ever longer up to the cap, and recovers by itself") {
    World world{10};
    world.store.fail(Verb::claim, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(2, done, {.lease = 5min}, {.interval = 1s, .max_backoff = 10s});
    Running running{p};
    REQUIRE(world.watched.pass(10min, 1s, lanes));
    auto const tries = world.store.calls(Verb::claim);
    CHECK(tries >= 30);   // it goes on trying
    CHECK(tries <= 140);  // at least 5 s apart, once the wait has grown
    world.store.heal();
    REQUIRE(world.in_time(1s, [&] { return world.in_state(RowState::completed) == 10; }));
    CHECK(running.stop().completed == 10);
}

TEST_CASE("what a claim had appended when it threw is dropped, and its leases free the rows") {
    World world{6};
    world.store.fail(Verb::claim, When::after, lost_answer());
    std::map<int, int> runs;
    std::mutex mutex;
    auto p = world.pooled(1,
                          [&](int const& row, fila::Context&) {
                              std::lock_guard lock{mutex};
                              return ++runs[row], fila::complete();
                          },
                          {.lease = 2s}, {.interval = 1s, .batch = 3});
    Running running{p};
    REQUIRE(world.in_time(100ms, [&] { return world.in_state(RowState::completed) == 6; }));
    auto const report = running.stop();
    CHECK(report.completed == 6);
    CHECK(report.rescued == 3);
    CHECK(adds_up(report));
    for (auto const& [row, n] : runs) CHECK(n == 1);
}

TEST_CASE("a store that returns more rows than it was asked for is a fault, not an overflow") {
    struct Generous : Store {
        using Store::Store;
        fila::ClaimResult<cursor_type> claim(Request r, Rows& out) {
            r.limit *= 10;
            return Store::claim(r, out);
        }
    };
    fila::ManualClock clock;
    Generous store{clock};
    for (int i = 0; i < 100; ++i) store.table().put(i);
    std::atomic<int> runs{0};
    fila::Processor p{store, fila::InlineExecutor{}, [&](int const&) { ++runs; }, clock};
    CHECK_THROWS_AS(p.drain(), fila::Error);
    CHECK(runs == 0);
}

// ---- leases -------------------------------------------------------------------------------------------------

TEST_CASE("case 18, case 21: a handler of many leases runs once, and so do the rows that wait behind it") {
    World world{10};
    Gate gate;
    std::atomic<int> runs{0};
    auto p =
        world.pooled(1, [&](int const&, fila::Context&) { return ++runs, gate.pass(), fila::complete(); },
                     {.lease = 3s}, {.interval = 1s, .batch = 5});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    for (int i = 0; i < 200; ++i) {  // twenty leases
        auto const beats = world.store.calls(Verb::extend);
        world.clock.advance(1s);
        REQUIRE(eventually([&] { return world.store.calls(Verb::extend) > beats; }));
        if (i % 10 == 0) CHECK(world.store.table().rescue({}).rows() == 0);  // another machine looks
    }
    gate.open();
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(runs == 10);
    CHECK(report.completed == 10);
    CHECK(report.lost == 0);
}

TEST_CASE("case 20: the heartbeat goes on until the last handler has ended and is settled") {
    World world{1};
    Gate gate;
    auto p = world.pooled(1, [&](int const&, fila::Context&) { return gate.pass(), fila::complete(); },
                          {.lease = 3s}, {.soft_stop_timeout = 1s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    running.request_stop();
    for (int i = 0; i < 30; ++i) {
        auto const beats = world.store.calls(Verb::extend);
        world.clock.advance(1s);
        REQUIRE(eventually([&] { return world.store.calls(Verb::extend) > beats; }));
        CHECK(world.store.table().rescue({}).rows() == 0);
    }
    gate.open();
    REQUIRE(eventually([&] { return running.over(); }));
    CHECK(running.wait().completed == 1);
}

TEST_CASE("case 14: a machine that is alive does not keep the rows of one that died") {
    World world{2};
    Store::Rows ghost;
    world.store.table().claim({1, {}, 5s}, ghost);  // died with row 1 in hand
    REQUIRE(ghost.size() == 1);
    Gate gate;
    auto p = world.pooled(2,
                          [&](int const& row, fila::Context&) {
                              return row == 2 ? void(gate.pass()) : void(), fila::complete();
                          },
                          {.lease = 5s}, {.interval = 1s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    REQUIRE(world.in_time(100ms, [&] { return world.row(1).state == RowState::completed; }));
    CHECK(world.row(1).history.crashes == 1);
    CHECK(world.row(2).state == RowState::processing);
    gate.open();
    CHECK(running.stop().completed == 2);
}

TEST_CASE("case 24: a row whose owner has died too often is dead, and never reaches a handler") {
    World world{1};
    for (int crash = 0; crash < 2; ++crash) {
        (void)world.steal();
        world.store.table().expire(1);
    }
    std::atomic<int> runs{0};
    auto p = world.pooled(1, [&](int const&, fila::Context&) { return ++runs, fila::complete(); },
                          {.lease = 5s, .max_crashes = 2});
    auto const report = p.drain();
    CHECK(report.rescued_dead == 1);
    CHECK(report.claimed == 0);
    CHECK(world.row(1).state == RowState::dead);
    CHECK(runs == 0);
}

TEST_CASE("a lease that is lost while its handler runs: it is told, and its settle is never applied") {
    World world{1};
    std::atomic<bool> in{false};
    std::atomic<StopReason> reason{StopReason::none};
    auto const work = [&](int const&, fila::Context& context) {
        auto const token = context.stop_token();
        in = true;
        (void)eventually([&] { return token.stop_requested(); });
        reason = context.stop_reason();
        return fila::complete("by the old owner");
    };
    auto p = world.pooled(1, work, {.lease = 3s}, {.interval = 1h});
    Running running{p};
    REQUIRE(eventually([&] { return in.load(); }));
    world.store.table().expire(1);
    REQUIRE(world.steal().size() == 1);
    REQUIRE(world.in_time(100ms, [&] { return reason == StopReason::lease_lost; }));
    auto const report = running.stop();
    CHECK(report.lost == 1);
    CHECK(report.completed == 0);
    CHECK(*world.witness.leases_lost == 1);
    CHECK(adds_up(report));
    CHECK(world.row(1).state == RowState::processing);  // the thief's
    CHECK(world.row(1).word.empty());
}

TEST_CASE("case 21: a row that waits here and was lost is not started") {
    World world{3};
    Gate gate;
    std::set<int> ran;
    std::mutex mutex;
    auto p = world.pooled(1,
                          [&](int const& row, fila::Context&) {
                              {
                                  std::lock_guard lock{mutex};
                                  ran.insert(row);
                              }
                              if (row == 1) gate.pass();
                              return fila::complete();
                          },
                          {.lease = 3s}, {.batch = 3});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    world.store.table().expire(2);
    REQUIRE(world.steal().size() == 1);
    REQUIRE(world.in_time(100ms, [&] { return *world.witness.leases_lost == 1; }));
    gate.open();
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(ran == std::set<int>{1, 3});
    CHECK(report.completed == 2);
    CHECK(report.lost == 1);
    CHECK(adds_up(report));
    CHECK(world.row(2).state == RowState::processing);
}

TEST_CASE("handlers are told when their lease has certainly run out, not before, and may still settle") {
    World world{1};
    std::atomic<bool> in{false}, early{false}, told{false};
    auto const work = [&](int const&, fila::Context& context) {
        auto const token = context.stop_token();
        in = true;
        if (!eventually([&] { return token.stop_requested(); })) return fila::complete();
        if (world.clock.now() < fila::TimePoint{} + 9s) early = true;
        told = context.stop_reason() == StopReason::lease_lost;
        return fila::complete();
    };
    world.store.fail(Verb::extend, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(1, work, {.lease = 9s}, {.interval = 1h});
    Running running{p};
    REQUIRE(eventually([&] { return in.load(); }));
    REQUIRE(world.in_time(50ms, [&] { return world.in_state(RowState::completed) == 1; }));
    auto const report = running.stop();
    CHECK(told);
    CHECK_FALSE(early);
    CHECK(report.completed == 1);  // nobody had taken it: the fence has the last word
    CHECK(world.witness.faults_of("extend") > 1);
}

TEST_CASE(
    "case 66: while a heartbeat has no answer, handlers learn that the lease ran out, and no row is begun") {
    World world{2};
    Gate answer;
    std::atomic<bool> early{false}, told{false};
    std::atomic<int> runs{0};
    auto const work = [&](int const&, fila::Context& context) {
        ++runs;
        told = eventually([&] { return context.stop_reason() == StopReason::lease_lost; });
        if (world.clock.now() < fila::TimePoint{} + 9s) early = true;
        return fila::complete();
    };
    world.store.hook([&](Verb verb, When when) {
        if (verb == Verb::extend && when == When::before) answer.pass();
    });
    auto p = world.pooled(1, work, {.lease = 9s}, {.interval = 1h, .batch = 2});
    Running running{p, {}};
    OpenAtEnd const open{answer};
    REQUIRE(eventually([&] { return runs == 1; }));
    REQUIRE(world.in_time(50ms, [&] { return answer.inside() == 1; }));
    auto const others = lanes - 1;  // the keeper waits for its answer
    // The second row too is put back before the keeper has its answer.
    auto const ended = [&] {
        return told && world.in_state(RowState::completed) == 1 && world.in_state(RowState::pending) == 1;
    };
    REQUIRE(world.in_time(50ms, ended, others));
    answer.open();
    REQUIRE(eventually([&] { return running.over(); }));
    auto const report = running.wait();
    CHECK_FALSE(early);
    CHECK(runs == 1);
    CHECK(report.completed == 1);  // nobody had taken it: the fence has the last word
    CHECK(report.released == 1);
    CHECK(world.in_state(RowState::pending) == 1);
    CHECK(adds_up(report));
}

TEST_CASE("case 18: our own row that comes back after an outage is not run beside itself") {
    World world{2};
    Gate gate;
    std::atomic<int> inside{0}, most{0}, runs{0};
    auto const work = [&](int const& row, fila::Context&) {
        if (row != 1) return fila::complete();
        ++runs;
        most = std::max(most.load(), ++inside);
        gate.pass();
        --inside;
        return fila::complete();
    };
    world.store.fail(Verb::extend, When::before, lost_request(), 1'000'000);
    auto p = world.pooled(3, work, {.lease = 3s, .max_crashes = 1000}, {.interval = 1s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    // The lease runs out, we rescue the row ourselves, and claim it again.
    REQUIRE(world.in_time(100ms, [&] { return world.row(1).fence >= 3; }));
    CHECK(most == 1);
    CHECK(runs == 1);
    world.store.heal();
    gate.open();
    REQUIRE(world.in_time(100ms, [&] { return world.row(1).state == RowState::completed; }));
    auto const report = running.stop();
    // The first run's word came too late; so may what was given back, if this machine is slower than the clock.
    CHECK(report.lost >= 1);
    CHECK(report.released >= 1);  // what came back while it ran
    CHECK(most == 1);
    CHECK(adds_up(report));
}

TEST_CASE("case 18: our own row that the store gives out again after a crash is not run beside itself") {
    World world{2};
    Gate gate;
    std::atomic<int> inside{0}, most{0};
    auto const work = [&](int const& row, fila::Context&) {
        if (row != 1) return fila::complete();
        most = std::max(most.load(), ++inside);
        gate.pass();
        --inside;
        return fila::complete();
    };
    auto p = world.pooled(3, work, {.lease = 30s}, {.interval = 1s});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));
    fila::Ticket<std::int64_t> const ours{1, world.row(1).fence};
    world.store.forget({&ours, 1});
    REQUIRE(world.in_time(100ms, [&] { return world.row(1).fence > ours.fence; }));
    CHECK(most == 1);
    gate.open();
    REQUIRE(world.in_time(100ms, [&] { return world.row(1).state == RowState::completed; }));
    auto const report = running.stop();
    CHECK(most == 1);
    CHECK(report.released >= 1);  // what came back while it ran
    CHECK(report.completed == 2);
    CHECK(adds_up(report));
}

TEST_CASE("DrainUntil::nothing_open waits for the leases of the dead and for its own retries") {
    World world{3};
    Store::Rows ghost;
    world.store.table().claim({1, {}, 20s}, ghost);
    std::atomic<int> failures{0};
    auto p = world.pooled(2,
                          [&](int const& row, fila::Context& context) {
                              if (row == 3 && context.attempt() < 3)
                                  return ++failures, fila::retry(7s, "not yet");
                              return fila::complete();
                          },
                          {.lease = 20s}, {.interval = 1s});
    Running running{p, {.until = fila::DrainUntil::nothing_open}};
    REQUIRE(world.in_time(100ms, [&] { return running.over(); }));
    auto const report = running.wait();
    CHECK(report.completed == 3);
    CHECK(report.retried == 2);
    CHECK(report.rescued == 1);
    CHECK(failures == 2);
    CHECK(world.in_state(RowState::completed) == 3);
    CHECK(world.clock.now() >= fila::TimePoint{} + 20s);
}

TEST_CASE("DrainUntil::nothing_open waits for a row that another machine still works on") {
    World world{1};
    Store::Rows theirs;
    world.store.table().claim({1, {}, 1h}, theirs);
    auto p = world.pooled(1, done, {.lease = 5s}, {.interval = 1s});
    Running running{p, {.until = fila::DrainUntil::nothing_open}};
    REQUIRE(world.watched.pass(20s, 1s, lanes));
    CHECK_FALSE(running.over());
    fila::Settlement<int, std::int64_t> const finished{theirs.tickets()[0], fila::complete(), nullptr};
    fila::Ack ack{};
    world.store.table().settle(std::span{&finished, 1}, std::span{&ack, 1});
    REQUIRE(world.in_time(100ms, [&] { return running.over(); }));
    CHECK(running.wait().claimed == 0);
}

TEST_CASE("an inspection that fails is tried again, and given up by the rules of a drain") {
    World world{1};
    SECTION("for a while") {
        world.store.fail(Verb::counts, When::before, lost_request(), 3);
        auto p = world.pooled(1, done, {.lease = 5s}, {.interval = 1s});
        Running running{p, {.until = fila::DrainUntil::nothing_open}};
        REQUIRE(world.in_time(100ms, [&] { return running.over(); }));
        CHECK(running.wait().completed == 1);
    }
    SECTION("for good") {
        world.store.fail(Verb::counts, When::before, lost_request(), 1'000'000);
        auto p = world.pooled(1, done, {.lease = 5s}, {.interval = 1s, .max_faults = 4});
        Running running{p, {.until = fila::DrainUntil::nothing_open}};
        REQUIRE(world.in_time(100ms, [&] { return running.over() || world.store.calls(Verb::counts) > 50; }));
        CHECK_THROWS_WITH(running.wait(), "connection lost");
        CHECK(world.store.calls(Verb::counts) == 4);
    }
}

// ---- health -------------------------------------------------------------------------------------------------

TEST_CASE("health tells of each verb, of errors in a row, and of what hangs, while it runs and afterwards") {
    World world{1};
    Gate gate;
    auto p = world.pooled(1, [&](int const&, fila::Context&) { return gate.pass(), fila::complete(); },
                          {.lease = 30s}, {.interval = 1s, .max_backoff = 1s});
    CHECK_FALSE(p.health().running);
    CHECK_FALSE(p.health().claim.since);
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1; }));

    REQUIRE(world.watched.pass(65s, 1s, lanes));
    auto const busy = p.health();
    CHECK(busy.running);
    CHECK(busy.in_flight == 1);
    CHECK(busy.oldest_in_flight >= 60s);
    REQUIRE(busy.claim.since);
    CHECK(*busy.claim.since <= 2s);  // it looks on, and finds nothing
    REQUIRE(busy.heartbeat.since);
    CHECK(*busy.heartbeat.since <= 11s);
    CHECK_FALSE(busy.settle.since);

    world.store.fail(Verb::claim, When::before, lost_request(), 1'000'000);
    REQUIRE(world.watched.pass(20s, 1s, lanes));
    auto const cut_off = p.health();
    CHECK(cut_off.claim.consecutive_errors >= 3);
    REQUIRE(cut_off.claim.since);
    CHECK(*cut_off.claim.since >= 15s);
    CHECK(cut_off.heartbeat.consecutive_errors == 0);

    world.store.heal();
    gate.open();
    REQUIRE(world.in_time(100ms, [&] { return p.health().settle.since && p.health().in_flight == 0; }));
    REQUIRE(world.in_time(100ms, [&] { return p.health().claim.consecutive_errors == 0; }));
    running.stop();
    auto const after = p.health();
    CHECK_FALSE(after.running);
    CHECK(after.in_flight == 0);
    CHECK(after.settle.since);
}
