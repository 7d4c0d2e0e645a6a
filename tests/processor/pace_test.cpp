// SPDX-License-Identifier: MIT
// When a processor looks, how much it takes, which threads it uses, and what it refuses to be built from.
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

#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <thread>

using namespace std::chrono_literals;
using fila::RowState;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::in_time;
using fila_tests::OpenAtEnd;
using fila_tests::Running;
using fila_tests::ScriptedStore;
using fila_tests::Verb;
using fila_tests::WatchedClock;
using fila_tests::When;

namespace {

using Work = std::function<fila::Outcome(int const&)>;
using Store = ScriptedStore<>;
using Pooled = fila::Processor<Store&, fila::ThreadPool, Work, WatchedClock, fila::Pace,
                               fila::CountingObserver, fila::FixedLimiter>;

struct World {
    explicit World(int rows = 0) { put(1, rows); }
    void put(int from, int to, fila::EnqueueOptions options = {}) {
        std::vector<int> all;
        for (int i = from; i <= to; ++i) all.push_back(i);
        store.table().enqueue(all, options);
    }
    [[nodiscard]] Pooled pooled(std::size_t threads, Work work, fila::Pace pace = {},
                                std::size_t slots = 100'000) {
        return Pooled{store, fila::ThreadPool{threads}, std::move(work), watched, pace,
                      count, fila::FixedLimiter{slots}};
    }
    [[nodiscard]] auto row(std::int64_t key) { return *store.table().find(key); }
    fila::ManualClock clock;
    WatchedClock watched{clock};
    Store store{clock};
    fila::CountingObserver count;
};

void raise_to(std::atomic<int>& most, int n) {
    for (auto m = most.load(); m < n && !most.compare_exchange_weak(m, n);) {}
}
std::size_t threads_here() {
    static bool const sanitizers_too = [] {  // they have a thread of their own from the first one on
        std::thread{[] {}}.join();
        return true;
    }();
    (void)sanitizers_too;
    // The system lists a thread that has been joined for a moment longer: so the least of several looks.
    auto least = std::numeric_limits<std::ptrdiff_t>::max();
    for (int look = 0; look < 50; ++look, std::this_thread::yield()) {
        auto const tasks = std::filesystem::directory_iterator{"/proc/self/task"};
        least = std::min(least, std::distance(begin(tasks), end(tasks)));
    }
    return static_cast<std::size_t>(least);
}
constexpr std::size_t lanes = 3;  // claimer, settler, keeper

}  // namespace

// ---- concurrency --------------------------------------------------------------------------------------------

TEST_CASE("one claim employs every worker") {
    auto const threads = GENERATE(2u, 4u, 9u);
    World world{static_cast<int>(threads)};
    Gate gate;
    auto p = world.pooled(threads, [&](int const&) { return gate.pass(), fila::complete(); });
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == static_cast<int>(threads); }));
    gate.open();
    CHECK(running.wait().completed == threads);
}

TEST_CASE("a worker that is free takes what comes while the others are busy for long") {
    World world{2};
    Gate gate;
    std::atomic<int> quick{0};
    auto p = world.pooled(
        3, [&](int const& row) { return row <= 2 ? void(gate.pass()) : void(++quick), fila::complete(); },
        {.interval = 1h});
    Running running{p};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    for (int n = 1; n <= 50; ++n) {
        world.put(100 + n, 100 + n);
        REQUIRE(eventually([&] { return quick == n; }));
    }
    gate.open();
    CHECK(running.stop().completed == 52);
}

TEST_CASE("never more rows in hand than the limiter allows, and never more handlers than threads") {
    World world{500};
    auto const slots = GENERATE(1u, 3u, 7u);
    std::atomic<int> inside{0}, most_inside{0}, most_held{0};
    auto p = world.pooled(
        4,
        [&](int const& row) -> fila::Outcome {
            raise_to(most_inside, ++inside);
            raise_to(most_held, static_cast<int>(world.store.table().counts(1000).processing));
            --inside;
            if (row % 3 == 0) throw std::runtime_error{"no"};
            return fila::complete();
        },
        {}, slots);
    auto const report = p.drain();
    CHECK(report.claimed == 500);
    CHECK(adds_up(report));
    CHECK(most_held <= static_cast<int>(slots));
    CHECK(most_inside <= 4);
}

