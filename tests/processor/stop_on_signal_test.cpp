// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/lane_of.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/stop_on_signal.hpp>

#include <atomic>
#include <memory>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <vector>

using fila_tests::eventually;
using fila_tests::LaneOf;

namespace {

bool blocked_here(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a signal of the process trips the token, and its number is kept") {
    fila::StopOnSignal const stop{SIGINT, SIGTERM};
    CHECK_FALSE(stop.token().stop_requested());
    CHECK(stop.signal() == 0);
    REQUIRE(kill(getpid(), SIGTERM) == 0);
    CHECK(eventually([&] { return stop.token().stop_requested(); }));
    CHECK(stop.signal() == SIGTERM);
}

TEST_CASE("further signals are harmless, and the first one counts") {
    fila::StopOnSignal const stop{SIGINT, SIGTERM};
    REQUIRE(kill(getpid(), SIGINT) == 0);
    REQUIRE(eventually([&] { return stop.token().stop_requested(); }));
    for (int i = 0; i < 100; ++i) REQUIRE(kill(getpid(), i % 2 ? SIGINT : SIGTERM) == 0);
    CHECK(stop.signal() == SIGINT);
}

TEST_CASE("without a signal it ends by itself and leaves the mask as it was") {
    REQUIRE_FALSE(blocked_here(SIGTERM));
    {
        fila::StopOnSignal const stop{SIGTERM, SIGUSR2};
        CHECK(blocked_here(SIGTERM));
        CHECK(blocked_here(SIGUSR2));
        CHECK_FALSE(blocked_here(SIGUSR1));
    }
    CHECK_FALSE(blocked_here(SIGTERM));
    CHECK_FALSE(blocked_here(SIGUSR2));
}

TEST_CASE("the token outlives it") {
    std::stop_token token;
    {
        fila::StopOnSignal const stop{SIGUSR1};
        token = stop.token();
    }
    CHECK_FALSE(token.stop_requested());
}

TEST_CASE("case 113: a signal stops a process whose threads allocate all the time, in every round") {
    constexpr int rounds = 200;
    for (int round = 0; round < rounds; ++round) {
        fila::StopOnSignal const stop{SIGTERM};
        auto const token = stop.token();
        std::atomic<int> gave_up{0};
        LaneOf lane{[&] {
            auto const stopped = eventually([&] {
                std::vector<std::unique_ptr<std::string>> busy;
                for (int i = 0; i < 20; ++i) busy.push_back(std::make_unique<std::string>(100, 'x'));
                return token.stop_requested();
            });
            if (!stopped) ++gave_up;
        }};
        {
            fila::ThreadPool pool{2};
            pool.execute(lane.task());
            pool.execute(lane.task());
            REQUIRE(kill(getpid(), SIGTERM) == 0);
        }
        REQUIRE(gave_up == 0);
        REQUIRE(stop.signal() == SIGTERM);
    }
}

TEST_CASE("case 120: signals that nobody can wait for are refused by number") {
    CHECK_THROWS_AS((fila::StopOnSignal{}), fila::ConfigError);
    CHECK_THROWS_AS((fila::StopOnSignal{SIGKILL}), fila::ConfigError);
    CHECK_THROWS_AS((fila::StopOnSignal{SIGTERM, SIGSEGV}), fila::ConfigError);
    CHECK_THROWS_AS((fila::StopOnSignal{-1}), fila::ConfigError);
    CHECK_FALSE(blocked_here(SIGTERM));
    try {
        fila::StopOnSignal const stop{SIGSTOP, SIGTERM, 4711};
    } catch (fila::ConfigError const& e) {
        std::string const what = e.what();
        CHECK(what.find(std::to_string(SIGSTOP)) != std::string::npos);
        CHECK(what.find("4711") != std::string::npos);
    }
}
