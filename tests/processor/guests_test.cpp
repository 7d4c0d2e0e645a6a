// SPDX-License-Identifier: MIT
// Observers and retry policies that throw, channels as stores, processors that go on for ever.
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include <fila/channel/channel.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/observer/failure_stream.hpp>
#include <fila/observer/observer_group.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>
#include <fila/retry/no_retry.hpp>
#include <fila/store/channel_store.hpp>

#include <exception>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

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
using fila_tests::When;

namespace {

/// Throws from every event, and counts how often it could.
struct Hostile {
    using policy_role = fila::observer_role;
    template <class Event>
    void operator()(Event const&) const {
        if (heard->fetch_add(1) % 2) throw std::runtime_error{"the log is full"};
        throw 42;
    }
    std::shared_ptr<std::atomic<std::size_t>> heard = std::make_shared<std::atomic<std::size_t>>(0);
};

/// Takes two kinds of events only.
struct Picky {
    using policy_role = fila::observer_role;
    void operator()(fila::RowFailed const& e) const {
        std::lock_guard lock{*mutex};
        heard->push_back(e.failure.key + ": " + e.failure.what + ", attempt " +
                         std::to_string(e.failure.attempt) +
                         (e.decision == fila::Outcome::Kind::dead_letter ? ", dead" : ", again"));
    }
    void operator()(fila::Stopping const& e) const {
        std::lock_guard lock{*mutex};
        heard->push_back(std::string{"stopping: "} + to_string(e.reason));
    }
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
    std::shared_ptr<std::vector<std::string>> heard = std::make_shared<std::vector<std::string>>();
};

struct BrokenPolicy {
    using policy_role = fila::retry_role;
    fila::Outcome decide(fila::Failure const& f) const {
        if (f.failures % 2) throw std::runtime_error{"the policy is broken"};
        throw 42;
    }
};

}  // namespace

TEST_CASE("case 31: an observer that throws from every event is counted, and harms nothing") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    for (int i = 1; i <= 100; ++i) store.table().put(i);
    ScriptedStore<>::Rows ghost;
    store.table().claim({1, {}, 1s}, ghost);  // so that there is something to rescue
    clock.advance(2s);
    store.fail(Verb::settle, When::before, fila_tests::lost_request());
    Hostile hostile;
    fila::Processor p{store,
                      fila::ThreadPool{3},
                      [](int const& row) {
                          if (row % 5 == 0) throw std::runtime_error{"no"};
                      },
                      clock,
                      fila::NoRetry{},
                      hostile};
    Running running{p, {}};
    REQUIRE(in_time(clock, [&] { return running.over(); }, 1ms));
    auto const report = running.wait();
    CHECK(report.completed == 80);
    CHECK(report.dead_lettered == 20);
    CHECK(report.rescued == 1);
    CHECK(adds_up(report));
    CHECK(report.observer_errors == *hostile.heard);
    CHECK(report.observer_errors >= 24);  // claims, settles, failures, a rescue, a fault
}

TEST_CASE("an observer hears the events that it takes, and only those") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    store.table().put(1);
    store.table().put(2);
    Picky picky;
    std::function<void()> stop;
    fila::Processor p{store,
                      fila::InlineExecutor{},
                      [&](int const& row) {
                          if (row == 1) throw std::runtime_error{"no"};
                          stop();
                      },
                      clock,
                      fila::FixedDelay{.delay = 1s, .max_attempts = 2},
                      picky};
    p.drain(), clock.advance(1s);
    stop = [&] { p.stop(); };
    store.table().put(2);
    p.run();
    CHECK(*picky.heard == std::vector<std::string>{"1: no, attempt 1, again",
                                                   "2: bad_function_call, attempt 1, again",
                                                   "1: no, attempt 2, dead", "stopping: shutdown"});
}

