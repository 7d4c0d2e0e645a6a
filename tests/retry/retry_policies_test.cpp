// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include <fila/retry.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using Kind = fila::Outcome::Kind;

namespace {

fila::Failure failure(std::uint32_t failures, std::string key = "42", std::uint32_t crashes = 0) {
    return {.attempt = failures + crashes,
            .failures = failures,
            .crashes = crashes,
            .what = "no route to host",
            .key = std::move(key)};
}

template <class Policy>
std::string faults_of(Policy const& policy) {
    try {
        policy.validate();
    } catch (fila::ConfigError const& e) {
        return e.what();
    }
    return {};
}
bool names(std::string const& faults, std::string_view field) {
    return faults.find(field) != std::string::npos;
}

/// A store whose table has nothing but a status column.
struct Plain {
    template <class Ability>
    static constexpr bool offers = false;
};

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("no retry dead-letters the first failure, with its text") {
    auto const outcome = fila::NoRetry{}.decide(failure(1));
    CHECK(outcome.kind() == Kind::dead_letter);
    CHECK(outcome.text() == "no route to host");
}

TEST_CASE("next pass retries without a delay, however often") {
    for (std::uint32_t const n : {1u, 2u, 1000u, std::numeric_limits<std::uint32_t>::max()}) {
        auto const outcome = fila::NextPass{}.decide(failure(n));
        CHECK(outcome.kind() == Kind::retry);
        CHECK(outcome.delay() == 0s);
        CHECK(outcome.text() == "no route to host");
    }
}

TEST_CASE("case 41: max_attempts is the number of runs, under both policies with a cap") {
    SECTION("one attempt means no retry") {
        CHECK(fila::FixedDelay{.max_attempts = 1}.decide(failure(1)).kind() == Kind::dead_letter);
        CHECK(fila::ExponentialBackoff{.max_attempts = 1}.decide(failure(1)).kind() == Kind::dead_letter);
    }
    SECTION("three attempts: two retries, then dead") {
        for (std::uint32_t n = 1; n <= 5; ++n) {
            auto const expected = n < 3 ? Kind::retry : Kind::dead_letter;
            CHECK(fila::FixedDelay{.max_attempts = 3}.decide(failure(n)).kind() == expected);
            CHECK(fila::ExponentialBackoff{.max_attempts = 3}.decide(failure(n)).kind() == expected);
        }
    }
    SECTION("crashes do not count") {
        CHECK(fila::FixedDelay{.max_attempts = 3}.decide(failure(1, "42", 50)).kind() == Kind::retry);
        CHECK(fila::ExponentialBackoff{.max_attempts = 3}.decide(failure(1, "42", 50)).kind() == Kind::retry);
    }
    SECTION("none is refused") {
        CHECK(names(faults_of(fila::FixedDelay{.max_attempts = 0}), "FixedDelay::max_attempts"));
        CHECK(names(faults_of(fila::ExponentialBackoff{.max_attempts = 0}),
                    "ExponentialBackoff::max_attempts"));
    }
}

TEST_CASE("a fixed delay is the same each time") {
    fila::FixedDelay const policy{.delay = 7s, .max_attempts = 100};
    CHECK(policy.decide(failure(1)).delay() == 7s);
    CHECK(policy.decide(failure(99)).delay() == 7s);
    CHECK(policy.decide(failure(99)).text() == "no route to host");
}

TEST_CASE("case 35: the backoff never shrinks, never overflows, and keeps between base and cap") {
    for (auto const& policy :
         {fila::ExponentialBackoff{}, fila::ExponentialBackoff{.base = 1ns, .factor = 1.0001, .cap = 24h},
          fila::ExponentialBackoff{.base = 100ms, .factor = 1e300, .cap = 24h * 365},
          fila::ExponentialBackoff{.base = 5s, .factor = 1, .cap = 5s}}) {
        REQUIRE_NOTHROW(policy.validate());
        fila::Duration before{};
        for (std::uint32_t const n : {0u, 1u, 2u, 3u, 5u, 12u, 30u, 31u, 32u, 33u, 62u, 63u, 64u, 65u, 1000u,
                                      2147483647u, 4294967295u}) {
            auto const delay = policy.delay(n);
            CAPTURE(n);
            CHECK(delay >= policy.base);
            CHECK(delay <= policy.cap);
            CHECK(delay >= before);
            before = delay;
        }
    }
}

TEST_CASE("the backoff doubles from base to cap") {
    fila::ExponentialBackoff const policy{.base = 1s, .factor = 2, .cap = 10s, .jitter = 0};
    CHECK(policy.decide(failure(1)).delay() == 1s);
    CHECK(policy.decide(failure(2)).delay() == 2s);
    CHECK(policy.decide(failure(4)).delay() == 8s);
    CHECK(policy.decide(failure(5)).delay() == 10s);
    CHECK(policy.decide(failure(19)).delay() == 10s);
}

TEST_CASE("case 36: by default the first retry waits, and three runs need more than two seconds") {
    fila::ExponentialBackoff const policy;
    auto const first = policy.decide(failure(1)).delay();
    CHECK(first > 0s);
    CHECK(first + policy.decide(failure(2)).delay() > 2s);
}

TEST_CASE("case 35: jitter is applied after the cap, spreads both ways, and stays within its fraction") {
    fila::ExponentialBackoff const policy{.cap = 100s, .max_attempts = 1000, .jitter = 0.2};
    std::set<fila::Duration> delays;
    bool shorter = false, longer = false;
    for (int key = 0; key < 500; ++key) {
        auto const delay = policy.decide(failure(40, std::to_string(key))).delay();
        CHECK(delay >= 80s);
        CHECK(delay <= 120s);
        shorter |= delay < 85s;
        longer |= delay > 115s;
        delays.insert(delay);
    }
    CHECK(shorter);
    CHECK(longer);
    CHECK(delays.size() > 490);
}

TEST_CASE("jitter follows from the key and the failure alone, so that a run can be replayed") {
    fila::ExponentialBackoff const policy{.factor = 1};
    auto const delay = policy.decide(failure(3, "a")).delay();
    CHECK(policy.decide(failure(3, "a")).delay() == delay);
    CHECK(fila::ExponentialBackoff{policy}.decide(failure(3, "a", 9)).delay() == delay);
    CHECK(policy.decide(failure(4, "a")).delay() != delay);
    CHECK(policy.decide(failure(3, "b")).delay() != delay);
}

TEST_CASE("case 120: nonsense in a retry policy is refused, each field by name, all at once") {
    CHECK(faults_of(fila::ExponentialBackoff{}).empty());
    CHECK(faults_of(fila::FixedDelay{}).empty());

    using Backoff = fila::ExponentialBackoff;
    CHECK(names(faults_of(Backoff{.base = 0s}), "ExponentialBackoff::base"));
    CHECK(names(faults_of(Backoff{.base = -1s}), "ExponentialBackoff::base"));
    CHECK(names(faults_of(Backoff{.factor = 0.99}), "ExponentialBackoff::factor"));
    CHECK(names(faults_of(Backoff{.factor = -2}), "ExponentialBackoff::factor"));
    CHECK(names(faults_of(Backoff{.factor = not_a_number}), "ExponentialBackoff::factor"));
    CHECK(names(faults_of(Backoff{.factor = infinity}), "ExponentialBackoff::factor"));
    CHECK(names(faults_of(Backoff{.base = 2s, .cap = 1s}), "ExponentialBackoff::cap"));
    CHECK(names(faults_of(Backoff{.cap = fila::forever}), "ExponentialBackoff::cap"));
    CHECK(names(faults_of(Backoff{.jitter = -0.1}), "ExponentialBackoff::jitter"));
    CHECK(names(faults_of(Backoff{.jitter = 1}), "ExponentialBackoff::jitter"));
    CHECK(names(faults_of(Backoff{.jitter = not_a_number}), "ExponentialBackoff::jitter"));
    CHECK(names(faults_of(fila::FixedDelay{.delay = 0s}), "FixedDelay::delay"));
    CHECK(names(faults_of(fila::FixedDelay{.delay = -1s}), "FixedDelay::delay"));
    CHECK(names(faults_of(fila::FixedDelay{.delay = fila::forever}), "FixedDelay::delay"));

    auto const all = faults_of(Backoff{.base = -1s, .factor = not_a_number, .max_attempts = 0, .jitter = 2});
    for (auto const* field : {"::base", "::factor", "::max_attempts", "::jitter"}) CHECK(names(all, field));
}

TEST_CASE("the policies say what they need of a table") {
    STATIC_REQUIRE(fila::fits_store_v<fila::NoRetry, Plain>);
    STATIC_REQUIRE(fila::fits_store_v<fila::NextPass, Plain>);
    STATIC_REQUIRE_FALSE(fila::fits_store_v<fila::FixedDelay, Plain>);
    STATIC_REQUIRE_FALSE(fila::fits_store_v<fila::ExponentialBackoff, Plain>);
    struct Everything {};
    STATIC_REQUIRE(fila::fits_store_v<fila::ExponentialBackoff, Everything>);
}
