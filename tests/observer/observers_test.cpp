// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include <fila/clock/manual_clock.hpp>
#include <fila/observer.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::pair<fila::LogLevel, std::string>>;

fila::Failure failure(std::string key, std::string what) {
    return {.attempt = 3, .failures = 2, .crashes = 1, .what = std::move(what), .key = std::move(key)};
}

auto into(Lines& lines) {
    return [&lines](fila::LogLevel level, std::string_view line) { lines.emplace_back(level, line); };
}

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a counting observer counts every event, and its copies share the numbers") {
    fila::CountingObserver const count;
    auto const copy = count;
    auto const f = failure("1", "x");
    copy(fila::RowsClaimed{10});
    copy(fila::RowsSettled{.completed = 1,
                           .retried = 2,
                           .snoozed = 3,
                           .released = 4,
                           .discarded = 5,
                           .dead_lettered = 6,
                           .lost = 7,
                           .in_doubt = 8});
    copy(fila::RowsSettled{.completed = 1});
    copy(fila::RowFailed{f, fila::Outcome::Kind::retry});
    copy(fila::LeasesLost{9});
    copy(fila::RowsRescued{11, 12});
    copy(fila::Faulted{"claim", "gone", true});
    copy(fila::Stopping{fila::StopReason::shutdown});

    auto const t = count.totals();
    CHECK(t.claimed == 10);
    CHECK(t.settled.completed == 2);
    CHECK(t.settled.retried == 2);
    CHECK(t.settled.snoozed == 3);
    CHECK(t.settled.released == 4);
    CHECK(t.settled.discarded == 5);
    CHECK(t.settled.dead_lettered == 6);
    CHECK(t.settled.lost == 7);
    CHECK(t.settled.in_doubt == 8);
    CHECK(t.failed_attempts == 1);
    CHECK(t.leases_lost == 9);
    CHECK(t.rescued == 11);
    CHECK(t.crashed_out == 12);
    CHECK(t.faults == 1);
    CHECK(t.stops == 1);
}