TEST_CASE("a retry policy that throws costs no row its place: it is tried again at the next pass") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    for (int i = 1; i <= 4; ++i) store.table().put(i);
    std::atomic<bool> well{false};
    fila::CountingObserver count;
    fila::Processor p{store,
                      fila::ThreadPool{2},
                      [&](int const&) {
                          if (!well) throw std::runtime_error{"no"};
                      },
                      clock,
                      BrokenPolicy{},
                      count};
    for (unsigned pass = 1; pass <= 2; ++pass) {
        auto const report = p.drain();
        CHECK(report.retried == 4);
        CHECK(report.errors == 4);
        CHECK(store.table().find(1)->history.failures == pass);
        CHECK(store.table().find(1)->error == "no");
        clock.advance(1s);
    }
    well = true;
    CHECK(p.drain().completed == 4);
}

TEST_CASE("case 117: whatever throws, wherever it is, the next row is run") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    std::atomic<int> handled{0};
    fila::Processor p{store,
                      fila::ThreadPool{2},
                      [&](int const& row) {
                          ++handled;
                          if (row % 2) throw row;
                      },
                      clock,
                      Hostile{},
                      BrokenPolicy{},
                      fila::Leased{.lease = 3s},
                      fila::Pace{.interval = 1s, .max_backoff = 100ms}};
    Running running{p};
    int row = 0;
    for (auto const verb : {Verb::claim, Verb::settle, Verb::extend, Verb::rescue})
        for (auto const when : {When::before, When::after}) {
            store.fail(verb, when, fila_tests::lost_answer(), 2);
            auto const before = store.calls(verb);
            REQUIRE(in_time(clock, [&] {
                store.table().put(++row, {});
                return store.calls(verb) >= before + 3;
            }));
            store.heal();
            store.table().put(1'000'000);
            auto const so_far = handled.load();
            REQUIRE(in_time(clock, [&] { return handled > so_far; }));
        }
    CHECK_FALSE(running.over());
    running.request_stop();
    REQUIRE(in_time(clock, [&] { return running.over(); }));
    CHECK(adds_up(running.wait()));
}

namespace {

/// Throws when it goes out of scope.
struct LateBomb {
    ~LateBomb() noexcept(false) { throw std::runtime_error{"too late"}; }
};

/// What handlers have been seen to throw, by the number of the row; 0 is a good one.
constexpr int kinds_of_throw = 9;
void throw_something(int row) {
    switch (row % kinds_of_throw) {
        case 1:
            throw row;
        case 2:
            throw "a literal";
        case 3:
            throw nullptr;
        case 4:
            throw std::string{"no exception either"};
        case 5: {
            LateBomb const bomb;
            return;
        }
        case 6: {
            auto const work = [state = LateBomb{}] { (void)state; };  // captured: it ends with the lambda
            return work();
        }
        case 7:
            try {
                throw std::runtime_error{"inner"};
            } catch (...) {
                std::throw_with_nested(std::logic_error{std::string{"no \xff UTF-8, and a NUL: \0!", 25}});
            }
        case 8:
            throw std::bad_alloc{};
        default:
            return;
    }
}

}  // namespace

TEST_CASE("case 31: whatever a handler throws, from wherever, is a failure of its row and of no other") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    constexpr int rows = 20 * kinds_of_throw;
    for (int i = 1; i <= rows; ++i) store.table().put(i);
    fila::Processor p{store, fila::ThreadPool{3}, [](int const& row) { throw_something(row); }, clock,
                      fila::NoRetry{}};
    auto const report = p.drain();
    CHECK(report.completed == rows / kinds_of_throw);
    CHECK(report.dead_lettered == rows - rows / kinds_of_throw);
    CHECK(adds_up(report));
    for (int i = 1; i <= kinds_of_throw; ++i) {
        INFO(i);
        auto const row = store.table().find(i);
        REQUIRE(row);
        CHECK(row->state == (i % kinds_of_throw == 0 ? RowState::completed : RowState::dead));
        CHECK(row->error.empty() == (i % kinds_of_throw == 0));
    }
    CHECK(store.table().find(5)->error == "too late");
    CHECK(store.table().find(7)->error.find("no ? UTF-8") != std::string::npos);
}

