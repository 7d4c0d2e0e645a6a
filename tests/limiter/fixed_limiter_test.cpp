// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include <fila/limiter.hpp>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

TEST_CASE("a fixed limiter grants what is free, and no more") {
    fila::FixedLimiter limiter{5};
    CHECK(limiter.capacity() == 5);
    CHECK(limiter.acquire(3) == 3);
    CHECK(limiter.acquire(3) == 2);
    CHECK(limiter.acquire(3) == 0);
    limiter.release(4);
    CHECK(limiter.available() == 4);
    CHECK(limiter.acquire(0) == 0);
    CHECK(limiter.acquire(100) == 4);
    CHECK(limiter.capacity() == 5);
}

TEST_CASE("a copy of a limiter starts with what is free then, and shares nothing") {
    fila::FixedLimiter a{4};
    REQUIRE(a.acquire(1) == 1);
    fila::FixedLimiter b{a};
    CHECK(b.available() == 3);
    CHECK(b.acquire(9) == 3);
    CHECK(a.available() == 3);
    b = fila::FixedLimiter{7};
    CHECK(b.capacity() == 7);
    CHECK(b.available() == 7);
}

TEST_CASE(
    "case 115: slots taken and given back by many threads never exceed the capacity and all come home") {
    constexpr std::size_t slots = 7;
    fila::FixedLimiter limiter{slots};
    std::atomic<std::size_t> held{0}, most{0}, granted{0};
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (std::size_t i = 0; i < 5'000; ++i) {
                    auto const n = limiter.acquire((i + t) % 4);
                    auto const now = held += n;
                    for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {}
                    granted += n;
                    held -= n;
                    limiter.release(n);
                }
            });
    }
    CHECK(most <= slots);
    CHECK(granted > 0);
    CHECK(limiter.available() == slots);
}

TEST_CASE("an unlimited limiter grants everything") {
    fila::Unlimited limiter;
    CHECK(limiter.acquire(0) == 0);
    CHECK(limiter.acquire(std::numeric_limits<std::size_t>::max()) ==
          std::numeric_limits<std::size_t>::max());
    limiter.release(1);
    CHECK(limiter.acquire(1'000'000) == 1'000'000);
}

TEST_CASE("case 120: a limiter without slots is refused by name") {
    CHECK_THROWS_AS(fila::FixedLimiter{0}, fila::ConfigError);
    try {
        fila::FixedLimiter const none{0};
    } catch (fila::ConfigError const& e) {
        CHECK(std::string{e.what()}.find("FixedLimiter::slots") != std::string::npos);
    }
}
