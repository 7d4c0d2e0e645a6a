// SPDX-License-Identifier: MIT
// What a handler may look like, what it may return or throw, and what becomes of the row.
#include "support/catch.hpp"
#include "support/running.hpp"
#include "support/scripted_store.hpp"
#include "support/watched_clock.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>
#include <fila/retry/no_retry.hpp>

#include <list>
#include <string>

using namespace std::chrono_literals;
using fila::Outcome;
using fila::RowState;
using fila_tests::adds_up;
using fila_tests::ScriptedStore;

namespace {

struct Numbers {
    explicit Numbers(int n = 3) : store{clock} {
        for (int i = 1; i <= n; ++i) store.table().put(i);
    }
    [[nodiscard]] auto row(std::int64_t key) { return *store.table().find(key); }
    [[nodiscard]] bool all(RowState state) {
        for (std::int64_t k = 1; auto r = store.table().find(k); ++k)
            if (r->state != state) return false;
        return true;
    }
    fila::ManualClock clock;
    ScriptedStore<> store;
};

template <class H, class... Policies>
fila::Report drain(Numbers& numbers, H handler, Policies... policies) {
    fila::Processor p{numbers.store, fila::InlineExecutor{}, std::move(handler), numbers.clock, policies...};
    return p.drain();
}

struct NotAnException {};

}  // namespace

TEST_CASE("a handler of one row may take it by value or by reference, with or without a context") {
    Numbers numbers;
    int sum = 0;
    unsigned attempts = 0;
    SECTION("(Row const&)") {
        drain(numbers, [&](int const& row) { sum += row; });
    }
    SECTION("(Row)") {
        drain(numbers, [&](int row) { sum += row; });
    }
    SECTION("(Row const&, Context&)") {
        drain(numbers, [&](int const& row, fila::Context& c) {
            sum += row, attempts += c.attempt();
            if (c.stop_requested() || c.deadline() != fila::TimePoint::max()) sum = 1000;
        });
        CHECK(attempts == 3);
    }
    SECTION("(Row const&, auto&)") {
        drain(numbers, [&](int const& row, auto& c) { sum += row, attempts += c.attempt(); });
        CHECK(attempts == 3);
    }
    CHECK(sum == 6);
    CHECK(numbers.all(RowState::completed));
}

TEST_CASE("what a handler leaves in its row is written back with the status, in one settle") {
    Numbers numbers;
    SECTION("completed") {
        drain(numbers, [](int& row) { row *= 10; });
        CHECK(numbers.row(2).row == 20);
    }
    SECTION("with a context, and a failure that was returned") {
        drain(numbers,
              [](int& row, fila::Context&) -> Outcome { return row *= 10, fila::retry(1s, "half done"); });
        CHECK(numbers.row(2).row == 20);
        CHECK(numbers.row(2).state == RowState::pending);
    }
    SECTION("a failure that was thrown too: the attempt ended there, and the row says how far it came") {
        std::vector<bool> with_row;
        numbers.store.inspect_settles([&](auto settlements) {
            for (auto const& s : settlements) with_row.push_back(s.row != nullptr);
        });
        drain(numbers, [](int& row) { row *= 10, throw std::runtime_error{"no"}; });
        CHECK(with_row == std::vector<bool>{true, true, true});
    }
}

TEST_CASE("a handler of a span gets rows side by side, and answers for each of them or for none") {
    Numbers numbers{5};
    std::size_t calls = 0, rows = 0;
    auto const batch = fila::Pace{.batch = 5};
    SECTION("(span), nothing returned") {
        drain(numbers, [&](std::span<int const> all) { ++calls, rows += all.size(); }, batch);
        CHECK(numbers.all(RowState::completed));
    }
    SECTION("(span, BatchContext&), a vector returned") {
        drain(
            numbers,
            [&](std::span<int const> all, fila::BatchContext& c) {
                ++calls, rows += all.size();
                std::vector<Outcome> each(c.size());
                if (c.attempt(0) == 1 && !c.stop_requested() && c.history(4).failures == 0)
                    each[1] = fila::discard("even");
                return each;
            },
            batch);
        CHECK(numbers.row(2).state == RowState::discarded);
        CHECK(numbers.row(3).state == RowState::completed);
    }
    SECTION("any range of outcomes will do") {
        drain(
            numbers,
            [&](std::span<int const> all) {
                ++calls, rows += all.size();
                return std::list<Outcome>(all.size(), fila::complete("sent"));
            },
            batch);
        CHECK(numbers.row(5).word == "sent");
    }
    CHECK(calls == 1);
    CHECK(rows == 5);
}