TEST_CASE("case 110: a handler that enqueues, stops its own processor and then throws does all three") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    store.table().put(1);
    std::function<void()> stop;
    std::atomic<bool> again{false};
    auto const processor = [&] {
        return fila::Processor{store,
                               fila::ThreadPool{2},
                               [&](int const& row) {
                                   if (row != 1) return;
                                   for (int more = 2; more <= 5 && !again; ++more) store.table().put(more);
                                   again = true;
                                   stop();
                                   throw row;
                               },
                               clock,
                               fila::FixedDelay{.delay = 1s, .max_attempts = 2},
                               fila::Pace{.batch = 1}};
    };
    auto stopped = processor();
    stop = [&] { stopped.stop(); };
    Running running{stopped};
    REQUIRE(in_time(clock, [&] { return running.over(); }, 1ms));
    auto const report = running.wait();
    CHECK(report.retried == 1);
    CHECK(adds_up(report));
    CHECK(store.table().find(1)->history.failures == 1);

    stop = [] {};
    clock.advance(2s);
    auto next = processor();
    auto const rest = next.drain();
    CHECK(report.completed + rest.completed == 4);
    CHECK(rest.dead_lettered == 1);  // its second run throws too
}

TEST_CASE(
    "case 34: a row that was settled by somebody else while its handler ran is lost, and the run goes on") {
    fila::ManualClock clock;
    ScriptedStore<> store{clock};
    for (int i = 1; i <= 50; ++i) store.table().put(i);
    fila::Processor p{store, fila::InlineExecutor{},
                      [&](int const& row) {
                          if (row != 7) return;
                          fila::Settlement<int, std::int64_t> const by_hand{
                              {7, store.table().find(7)->fence}, fila::discard("by hand"), nullptr};
                          fila::Ack ack{};
                          store.table().settle(std::span{&by_hand, 1}, std::span{&ack, 1});
                      },
                      clock};
    auto const report = p.drain();
    CHECK(report.completed == 49);
    CHECK(report.lost == 1);
    CHECK(store.table().find(7)->state == RowState::discarded);
}

// ---- a bounded channel in front of a pool -------------------------------------------------------------------

TEST_CASE(
    "a bounded orchestrator: the producer waits, three workers take, a bad item is dead, the rest goes on") {
    fila::Channel<std::string> batches{5};
    std::atomic<int> pushed{0};
    fila::FailureStream failures{10};
    fila::ChannelStore store{batches};
    Gate gate;
    std::mutex mutex;
    std::set<std::string> imported;
    std::atomic<int> inside{0}, most{0};
    fila::Processor p{store,
                      fila::ThreadPool{3},
                      [&](std::string const& item) {
                          auto const now = ++inside;
                          for (auto m = most.load(); m < now && !most.compare_exchange_weak(m, now);) {}
                          gate.pass();
                          --inside;
                          if (item == "lot 7") throw std::runtime_error{"not a spreadsheet"};
                          std::lock_guard lock{mutex};
                          imported.insert(item);
                      },
                      fila::NoRetry{},
                      failures,
                      fila::Pace{.batch = 1}};
    std::thread producer{[&] {
        for (int i = 1; i <= 40; ++i) {
            batches.push("lot " + std::to_string(i));
            ++pushed;
        }
        batches.close();
    }};
    fila::Report report;
    bool filled = false, waited = false;
    {
        Running running{p, {}};
        {
            OpenAtEnd const open{gate};
            filled = eventually([&] { return inside == 3 && batches.size() == 5; });
            // Five wait in the channel, at most two batches are in hand: the producer cannot be further than that.
            waited = pushed <= 5 + 3 + 2;
        }
        report = running.wait();
    }
    producer.join();
    CHECK(filled);
    CHECK(waited);
    CHECK(report.claimed == 40);
    CHECK(report.completed == 39);
    CHECK(report.dead_lettered == 1);
    CHECK(imported.size() == 39);
    CHECK(most == 3);
    CHECK(store.closed());
    REQUIRE(store.dead_letters(10).size() == 1);
    CHECK(store.dead_letters(10)[0].row == "lot 7");
    CHECK(store.dead_letters(10)[0].error == "not a spreadsheet");
    REQUIRE(failures.channel().size() == 1);
    CHECK(failures.channel().try_pop()->what == "not a spreadsheet");
}

