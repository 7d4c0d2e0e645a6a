// SPDX-License-Identifier: MIT
// The pool of connections: counted, fair, and without a thread that owns anything.
#include "support/catch.hpp"
#include <fila/table/connection_pool.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

struct Ledger {
    std::atomic<int> opened{0}, closed{0};
    std::atomic<bool> refuse{false};
};
struct FakeConfig {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::size_t connections = 2;
    std::chrono::milliseconds patience{60000};
};
class FakeConnection {
public:
    explicit FakeConnection(FakeConfig const& config) : ledger_{config.ledger} {
        if (ledger_->refuse) throw fila::Error{"no", {.retryable = true}};
        ++ledger_->opened;
    }
    FakeConnection(FakeConnection const&) = delete;
    FakeConnection& operator=(FakeConnection const&) = delete;
    ~FakeConnection() { ++ledger_->closed; }
    bool lost() const noexcept { return broken; }
    bool broken = false;

private:
    std::shared_ptr<Ledger> ledger_;
};
template <bool single>
struct FakeDriver {
    using Config = FakeConfig;
    using Connection = FakeConnection;
    static constexpr bool one_writer = single;
    static std::size_t connections(Config const& c) { return c.connections; }
    static std::chrono::milliseconds patience(Config const& c) { return c.patience; }
};
using Pool = fila::detail::ConnectionPool<FakeDriver<false>>;
using Single = fila::detail::ConnectionPool<FakeDriver<true>>;
using Lane = fila::detail::ConnectionLane;

}  // namespace

TEST_CASE("pool: the reserved connections are opened at once, the shared ones when they are wanted") {
    FakeConfig const config;
    Pool const pool{config};
    CHECK(config.ledger->opened == 2);
    CHECK(pool.shared_connections() == 2);
    {
        auto const a = pool.acquire(Lane::shared), b = pool.acquire(Lane::shared);
        CHECK(config.ledger->opened == 4);
        CHECK_FALSE(pool.try_acquire(Lane::shared));
        CHECK(pool.try_acquire(Lane::settle));
        CHECK(pool.try_acquire(Lane::keeper));
    }
    CHECK(pool.try_acquire(Lane::shared));
    CHECK(config.ledger->opened == 4);
    CHECK(config.ledger->closed == 0);
}

TEST_CASE("pool: one writer is one connection for every lane") {
    FakeConfig const config;
    Single const pool{config};
    CHECK(config.ledger->opened == 1);
    CHECK(pool.shared_connections() == 1);
    auto const out = pool.acquire(Lane::keeper);
    CHECK_FALSE(pool.try_acquire(Lane::shared));
    CHECK_FALSE(pool.try_acquire(Lane::settle));
}

TEST_CASE("pool: a lost connection is destroyed and another opened in its place") {
    FakeConfig const config;
    Single const pool{config};
    pool.acquire(Lane::shared)->broken = true;
    CHECK(config.ledger->closed == 1);
    CHECK_FALSE(pool.acquire(Lane::shared)->broken);
    CHECK(config.ledger->opened == 2);
    auto checkout = pool.acquire(Lane::shared);
    checkout.discard();
    CHECK(config.ledger->closed == 2);
    CHECK(pool.try_acquire(Lane::shared));
}

TEST_CASE("case 84: a connection that cannot be opened leaves its place to the next") {
    FakeConfig config;
    config.connections = 1;
    Pool const pool{config};
    config.ledger->refuse = true;
    for (int i = 0; i < 100; ++i) CHECK_THROWS_AS(pool.acquire(Lane::shared), fila::Error);
    config.ledger->refuse = false;
    CHECK(pool.try_acquire(Lane::shared));
}

TEST_CASE("pool: who has waited for as long as the driver has patience is told to try again") {
    FakeConfig config;
    config.patience = std::chrono::milliseconds{1};
    Single const pool{config};
    auto const out = pool.acquire(Lane::shared);
    try {
        (void)pool.acquire(Lane::settle);
        FAIL("there is none");
    } catch (fila::Error const& e) {
        CHECK(e.retryable());
    }
}

TEST_CASE("pool: a checkout moves to another thread, and outlives the pool") {
    FakeConfig const config;
    std::optional<Single> pool{config};
    std::optional<Single::Checkout> kept{pool->acquire(Lane::shared)};
    pool.reset();
    CHECK(config.ledger->closed == 0);
    std::thread{[moved = std::move(*kept)]() mutable { moved = Single::Checkout{std::move(moved)}; }}.join();
    kept.reset();
    CHECK(config.ledger->closed == config.ledger->opened);
}

TEST_CASE("case 80: a connection has one user at a time, and every waiter gets its turn") {
    FakeConfig const config;
    Pool const pool{config};
    std::atomic<int> inside{0}, most{0}, turns{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                auto checkout = pool.acquire(Lane::shared);
                int const now = ++inside;
                for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
                if (i % 50 == 0) checkout->broken = true;
                ++turns;
                --inside;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(turns == 4000);
    CHECK(most <= 2);
    CHECK(config.ledger->opened - config.ledger->closed <= 4);
}

TEST_CASE("case 85: after fork() the child is told, and leaves the parent's connections alone") {
    FakeConfig const config;
    auto pool = std::make_unique<Pool>(config);
    auto checkout = std::make_unique<Pool::Checkout>(pool->acquire(Lane::shared));
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool refused = false;
        try {
            (void)pool->try_acquire(Lane::shared);
        } catch (fila::Error const&) {
            refused = true;
        }
        checkout.reset();
        pool.reset();
        ::_exit(refused && config.ledger->closed == 0 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    checkout.reset();
    CHECK(pool->try_acquire(Lane::shared));
}