TEST_CASE("case 42: of a batch only the rows that failed have failed") {
    Numbers numbers{10};
    auto const report = drain(
        numbers,
        [](std::span<int const> all) {
            std::vector<Outcome> each;
            for (auto const& row : all)
                each.push_back(row == 2 || row == 3 || row == 7 ? fila::retry(1s, "no") : fila::complete());
            return each;
        },
        fila::Pace{.batch = 10});
    CHECK(report.completed == 7);
    CHECK(report.retried == 3);
    for (std::int64_t k = 1; k <= 10; ++k) {
        bool const failed = k == 2 || k == 3 || k == 7;
        CHECK(numbers.row(k).history.failures == (failed ? 1u : 0u));
        CHECK(numbers.row(k).state == (failed ? RowState::pending : RowState::completed));
    }
}

TEST_CASE("case 42: a batch handler that answers for too few or too many rows has failed, for all of them") {
    Numbers numbers{4};
    auto const wrong = GENERATE(0, 3, 5);
    drain(
        numbers, [&](std::span<int const>) { return std::vector<Outcome>(static_cast<std::size_t>(wrong)); },
        fila::Pace{.batch = 4});
    for (std::int64_t k = 1; k <= 4; ++k) {
        CHECK(numbers.row(k).history.failures == 1);
        CHECK(numbers.row(k).state == RowState::pending);
        CHECK(numbers.row(k).error.find(std::to_string(wrong) + " of 4") != std::string::npos);
    }
}

TEST_CASE("a range of outcomes that throws half way has failed for all its rows") {
    Numbers numbers{4};
    drain(
        numbers,
        [](std::span<int const> all) {
            return std::views::transform(std::views::iota(std::size_t{0}, all.size()), [](std::size_t i) {
                if (i == 2) throw std::runtime_error{"lazily"};
                return fila::complete();
            });
        },
        fila::Pace{.batch = 4});
    for (std::int64_t k = 1; k <= 4; ++k) CHECK(numbers.row(k).error == "lazily");
}

TEST_CASE("every outcome becomes what it says") {
    Numbers numbers{6};
    auto const report = drain(numbers, [](int const& row) -> Outcome {
        switch (row) {
            case 1:
                return fila::complete();
            case 2:
                return fila::complete("paid");
            case 3:
                return fila::retry(30s, "busy");
            case 4:
                return fila::snooze(1h);
            case 5:
                return fila::discard("duplicate");
            default:
                return fila::dead_letter("no such account");
        }
    });
    CHECK(report.claimed == 6);
    CHECK(report.completed == 2);
    CHECK(report.retried == 1);
    CHECK(report.snoozed == 1);
    CHECK(report.discarded == 1);
    CHECK(report.dead_lettered == 1);
    CHECK(adds_up(report));
    CHECK(numbers.row(1).word.empty());
    CHECK(numbers.row(2).word == "paid");
    CHECK(numbers.row(3).due == numbers.clock.now() + 30s);  // the handler says when
    CHECK(numbers.row(3).history.failures == 1);
    CHECK(numbers.row(3).error == "busy");
    CHECK(numbers.row(4).due == numbers.clock.now() + 1h);
    CHECK(numbers.row(4).history.failures == 0);
    CHECK(numbers.row(5).state == RowState::discarded);
    CHECK(numbers.row(6).state == RowState::dead);
    CHECK(numbers.row(6).error == "no such account");
}