TEST_CASE("on a channel: drain ends when it is closed and dry, retries included, and run does too") {
    bool const as_run = GENERATE(false, true);
    fila::Channel<int> items{100};
    fila::ManualClock clock;
    fila::ChannelStore store{items, clock};
    std::atomic<int> runs{0};
    fila::Processor p{store,
                      fila::ThreadPool{2},
                      [&](int const&, fila::Context& c) {
                          ++runs;
                          if (c.attempt() < 3) throw std::runtime_error{"not yet"};
                      },
                      clock,
                      fila::FixedDelay{.delay = 10s, .max_attempts = 5},
                      fila::Pace{.interval = 1h}};
    for (int i = 0; i < 3; ++i) items.push(i);
    std::unique_ptr<Running> running;
    if (as_run)
        running = std::make_unique<Running>(p);
    else
        running = std::make_unique<Running>(p, fila::DrainOptions{});
    REQUIRE(eventually([&] { return runs == 3; }));
    items.push(3);
    REQUIRE(eventually([&] { return runs == 4; }));  // woken: no time has passed
    items.close();
    REQUIRE(in_time(clock, [&] { return running->over(); }, 10ms));
    auto const report = running->wait();
    CHECK(report.completed == 4);
    CHECK(report.retried == 8);
    CHECK(runs == 12);
    CHECK(store.closed());
}

TEST_CASE(
    "case 107: a producer that waits for space is let go by closing the channel, while a stop waits for "
    "nobody") {
    fila::Channel<int> items{2};
    fila::ChannelStore store{items};
    Gate gate;
    fila::Processor p{store, fila::ThreadPool{1}, [&](int const&) { gate.pass(); }, fila::Pace{.batch = 1}};
    std::atomic<int> pushed{0};
    std::atomic<bool> refused{false};
    std::thread producer{[&] {
        while (items.push(pushed.load())) ++pushed;
        refused = true;
    }};
    bool full = false, released = false;
    fila::Report report;
    {
        Running running{p};
        OpenAtEnd const open{gate};
        full = eventually([&] { return gate.inside() == 1 && items.size() == 2; });
        running.request_stop();
        // What was taken out of the channel and not started is given back at once.
        released = eventually([&] { return store.counts(100).processing == 1; });
        items.close();
        gate.open();
        report = running.wait();
    }
    producer.join();
    CHECK(full);
    CHECK(released);
    CHECK(refused);
    CHECK(report.completed == 1);
    CHECK(adds_up(report));
    CHECK(report.completed + store.counts(100).pending == static_cast<std::size_t>(pushed.load()));
    // Accepted items are not lost: the next drain takes them.
    auto const rest = p.drain();
    CHECK(report.completed + rest.completed == static_cast<std::size_t>(pushed.load()));
}

TEST_CASE("case 107: a handler that puts into a full channel does not hold up the stop") {
    fila::Channel<int> items{1};
    fila::ChannelStore store{items};
    std::stop_source stop;
    std::atomic<bool> waiting{false};
    fila::Processor p{store, fila::ThreadPool{1},
                      [&](int const& i) {
                          waiting = true;
                          for (int more = 1; more <= 5; ++more) items.push(i + more, stop.get_token());
                      },
                      fila::Pace{.batch = 1}};
    items.push(0);
    Running running{p};
    REQUIRE(eventually([&] { return waiting.load(); }));
    stop.request_stop();
    CHECK(adds_up(running.stop()));
}