TEST_CASE("case 115: exceptions from everywhere leave every slot free") {
    World world{3000};
    world.store.break_rows([](int row) { return row % 7 == 0; });
    std::atomic<int> settles{0}, claims{0};
    world.store.hook([&](Verb verb, When when) {
        if (when == When::after) return;
        if (verb == Verb::settle && ++settles % 5 == 0) throw fila_tests::lost_request();
        if (verb == Verb::claim && ++claims % 4 == 0) throw 42;
    });
    auto p = world.pooled(
        3,
        [&](int const& row) -> fila::Outcome {
            if (row % 3 == 0) throw std::runtime_error{"no"};
            return fila::complete();
        },
        {.interval = 10ms, .batch = 10, .max_backoff = 1ms}, 20);
    Running running{p};
    auto const handled = [&] {
        auto const s = world.count.totals().settled;
        return s.completed + s.retried + s.lost + s.in_doubt;
    };
    REQUIRE(in_time(world.clock, [&] { return handled() >= 3000; }, 1ms));
    running.request_stop();
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 1ms));
    CHECK(adds_up(running.wait()));
    // All slots and all workers are there again: three rows run at once.
    world.store.hook({[](Verb, When) {}});
    Gate gate;
    world.put(200'001, 200'003, {.priority = -1});
    auto q = world.pooled(
        3,
        [&](int const& row) {
            if (row > 200'000) gate.pass();
            return fila::complete();
        },
        {.batch = 3}, 20);
    Running again{q, {}};
    OpenAtEnd const open{gate};
    CHECK(eventually([&] { return gate.inside() == 3; }));
    gate.open();
    CHECK(adds_up(again.wait()));
}

TEST_CASE("a limiter that grants nothing for a while, and does not say when, is asked again") {
    struct Shared {
        using policy_role = fila::limiter_role;
        std::shared_ptr<std::atomic<int>> denials = std::make_shared<std::atomic<int>>(5);
        [[nodiscard]] std::size_t acquire(std::size_t n) const {
            return denials->fetch_sub(1) > 0 ? 0 : std::min<std::size_t>(n, 2);
        }
        void release(std::size_t) const {}
    };
    World world{20};
    fila::Processor p{world.store, fila::InlineExecutor{}, [](int const&) {},
                      world.clock, fila::InTransaction{},  Shared{}};
    Running running{p, {}};
    REQUIRE(in_time(world.clock, [&] { return running.over(); }, 10ms));
    CHECK(running.wait().completed == 20);
}

TEST_CASE("a limiter that throws grants nothing, is reported, and is asked again soon but not at once") {
    struct Broken {
        using policy_role = fila::limiter_role;
        std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);
        [[nodiscard]] std::size_t acquire(std::size_t) const {
            ++*asked;
            throw std::runtime_error{"no limit is known"};
        }
        void release(std::size_t) const {}
    };
    World world{20};
    Broken const broken;
    fila::Processor p{world.store,   fila::InlineExecutor{}, [](int const&) {},
                      world.watched, fila::InTransaction{},  broken,
                      world.count};
    Running running{p};
    REQUIRE(world.watched.pass(1min, 50ms, 1));
    CHECK(*broken.asked > 300);
    CHECK(*broken.asked <= 601);
    auto const report = running.stop();
    CHECK(report.claimed == 0);
    CHECK(report.errors == static_cast<std::size_t>(*broken.asked));
}