TEST_CASE("the policy decides whether a retry that was asked for happens, the handler when") {
    Numbers numbers{1};
    auto const policy = fila::FixedDelay{.delay = 1s, .max_attempts = 2};
    auto const again = [](int const&) -> Outcome { return fila::retry(7s, "busy"); };
    CHECK(drain(numbers, again, policy).retried == 1);
    CHECK(numbers.row(1).due == numbers.clock.now() + 7s);
    numbers.clock.advance(7s);
    CHECK(drain(numbers, again, policy).dead_lettered == 1);
    CHECK(numbers.row(1).state == RowState::dead);
    CHECK(numbers.row(1).error == "busy");
}

TEST_CASE("whatever a handler throws is a failure of its row alone") {
    Numbers numbers{4};
    auto const report = drain(
        numbers,
        [](int const& row) {
            if (row == 1) throw std::runtime_error{"no route to host"};
            if (row == 2) throw 42;
            if (row == 3) throw NotAnException{};
        },
        fila::NoRetry{});
    CHECK(report.dead_lettered == 3);
    CHECK(report.completed == 1);
    CHECK(numbers.row(1).error == "no route to host");
    CHECK(numbers.row(2).error.find("not a std::exception") != std::string::npos);
    CHECK(numbers.row(3).state == RowState::dead);
    CHECK(numbers.row(4).state == RowState::completed);
}