TEST_CASE("a counting observer loses nothing to its neighbours") {
    fila::CountingObserver const count;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([count] {
                for (int i = 0; i < 5'000; ++i) count(fila::RowsClaimed{2});
            });
    }
    CHECK(count.totals().claimed == 40'000);
}

TEST_CASE("a log observer says one line an event, at the level that it deserves") {
    Lines lines;
    fila::LogObserver const log{into(lines), fila::LogOptions{.level = fila::LogLevel::debug}};
    log(fila::RowsClaimed{7});
    log(fila::RowsSettled{.completed = 3, .retried = 1});
    log(fila::RowsSettled{.completed = 1, .lost = 2});
    log(fila::RowFailed{failure("42", "no route"), fila::Outcome::Kind::dead_letter});
    log(fila::LeasesLost{4});
    log(fila::RowsRescued{2, 0});
    log(fila::RowsRescued{0, 1});
    log(fila::Faulted{"settle", "server closed the connection", true});
    log(fila::Faulted{"claim", "no such column", false});
    log(fila::Stopping{fila::StopReason::cancelled});

    using L = fila::LogLevel;
    Lines const expected{
        {L::debug, "fila: claimed 7"},
        {L::debug, "fila: settled 4, completed 3, retried 1"},
        {L::warning, "fila: settled 1, completed 1, lost to others 2"},
        {L::warning, "fila: row 42: attempt 3 failed, dead-lettered: no route"},
        {L::warning, "fila: lost the leases of 4 rows in hand"},
        {L::info, "fila: rescued 2 rows of the dead, dead-lettered 0 that crashed too often"},
        {L::warning, "fila: rescued 0 rows of the dead, dead-lettered 1 that crashed too often"},
        {L::warning, "fila: settle failed and is tried again: server closed the connection"},
        {L::error, "fila: claim failed: no such column"},
        {L::info, "fila: stopping: cancelled"},
    };
    CHECK(lines == expected);
}

TEST_CASE("a log observer is silent below its level") {
    Lines lines;
    fila::LogObserver const log{into(lines), fila::LogOptions{.level = fila::LogLevel::error}};
    log(fila::RowsClaimed{7});
    log(fila::RowFailed{failure("42", "x"), fila::Outcome::Kind::retry});
    log(fila::Faulted{"claim", "for a while", true});
    CHECK(lines.empty());
    log(fila::Faulted{"claim", "for ever", false});
    CHECK(lines.size() == 1);
}

TEST_CASE("a fault that repeats is logged once an interval, with the number left out") {
    Lines lines;
    fila::ManualClock const clock;
    fila::LogObserver const log{into(lines), fila::LogOptions{.repeat = 10s}, clock};
    fila::Faulted const fault{"claim", "connection refused", true};
    for (int i = 0; i < 100; ++i) log(fault);
    CHECK(lines.size() == 1);
    clock.advance(10s);
    log(fault);
    REQUIRE(lines.size() == 2);
    CHECK(has(lines[1].second, "(99 faults not logged since the last line)"));
    log(fila::Faulted{"claim", "another reason", true});
    CHECK(lines.size() == 3);
    log(fila::Faulted{"settle", "another reason", true});
    CHECK(lines.size() == 4);
}

TEST_CASE("a foreign error text cannot forge a line of the log, nor fill it") {
    Lines lines;
    fila::LogObserver const log{into(lines)};
    log(fila::RowFailed{failure("42", "bad\n2030-01-01 ERROR all is lost\r\x1b[2J"),
                        fila::Outcome::Kind::retry});
    log(fila::RowFailed{failure("43", std::string(10'000, 'x')), fila::Outcome::Kind::retry});
    REQUIRE(lines.size() == 2);
    CHECK(std::all_of(lines[0].second.begin(), lines[0].second.end(),
                      [](unsigned char c) { return c >= 0x20; }));
    CHECK(lines[1].second.size() < 600);
}

TEST_CASE("case 31: a log that throws throws to its caller, and works again the next time") {
    Lines lines;
    bool broken = true;
    fila::LogObserver const log{[&](fila::LogLevel level, std::string_view line) {
        if (broken) throw std::runtime_error{"disk full"};
        lines.emplace_back(level, line);
    }};
    CHECK_THROWS_AS(log(fila::Stopping{fila::StopReason::shutdown}), std::runtime_error);
    broken = false;
    CHECK_NOTHROW(log(fila::Stopping{fila::StopReason::shutdown}));
    CHECK(lines.size() == 1);
}

TEST_CASE("a progress observer shows at most once an interval, and the rest on flush") {
    std::vector<fila::Progress> shown;
    fila::ManualClock const clock;
    fila::ProgressObserver const progress{[&](fila::Progress const& p) { shown.push_back(p); }, 5s, clock};
    progress(fila::RowsClaimed{100});
    progress(fila::RowsSettled{.completed = 10});
    CHECK(shown.empty());
    clock.advance(5s);
    progress(fila::RowsSettled{.completed = 20, .discarded = 5, .dead_lettered = 1});
    progress(fila::RowsSettled{.completed = 20});
    REQUIRE(shown.size() == 1);
    CHECK(shown[0].claimed == 100);
    CHECK(shown[0].done == 35);
    CHECK(shown[0].dead == 1);
    CHECK(shown[0].elapsed == 5s);
    CHECK(shown[0].done_per_second() == 7.0);
    clock.advance(4s);
    progress(fila::RowFailed{failure("1", "x"), fila::Outcome::Kind::retry});
    CHECK(shown.size() == 1);
    progress.flush();
    REQUIRE(shown.size() == 2);
    CHECK(shown[1].done == 55);
    CHECK(shown[1].failed == 1);
    clock.advance(1s);
    progress(fila::RowsClaimed{1});
    CHECK(shown.size() == 2);  // a flush starts a new interval
}

TEST_CASE("a progress observer is shown by one thread at a time") {
    std::atomic<int> inside{0}, crowded{0}, shows{0};
    fila::ManualClock const clock;
    fila::ProgressObserver const progress{[&](fila::Progress const&) {
                                              if (++inside > 1) ++crowded;
                                              ++shows;
                                              --inside;
                                          },
                                          1ns, clock};
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 2'000; ++i) {
                    clock.advance(1ns);
                    progress(fila::RowsClaimed{1});
                }
            });
    }
    CHECK(crowded == 0);
    CHECK(shows > 0);
}

TEST_CASE("a failure stream hands failures to its reader, and drops what does not fit") {
    fila::FailureStream const stream{2};
    for (auto const* key : {"a", "b", "c"})
        stream(fila::RowFailed{failure(key, "why"), fila::Outcome::Kind::retry});
    CHECK(stream.dropped() == 1);
    stream.close();
    stream(fila::RowFailed{failure("d", "why"), fila::Outcome::Kind::retry});
    CHECK(stream.dropped() == 2);

    std::vector<std::string> keys;
    for (fila::Failure const& f : stream.channel()) {
        keys.push_back(f.key);
        CHECK(f.what == "why");
        CHECK(f.attempt == 3);
    }
    CHECK(keys == std::vector<std::string>{"a", "b"});
    CHECK_THROWS_AS(fila::FailureStream{0}, fila::ConfigError);
}

TEST_CASE("a failure stream never makes the engine wait") {
    fila::FailureStream const stream{8};
    std::atomic<std::size_t> read{0};
    std::jthread const reader{[&] {
        for ([[maybe_unused]] auto const& f : stream.channel()) ++read;
    }};
    constexpr std::size_t failures = 5'000;
    for (std::size_t i = 0; i < failures; ++i)
        stream(fila::RowFailed{failure(std::to_string(i), "x"), fila::Outcome::Kind::retry});
    stream.close();
    CHECK(fila_tests::eventually([&] { return read + stream.dropped() == failures; }));
}

TEST_CASE("a group tells each member the events that it takes") {
    int failures = 0, faults = 0;
    fila::CountingObserver const count;
    auto group = fila::observe(
        count, [&](fila::RowFailed const&) { ++failures; }, [&](fila::Faulted const&) { ++faults; });
    STATIC_REQUIRE(fila::Observer<decltype(group)>);
    STATIC_REQUIRE(std::same_as<decltype(group)::policy_role, fila::observer_role>);
    group(fila::RowFailed{failure("1", "x"), fila::Outcome::Kind::retry});
    group(fila::Faulted{"claim", "x", true});
    group(fila::Faulted{"claim", "x", true});
    CHECK(failures == 1);
    CHECK(faults == 2);
    CHECK(count.totals().failed_attempts == 1);
    CHECK(count.totals().faults == 2);
}

TEST_CASE("a group takes no event that none of its members takes") {
    auto group = fila::observe([](fila::RowFailed const&) {});
    STATIC_REQUIRE(std::invocable<decltype(group)&, fila::RowFailed const&>);
    STATIC_REQUIRE_FALSE(std::invocable<decltype(group)&, fila::RowsClaimed const&>);
}

TEST_CASE("case 31: a member of a group that throws keeps no other member from hearing") {
    int heard = 0;
    auto group = fila::observe([](fila::Stopping const&) { throw std::runtime_error{"first"}; },
                               [](fila::Stopping const&) { throw std::runtime_error{"second"}; },
                               [&](fila::Stopping const&) { ++heard; });
    CHECK_THROWS_WITH(group(fila::Stopping{fila::StopReason::shutdown}), "first");
    CHECK(heard == 1);
}

TEST_CASE("case 120: nonsense in an observer is refused by name") {
    std::string what;
    try {
        fila::ProgressObserver const progress{[](fila::Progress const&) {}, -1s};
    } catch (fila::ConfigError const& e) {
        what += e.what();
    }
    try {
        Lines lines;
        fila::LogObserver const log{into(lines), fila::LogOptions{.repeat = -1s}};
    } catch (fila::ConfigError const& e) {
        what += e.what();
    }
    CHECK(has(what, "ProgressObserver::interval"));
    CHECK(has(what, "LogOptions::repeat"));
}