TEST_CASE("on the caller's thread too, a row that took long is settled before the next is begun") {
    World world{20};
    std::size_t most = 0;
    fila::Processor p{world.store,
                      fila::InlineExecutor{},
                      [&](int const&) {
                          most = std::max(
                              most, world.count.totals().claimed - world.count.totals().settled.completed);
                          world.clock.advance(1s);
                      },
                      world.clock,
                      fila::Pace{.batch = 5},
                      world.count};
    CHECK(p.drain().completed == 20);
    CHECK(most <= 10);
    CHECK(world.store.calls(Verb::settle) >= 19);  // not one for the whole batch
}

// ---- the adaptive batch -------------------------------------------------------------------------------------

TEST_CASE("no-op handlers soon claim by the hundreds") {
    fila::ManualClock time;  // by which they take no time at all
    Store store{time};
    std::vector<int> rows(50'000);
    store.table().enqueue(rows);
    fila::Processor p{store, fila::InlineExecutor{}, [](int const&) {}, time};
    CHECK(p.drain().completed == 50'000);
    auto const limits = store.claim_limits();
    REQUIRE(limits.size() >= 10);
    CHECK(*std::max_element(limits.begin(), limits.begin() + 10) >= 500);
    CHECK(*std::max_element(limits.begin(), limits.end()) <= 1000);
}

TEST_CASE("handlers of a second have one row more than there are threads, and no more") {
    World world{40};
    auto const threads = GENERATE(1u, 3u);
    std::atomic<int> most{0};
    auto p = world.pooled(threads, [&](int const&) {
        world.clock.advance(1s);
        raise_to(most, static_cast<int>(world.store.table().counts(1000).processing));
        return fila::complete();
    });
    CHECK(p.drain().completed == 40);
    CHECK(most <= static_cast<int>(threads) + 1);
    for (auto const limit : world.store.claim_limits()) CHECK(limit <= threads + 1);
}

TEST_CASE("a batch smaller than the pool employs all of it nevertheless") {
    World world{12};
    Gate gate;
    auto p = world.pooled(6, [&](int const&) { return gate.pass(), fila::complete(); }, {.batch = 1});
    Running running{p, {}};
    OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 6; }));
    CHECK(world.store.table().counts(100).processing <= 7);
    gate.open();
    CHECK(running.wait().completed == 12);
}

TEST_CASE("a fixed batch is what is asked for, and two of them at most are in hand") {
    World world{100};
    std::atomic<int> most{0};
    auto p = world.pooled(2,
                          [&](int const&) {
                              raise_to(most, static_cast<int>(world.store.table().counts(1000).processing));
                              return fila::complete();
                          },
                          {.batch = 5});
    CHECK(p.drain().completed == 100);
    CHECK(most <= 10);
    for (auto const limit : world.store.claim_limits()) CHECK(limit <= 5);
}

// ---- rows that come back ------------------------------------------------------------------------------------

TEST_CASE("a row that is put off for no time at all comes back once a sweep, not as fast as passes go") {
    World world{1};
    int runs = 0;
    auto const count_and = [&](auto then) { return [&runs, then](int const&) { return ++runs, then(); }; };
    auto const watch = [&](auto handler) {
        fila::Processor p{world.store,   fila::InlineExecutor{}, handler,
                          world.watched, fila::NextPass{},       fila::Pace{.interval = 10s, .sweep = 1s}};
        Running running{p};
        CHECK(world.watched.pass(1min, 50ms, 2));
        CHECK(adds_up(running.stop()));
    };
    SECTION("NextPass") {
        watch(count_and([]() -> fila::Outcome { throw std::runtime_error{"no"}; }));
        CHECK(world.row(1).history.failures == static_cast<unsigned>(runs));
    }
    SECTION("the handler asks for it") {
        watch(count_and([] { return fila::retry(0s); }));
    }
    SECTION("a snooze") {
        watch(count_and([] { return fila::snooze(0s); }));
    }
    CHECK(runs >= 30);
    CHECK(runs <= 61);
}

// ---- when it looks ------------------------------------------------------------------------------------------