TEST_CASE("what a failure says is made fit for any error column") {
    Numbers numbers{1};
    drain(numbers, [](int const&) { throw std::runtime_error{std::string(10'000, 'x') + "\xff"}; });
    CHECK(numbers.row(1).error == std::string(4096, 'x'));
}

TEST_CASE("case 33: rows that cannot be decoded fail alone and never reach the handler") {
    Numbers numbers{100};
    numbers.store.break_rows([](int row) { return row == 10 || row == 50 || row == 90; });
    std::atomic<int> seen{0};
    std::atomic<bool> saw_broken{false};
    fila::Processor p{numbers.store,
                      fila::ThreadPool{3},
                      [&](int const& row) {
                          ++seen;
                          if (row == 10 || row == 50 || row == 90) saw_broken = true;
                      },
                      numbers.clock,
                      fila::NoRetry{},
                      fila::Pace{.batch = GENERATE(0u, 1u, 7u, 100u)}};
    auto const report = p.drain();
    CHECK(report.completed == 97);
    CHECK(report.dead_lettered == 3);
    CHECK(adds_up(report));
    CHECK(seen == 97);
    CHECK_FALSE(saw_broken);
    CHECK(numbers.row(50).error.find("not a number") != std::string::npos);
    CHECK(numbers.row(51).state == RowState::completed);
}

TEST_CASE("case 33: a span handler gets the rows around a broken one") {
    Numbers numbers{9};
    numbers.store.break_rows([](int row) { return row == 4; });
    std::size_t rows = 0;
    auto const report = drain(
        numbers, [&](std::span<int const> all) { rows += all.size(); }, fila::Pace{.batch = 9},
        fila::NoRetry{});
    CHECK(rows == 8);
    CHECK(report.dead_lettered == 1);
    CHECK(report.completed == 8);
}

TEST_CASE("case 41: one attempt means one run, then dead") {
    Numbers numbers{3};
    std::atomic<int> runs{0};
    auto const handler = [&](int const&) { ++runs, throw std::runtime_error{"no"}; };
    drain(numbers, handler, fila::FixedDelay{.delay = 1s, .max_attempts = 1});
    numbers.clock.advance(1h);
    drain(numbers, handler, fila::FixedDelay{.delay = 1s, .max_attempts = 1});
    CHECK(runs == 3);
    CHECK(numbers.all(RowState::dead));
}

TEST_CASE("case 36: with the defaults a row that always fails is not hammered") {
    Numbers numbers{1};
    std::atomic<int> runs{0};
    fila_tests::WatchedClock const clock{numbers.clock};
    fila::Processor p{numbers.store, fila::InlineExecutor{},
                      [&](int const&) { ++runs, throw std::runtime_error{"no"}; }, clock};
    fila_tests::Running running{p};
    CHECK(clock.pass(2s, 10ms, 2));  // the caller and the keeper sleep in between
    running.stop();
    CHECK(runs >= 1);
    CHECK(runs <= 3);
}

TEST_CASE("case 36: a failed row of a store that cannot delay waits for the next look") {
    fila::ManualClock time;
    fila_tests::WatchedClock const clock{time};
    ScriptedStore<int, false> store{time};
    store.table().put(1);
    std::atomic<int> runs{0};
    fila::Processor p{store, fila::InlineExecutor{},
                      [&](int const&) { ++runs, throw std::runtime_error{"no"}; }, clock,
                      fila::Pace{.interval = 10s}};
    fila_tests::Running running{p};
    REQUIRE(fila_tests::eventually([&] { return runs == 1; }));
    CHECK(clock.pass(9s, 10ms, 2));
    CHECK(runs == 1);
    CHECK(clock.pass(2s, 10ms, 2));
    CHECK(runs == 2);
}

TEST_CASE("default policies follow what the store can do") {
    fila::ManualClock clock;
    SECTION("a failed row is put off where the store can delay") {
        ScriptedStore<> store{clock};
        store.table().put(1);
        fila::Processor p{store, fila::InlineExecutor{}, [](int const&) { throw 1; }, clock};
        p.drain();
        CHECK(store.table().find(1)->due > clock.now() + 500ms);
    }
    SECTION("else it stays pending, the pass goes on behind it, and the drain ends") {
        ScriptedStore<int, false> store{clock};
        for (int i = 1; i <= 10; ++i) store.table().put(i);
        std::atomic<int> runs{0};
        fila::Processor p{store, fila::InlineExecutor{},
                          [&](int const& row) {
                              ++runs;
                              if (row == 4) throw std::runtime_error{"no"};
                          },
                          clock, fila::Pace{.batch = 2}};
        auto const report = p.drain();
        CHECK(runs == 10);
        CHECK(report.completed == 9);
        CHECK(report.retried == 1);
        CHECK(store.table().find(4)->state == RowState::pending);
        clock.advance(1ns);
        CHECK(p.drain().retried == 1);  // the next pass meets it again
        CHECK(runs == 11);
    }
}

TEST_CASE("one drain meets each row at most once") {
    Numbers numbers{50};
    std::vector<int> runs(51);
    auto const report = drain(
        numbers,
        [&](int const& row) -> Outcome {
            numbers.clock.advance(1s);  // so that what is put off comes due while the drain goes on
            return ++runs[static_cast<std::size_t>(row)], fila::snooze(1ms);
        },
        fila::Pace{.batch = 3});
    CHECK(report.snoozed == 50);
    CHECK(std::all_of(runs.begin() + 1, runs.end(), [](int n) { return n == 1; }));
}

TEST_CASE("case 40: a redriven row has all its attempts again") {
    Numbers numbers{1};
    std::atomic<int> runs{0};
    auto const handler = [&](int const&) { ++runs, throw std::runtime_error{"no"}; };
    auto const policy = fila::FixedDelay{.delay = 1s, .max_attempts = 3};
    for (int i = 0; i < 5; ++i) drain(numbers, handler, policy), numbers.clock.advance(1s);
    CHECK(runs == 3);
    REQUIRE(numbers.store.redrive_all() == 1);
    for (int i = 0; i < 5; ++i) drain(numbers, handler, policy), numbers.clock.advance(1s);
    CHECK(runs == 6);
    CHECK(numbers.row(1).state == RowState::dead);
}

TEST_CASE("case 39: a row is settled once, and its failures are counted once") {
    Numbers numbers{1};
    unsigned settles = 0;
    numbers.store.inspect_settles(
        [&](auto settlements) { settles += static_cast<unsigned>(settlements.size()); });
    // The answer is lost, and the settle repeated: the fence keeps the second from counting.
    numbers.store.fail(fila_tests::Verb::settle, fila_tests::When::after, fila_tests::lost_answer());
    fila::Processor p{numbers.store, fila::InlineExecutor{}, [](int const&) { throw 1; }, numbers.clock};
    fila_tests::Running running{p, {}};
    REQUIRE(fila_tests::in_time(numbers.clock, [&] { return running.over(); }, 1ms));
    auto const report = running.wait();
    CHECK(settles == 2);
    CHECK(report.in_doubt == 1);
    CHECK(report.lost == 0);
    CHECK(numbers.row(1).history.failures == 1);
}
