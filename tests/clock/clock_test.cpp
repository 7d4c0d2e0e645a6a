// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include <fila/clock.hpp>
#include <fila/detail/bell.hpp>
#include <fila/detail/linger.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using fila_tests::eventually;

TEST_CASE("case 114: the system clock is the steady one, and its waits end by it") {
    fila::SystemClock const clock;
    auto const before = std::chrono::steady_clock::now();
    auto const now = clock.now();
    CHECK(before <= now);
    CHECK(now <= std::chrono::steady_clock::now());

    std::mutex mutex;
    std::condition_variable cv;
    std::unique_lock lock{mutex};
    auto const until = clock.now() + 5ms;
    for (int spurious = 0; clock.now() < until && spurious < 1'000'000; ++spurious)
        clock.wait_until(lock, cv, until);
    CHECK(clock.now() >= until);
    CHECK(lock.owns_lock());
}

TEST_CASE("a wait for the end of time on the system clock ends by a notice") {
    fila::SystemClock const clock;
    std::mutex mutex;
    std::condition_variable cv;
    bool ready = false;
    std::atomic<bool> woken{false};
    std::jthread waiter{[&] {
        std::unique_lock lock{mutex};
        while (!ready) clock.wait_until(lock, cv, fila::TimePoint::max());
        woken = true;
    }};
    {
        std::lock_guard lock{mutex};
        ready = true;
    }
    cv.notify_all();
    CHECK(eventually([&] { return woken.load(); }));
}

TEST_CASE("a manual clock stands still, and moves for all of its copies") {
    fila::ManualClock const clock;
    auto const copy = clock;
    auto const start = clock.now();
    CHECK(clock.now() == start);
    copy.advance(90s);
    CHECK(clock.now() == start + 90s);
    clock.advance_to(start + 100s);
    CHECK(copy.now() == start + 100s);
}

TEST_CASE("a manual clock never goes back, and saturates at the end of time") {
    fila::ManualClock const clock{fila::TimePoint{1h}};
    CHECK(clock.now() == fila::TimePoint{1h});
    clock.advance_to(fila::TimePoint{1s});
    clock.advance(-1h);
    CHECK(clock.now() == fila::TimePoint{1h});
    clock.advance(fila::forever);
    CHECK(clock.now() == fila::TimePoint::max());
}

TEST_CASE("a wait for a moment that has come returns at once") {
    fila::ManualClock const clock{fila::TimePoint{1s}};
    std::mutex mutex;
    std::condition_variable cv;
    std::unique_lock lock{mutex};
    clock.wait_until(lock, cv, fila::TimePoint{1s});
    CHECK(lock.owns_lock());
    CHECK(clock.waiting() == 0);
}

TEST_CASE("advancing wakes those whose moment has come, and nobody else") {
    fila::ManualClock const clock;
    auto const start = clock.now();
    std::atomic<int> early{0}, late{0};
    auto const wait = [&](fila::Duration d, std::atomic<int>& done) {
        return std::jthread{[&clock, &done, until = start + d] {
            std::mutex mutex;
            std::condition_variable cv;
            std::unique_lock lock{mutex};
            while (clock.now() < until) clock.wait_until(lock, cv, until);
            ++done;
        }};
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.push_back(wait(1s, early));
    for (int i = 0; i < 2; ++i) threads.push_back(wait(10s, late));
    REQUIRE(eventually([&] { return clock.waiting() == 5; }));

    clock.advance(1s);
    CHECK(eventually([&] { return early == 3; }));
    CHECK(late == 0);
    clock.advance(9s);
    CHECK(eventually([&] { return late == 2; }));
    CHECK(eventually([&] { return clock.waiting() == 0; }));
}

TEST_CASE("case 108: no advance is lost, however it falls between a waiter's look and its sleep") {
    constexpr int rounds = 2'000;
    fila::ManualClock const clock;
    auto const start = clock.now();
    std::atomic<int> reached{0};
    std::atomic<bool> given_up{false};
    std::jthread waiter{[&] {
        std::mutex mutex;
        std::condition_variable cv;
        for (int i = 1; i <= rounds; ++i) {
            std::unique_lock lock{mutex};
            while (clock.now() < start + i * 1s && !given_up) clock.wait_until(lock, cv, start + i * 1s);
            reached = i;
        }
    }};
    int round = 0;
    bool all = true;
    while (all && ++round <= rounds) {
        clock.advance(1s);
        all = eventually([&] { return reached >= round; }, 20s);
    }
    given_up = true;
    clock.advance_to(fila::TimePoint::max());
    CHECK(all);
}

TEST_CASE("a bell waits on a manual clock: until the moment, or until it is rung") {
    fila::ManualClock clock;
    fila::detail::Bell bell;
    std::atomic<int> wakes{0};
    std::jthread sleeper{[&] {
        bell.wait(clock, clock.now() + 1h);
        ++wakes;
        bell.wait(clock, fila::TimePoint::max());
        ++wakes;
    }};
    REQUIRE(eventually([&] { return clock.waiting() == 1; }));
    clock.advance(1h);
    REQUIRE(eventually([&] { return wakes == 1; }));
    bell.ring();
    CHECK(eventually([&] { return wakes == 2; }));
}

TEST_CASE(
    "before a thread sleeps it looks for a moment, one time in sixteen for longer, and always while that "
    "pays") {
    fila::detail::Linger linger;
    auto const looks = [&](int true_at) {
        int n = 0;
        linger.until([&] { return ++n == true_at; });
        return n;
    };
    constexpr int never = 0;
    auto const longest = looks(never);
    auto const shortest = looks(never);
    CHECK(shortest * 8 < longest);
    for (int in_vain = 2; in_vain < 16; ++in_vain) {
        CHECK(looks(1) == 1);  // a short look that pays says nothing of long ones
        CHECK(looks(never) == shortest);
    }
    for (int i = 0; i < 5; ++i) CHECK(looks(longest) == longest);
    CHECK(looks(never) == longest);
    CHECK(looks(never) == shortest);
}