TEST_CASE("while there is work it is fetched at once, whatever the interval") {
    World world{10'000};
    auto p = world.pooled(2, [](int const&) { return fila::complete(); }, {.interval = 1h, .sweep = 1h});
    Running running{p};
    REQUIRE(eventually([&] { return world.count.totals().settled.completed == 10'000; }));
    CHECK(world.clock.now() == fila::TimePoint{});  // no time has passed at all
    CHECK(running.stop().completed == 10'000);
}

TEST_CASE("a new row wakes an idle run, long before its interval") {
    World world;
    auto p = world.pooled(2, [](int const&) { return fila::complete(); }, {.interval = 1h});
    Running running{p};
    for (int n = 1; n <= 200; ++n) {
        if (n % 2)
            REQUIRE(
                eventually([&] { return world.watched.still(lanes); }));  // fast asleep, or just about to be
        world.put(n, n);
        REQUIRE(eventually(
            [&] { return world.count.totals().settled.completed == static_cast<std::size_t>(n); }));
    }
    CHECK(world.clock.now() == fila::TimePoint{});
    CHECK(running.stop().completed == 200);
}

TEST_CASE(
    "case 72: of wakes for nothing ten are heeded, then ten a second, and the row behind them is found") {
    World world;
    auto p = world.pooled(2, [](int const&) { return fila::complete(); }, {.interval = 1h});
    Running running{p};
    REQUIRE(world.watched.at_rest(lanes));
    auto const before = world.store.calls(Verb::claim);
    for (int i = 0; i < 1000; ++i) {
        world.store.wake_for_nothing();
        if (i % 50 == 0) REQUIRE(world.watched.at_rest(lanes));
    }
    REQUIRE(world.watched.at_rest(lanes));
    CHECK(world.store.calls(Verb::claim) <= before + 11);  // no time has passed
    world.put(1, 1);
    CHECK(world.watched.until([&] { return world.count.totals().settled.completed == 1; }, 10ms, lanes));
    CHECK(world.clock.now() < fila::TimePoint{} + 10s);
    CHECK(running.stop().completed == 1);
}

TEST_CASE("case 67: a retry wakes an idle run when it is due, not at the next interval") {
    World world{1};
    std::atomic<int> runs{0};
    auto p =
        world.pooled(1, [&](int const&) { return ++runs < 3 ? fila::retry(7s, "busy") : fila::complete(); },
                     {.interval = 1h});
    Running running{p};
    auto const retried = [&](std::size_t n) {
        return eventually([&] { return world.count.totals().settled.retried == n; });
    };
    REQUIRE(retried(1));
    REQUIRE(world.watched.pass(6s, 100ms, lanes));
    CHECK(runs == 1);
    REQUIRE(world.watched.pass(2s, 100ms, lanes));
    REQUIRE(retried(2));
    REQUIRE(world.watched.pass(8s, 100ms, lanes));
    CHECK(eventually([&] { return runs == 3; }));
    CHECK(world.clock.now() < fila::TimePoint{} + 1min);
    CHECK(running.stop().completed == 1);
}

TEST_CASE("case 91: an idle run asks the store once an interval, and does nothing in between") {
    World world;
    auto p = world.pooled(1, [](int const&) { return fila::complete(); }, {.interval = 10s});
    Running running{p};
    REQUIRE(world.watched.pass(1000s, 500ms, lanes));
    auto const claims = world.store.calls(Verb::claim);
    CHECK(claims >= 99);
    CHECK(claims <= 103);
    running.stop();
}

TEST_CASE(
    "case 6, case 55: urgent, late and redriven rows are found within a sweep, though the run is busy") {
    World world{5000};
    std::atomic<bool> urgent{false};
    std::atomic<int> behind{0};
    auto p = world.pooled(1,
                          [&](int const& row) {
                              if (row == 2500) world.put(9999, 9999, {.priority = -5});
                              if (row == 9999) urgent = true;
                              if (!urgent && row > 2500) ++behind;
                              world.clock.advance(10ms);
                              return fila::complete();
                          },
                          {.sweep = 1s, .batch = 10});
    CHECK(p.drain().completed == 5000);  // a drain is one pass, and does not go back
    World other{5000};
    urgent = false, behind = 0;
    auto q = other.pooled(1,
                          [&](int const& row) {
                              if (row == 2500) other.put(9999, 9999, {.priority = -5});
                              if (row == 9999) urgent = true;
                              if (!urgent && row > 2500) ++behind;
                              other.clock.advance(10ms);
                              return fila::complete();
                          },
                          {.sweep = 1s, .batch = 10});
    Running running{q};
    REQUIRE(eventually([&] { return other.count.totals().settled.completed == 5001; }));
    running.stop();
    CHECK(urgent);
    CHECK(behind <= 100 + 30);  // a sweep of rows, and what was in hand by then
}

TEST_CASE("case 56: a row behind the cursor that is due again runs within the same run") {
    World world{100};
    std::atomic<int> runs{0};
    auto p = world.pooled(1,
                          [&](int const& row) {
                              if (row == 5 && ++runs == 1) return fila::retry(0s, "once more");
                              return fila::complete();
                          },
                          {.interval = 1s, .batch = 10});
    Running running{p};
    REQUIRE(world.watched.until([&] { return world.count.totals().settled.completed == 100; }, 1ms, lanes));
    CHECK(runs == 2);
    running.stop();
}

TEST_CASE("case 6: rows that always fail do not keep fresh ones from running") {
    World world{20};
    world.put(101, 600);
    std::atomic<int> good{0};
    auto p = world.pooled(2,
                          [&](int const& row) -> fila::Outcome {
                              if (row <= 20) throw std::runtime_error{"no"};
                              return ++good, fila::complete();
                          },
                          {.interval = 1s, .batch = 5});
    Running running{p};
    REQUIRE(eventually([&] { return good == 500; }));
    CHECK(world.clock.now() == fila::TimePoint{});
    running.stop();
}

// ---- threads ------------------------------------------------------------------------------------------------

TEST_CASE("InlineExecutor with InTransaction uses the caller's thread and starts no other") {
    World world{20};
    auto const before = threads_here();
    std::set<std::thread::id> ids;
    std::set<std::size_t> numbers;
    fila::Processor p{world.store, fila::InlineExecutor{},
                      [&](int const&) {
                          ids.insert(std::this_thread::get_id());
                          numbers.insert(threads_here());
                      },
                      fila::InTransaction{}};
    CHECK(p.drain().completed == 20);
    CHECK(ids == std::set{std::this_thread::get_id()});
    CHECK(numbers == std::set{before});
}

TEST_CASE(
    "InlineExecutor with leases runs handlers on the caller's thread, and has one thread that keeps them") {
    World world{20};
    auto const before = threads_here();
    std::set<std::thread::id> ids;
    std::set<std::size_t> numbers;
    fila::Processor p{world.store, fila::InlineExecutor{}, [&](int const&) {
                          ids.insert(std::this_thread::get_id());
                          numbers.insert(threads_here());
                      }};
    CHECK(p.drain().completed == 20);
    CHECK(ids == std::set{std::this_thread::get_id()});
    CHECK(numbers == std::set{before + 1});
    CHECK(eventually([&] { return threads_here() == before; }));
}

// ---- ownership ----------------------------------------------------------------------------------------------

TEST_CASE("lvalues are referred to, rvalues are owned") {
    struct Counted {
        explicit Counted(int& n) : alive{&n} { ++*alive; }
        Counted(Counted&& o) noexcept : alive{o.alive} { ++*alive; }
        Counted& operator=(Counted&&) = default;
        ~Counted() { --*alive; }
        int* alive;
    };
    struct CountedExecutor : fila::InlineExecutor {
        explicit CountedExecutor(int& n) : counted{n} {}
        Counted counted;
    };
    int executors = 0;
    auto const work = [](int const&) {};
    {
        CountedExecutor mine{executors};
        fila::MemoryStore<int> store;
        store.enqueue({1, 2, 3});
        fila::Processor p{store, mine, work};
        STATIC_REQUIRE(std::is_same_v<decltype(p), fila::Processor<fila::MemoryStore<int>&, CountedExecutor&,
                                                                   std::remove_const_t<decltype(work)>>>);
        CHECK(executors == 1);  // not copied
        CHECK(p.drain().completed == 3);
        CHECK(store.counts(10).open() == 0);  // it was this very store
    }
    CHECK(executors == 0);
    {
        fila::MemoryStore<int> store;
        store.enqueue({1, 2, 3});
        fila::Processor p{std::move(store), CountedExecutor{executors}, work};
        CHECK(executors == 1);
        CHECK(p.drain().completed == 3);
        auto moved = std::move(p);
        CHECK(moved.drain().claimed == 0);
        CHECK(executors == 1);
    }
    CHECK(executors == 0);
}

TEST_CASE("one pool may serve several processors at once") {
    fila::ThreadPool pool{3};
    World a{300}, b{300};
    auto const work = [](int const&) {};
    fila::Processor p{a.store, pool, work}, q{b.store, pool, work};
    Running first{p, {}}, second{q, {}};
    CHECK(first.wait().completed == 300);
    CHECK(second.wait().completed == 300);
}

TEST_CASE("case 119: a big queue does not starve a small one on the same pool") {
    fila::ThreadPool pool{2};
    World big{20'000}, small;
    std::atomic<int> done_of_big{0}, at_the_end_of_small{-1}, small_done{0};
    fila::Processor p{big.store, pool, [&](int const&) { ++done_of_big; }, fila::FixedLimiter{50}};
    fila::Processor q{small.store, pool, [&](int const&) {
                          if (++small_done == 10) at_the_end_of_small = done_of_big.load();
                      }};
    small.put(1, 10);
    Running first{p, {}}, second{q, {}};
    CHECK(second.wait().completed == 10);
    CHECK(first.wait().completed == 20'000);
    CHECK(at_the_end_of_small >= 0);
}

// ---- an executor that refuses -------------------------------------------------------------------------------

TEST_CASE("an executor that refuses tasks does not leave the batch lying: the caller does the work") {
    struct Refusing {
        fila::ThreadPool* pool;
        std::atomic<int>* accept;
        void execute(fila::Task task) {
            if (accept->fetch_sub(1) <= 0) throw std::runtime_error{"the pool is closed"};
            pool->execute(task);
        }
        [[nodiscard]] std::size_t concurrency() const { return 2; }
    };
    for (int accepted = 0; accepted < 6; ++accepted) {
        World world{200};
        fila::ThreadPool pool{2};
        std::atomic<int> accept{accepted};
        fila::Processor p{world.store, Refusing{&pool, &accept},
                          [](int const&) {
                              auto const until = std::chrono::steady_clock::now() + 50us;  // not cheap
                              while (std::chrono::steady_clock::now() < until) {}
                          },
                          fila::Pace{.batch = 20}, world.count};
        Running running{p, {}};
        REQUIRE(eventually([&] { return running.over(); }));
        auto const report = running.wait();
        CHECK(report.completed == 200);
        CHECK(adds_up(report));
        CHECK(report.errors >= (accepted == 0 ? 1u : 0u));
    }
}

// ---- configuration ------------------------------------------------------------------------------------------

namespace {

template <class... Policies>
std::string refused(Policies... policies) {
    fila::ManualClock clock;
    Store store{clock};
    try {
        fila::Processor p{store, fila::InlineExecutor{}, [](int const&) {}, policies...};
    } catch (fila::ConfigError const& e) {
        return e.what();
    }
    return {};
}
bool names(std::string const& what, std::string const& field) {
    return what.find(field) != std::string::npos;
}

}  // namespace

TEST_CASE("case 120: each field that makes no sense is refused by its name") {
    using fila::ExponentialBackoff;
    using fila::FixedDelay;
    using fila::Leased;
    using fila::Pace;
    CHECK(refused().empty());
    CHECK(names(refused(Pace{.interval = 0s}), "Pace::interval"));
    CHECK(names(refused(Pace{.interval = -1s}), "Pace::interval"));
    CHECK(names(refused(Pace{.sweep = 0s}), "Pace::sweep"));
    CHECK(names(refused(Pace{.batch = 1'000'000}), "Pace::batch"));
    CHECK(names(refused(Pace{.batch = static_cast<std::size_t>(-1)}), "Pace::batch"));
    CHECK(names(refused(Pace{.soft_stop_timeout = -1s}), "Pace::soft_stop_timeout"));
    CHECK(names(refused(Pace{.soft_stop_timeout = 10s, .hard_stop_timeout = 5s}), "Pace::hard_stop_timeout"));
    CHECK(names(refused(Pace{.max_faults = 0}), "Pace::max_faults"));
    CHECK(names(refused(Pace{.max_backoff = 0s}), "Pace::max_backoff"));
    CHECK(names(refused(Leased{.lease = 0s}), "Leased::lease"));
    CHECK(names(refused(Leased{.lease = fila::forever}), "Leased::lease"));
    CHECK(names(refused(Leased{.lease = 10s, .heartbeat = 9s}), "Leased::heartbeat"));
    CHECK(names(refused(Leased{.lease = 10s, .heartbeat = -1s}), "Leased::heartbeat"));
    CHECK(names(refused(Leased{.max_crashes = 0}), "Leased::max_crashes"));
    CHECK(names(refused(fila::TimeLimit{.per_row = 0s}), "TimeLimit::per_row"));
    CHECK(names(refused(FixedDelay{.delay = 0s}), "FixedDelay::delay"));
    CHECK(names(refused(FixedDelay{.max_attempts = 0}), "FixedDelay::max_attempts"));
    CHECK(names(refused(ExponentialBackoff{.base = 0s}), "ExponentialBackoff::base"));
    CHECK(names(refused(ExponentialBackoff{.factor = 0.5}), "ExponentialBackoff::factor"));
    CHECK(names(refused(ExponentialBackoff{.jitter = std::numeric_limits<double>::quiet_NaN()}),
                "ExponentialBackoff::jitter"));
    CHECK_THROWS_AS(fila::FixedLimiter{0}, fila::ConfigError);
    CHECK_THROWS_AS(fila::ThreadPool{0}, fila::ConfigError);
    CHECK_THROWS_AS(fila::ThreadPool{10'001}, fila::ConfigError);
}

TEST_CASE("case 120: several faults at once are told at once, under one heading") {
    auto const what =
        refused(fila::Pace{.interval = 0s, .sweep = -1s, .max_faults = 0},
                fila::Leased{.lease = 0s, .max_crashes = 0}, fila::FixedDelay{.delay = 0s, .max_attempts = 0},
                fila::TimeLimit{.per_row = -1s});
    for (auto const* field :
         {"Pace::interval", "Pace::sweep", "Pace::max_faults", "Leased::lease", "Leased::max_crashes",
          "FixedDelay::delay", "FixedDelay::max_attempts", "TimeLimit::per_row"}) {
        INFO(field << " in: " << what);
        CHECK(names(what, field));
    }
    CHECK(what.find("wrong configuration", what.find("wrong configuration") + 1) == std::string::npos);
}

TEST_CASE("case 120: extreme durations saturate, and do not overflow into the past") {
    World world{3};
    fila::Processor p{
        world.store,
        fila::InlineExecutor{},
        [](int const& row) { return row == 1 ? fila::snooze(fila::forever) : fila::complete(); },
        world.clock,
        fila::Pace{.interval = fila::forever,
                   .sweep = fila::forever,
                   .soft_stop_timeout = fila::forever,
                   .max_backoff = fila::forever},
        fila::TimeLimit{.per_row = fila::forever - 1ns}};
    world.clock.advance(1h);
    auto const report = p.drain({.time_limit = fila::forever - 1ns});
    CHECK(report.completed == 2);
    CHECK(report.snoozed == 1);
    CHECK_FALSE(report.timed_out);
    CHECK(p.drain().claimed == 0);
}
