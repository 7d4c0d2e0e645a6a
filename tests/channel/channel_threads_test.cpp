// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include <fila/channel.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using fila_tests::eventually;

namespace {

/// Threads that count themselves out, so that a lost wake-up is a failed check and not a test that hangs.
class Crew {
public:
    template <class F>
    void add(F work) {
        threads_.emplace_back([this, work = std::move(work)] {
            work();
            ++finished_;
        });
    }
    [[nodiscard]] bool all_finish() {
        return eventually([this] { return finished_ == threads_.size(); }, 60s);
    }

private:
    std::atomic<std::size_t> finished_{0};
    std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE("case 108: many producers and consumers of every kind move each item once") {
    constexpr std::uint64_t producers = 3, each = 4'000;
    for (std::size_t const capacity : {std::size_t{1}, std::size_t{2}, std::size_t{64}}) {
        CAPTURE(capacity);
        fila::Channel<std::uint64_t> channel{capacity};
        std::atomic<std::uint64_t> sum{0}, count{0}, refused{0};
        std::atomic<std::uint64_t> producing{producers};
        auto const got = [&](std::uint64_t n) { sum += n, ++count; };
        Crew crew;
        for (std::uint64_t p = 0; p < producers; ++p)
            crew.add([&, p] {
                for (std::uint64_t i = 0; i < each; ++i)
                    if (!channel.push(p * each + i)) ++refused;
                if (--producing == 0) channel.close();
            });
        crew.add([&] {
            while (auto item = channel.pop()) got(*item);
        });
        crew.add([&] {
            std::vector<std::uint64_t> batch;
            while (channel.pop_batch(batch, 5) != 0) {
                for (auto const n : batch) got(n);
                batch.clear();
            }
        });
        crew.add([&] {
            for (auto const n : channel) got(n);
        });
        bool const finished = crew.all_finish();
        channel.close();
        REQUIRE(finished);
        CHECK(refused == 0);
        CHECK(count == producers * each);
        CHECK(sum == producers * each * (producers * each - 1) / 2);
    }
}

TEST_CASE("case 108: waiters that are stopped at random take no wake-up with them") {
    constexpr int items = 3'000;
    fila::Channel<int> channel{1};
    std::atomic<int> received{0}, sent{0};
    std::atomic<bool> over{false};
    Crew crew;
    // One patient producer and one patient consumer, among impatient ones of both kinds.
    crew.add([&] {
        for (int i = 0; i < items; ++i)
            if (channel.push(i)) ++sent;
        over = true;
        channel.close();
    });
    crew.add([&] {
        while (channel.pop()) ++received;
    });
    for (int k = 0; k < 2; ++k)
        crew.add([&, k] {
            while (!over) {
                std::stop_source stop;
                std::jthread const stopper{[&] { stop.request_stop(); }};
                if (k == 0 && channel.pop(stop.get_token())) ++received;
                if (k == 1 && channel.push(-1, stop.get_token())) ++sent;
            }
        });
    bool const finished = crew.all_finish();
    over = true;
    channel.close();
    REQUIRE(finished);
    CHECK(sent >= items);
    CHECK(received == sent);
}

TEST_CASE("case 107: a producer blocked on a full channel is ended by a stop, and by close") {
    fila::Channel<int> channel{1};
    REQUIRE(channel.push(0));
    std::stop_source stop;
    std::atomic<int> entered{0};
    std::atomic<int> by_stop{-1}, by_close{-1};
    Crew crew;
    crew.add([&] {
        ++entered;
        by_stop = channel.push(1, stop.get_token());
    });
    crew.add([&] {
        ++entered;
        by_close = channel.push(2);
    });
    REQUIRE(eventually([&] { return entered == 2; }));
    stop.request_stop();
    CHECK(eventually([&] { return by_stop == 0; }));
    CHECK(by_close == -1);
    channel.close();
    CHECK(crew.all_finish());
    CHECK(by_close == 0);
    CHECK(channel.pop() == 0);  // what was accepted is still there
    CHECK(channel.pop() == std::nullopt);
}

TEST_CASE("case 107: a consumer blocked on an empty channel is ended by a stop, and by close") {
    fila::Channel<int> channel{1};
    std::stop_source stop;
    std::atomic<int> stopped{0}, closed{0};
    Crew crew;
    crew.add([&] {
        if (!channel.pop(stop.get_token())) ++stopped;
    });
    crew.add([&] {
        std::vector<int> out;
        if (channel.pop_batch(out, 3, stop.get_token()) == 0) ++stopped;
    });
    for (int i = 0; i < 3; ++i)
        crew.add([&] {
            if (!channel.pop()) ++closed;
        });
    stop.request_stop();
    CHECK(eventually([&] { return stopped == 2; }));
    CHECK(closed == 0);
    channel.close();
    CHECK(crew.all_finish());
    CHECK(closed == 3);
}

TEST_CASE("room made by a batch wakes every producer that it has room for") {
    fila::Channel<int> channel{4};
    for (int i = 0; i < 4; ++i) REQUIRE(channel.push(i));
    std::atomic<int> pushed{0};
    Crew crew;
    for (int i = 0; i < 4; ++i)
        crew.add([&] {
            if (channel.push(9)) ++pushed;
        });
    std::vector<int> out;
    CHECK(channel.pop_batch(out, 4) == 4);
    bool const finished = crew.all_finish();
    channel.close();
    CHECK(finished);
    CHECK(pushed == 4);
}

TEST_CASE("once a subscription is destroyed its callback is not running") {
    fila::Channel<int> channel{1};
    std::atomic<bool> over{false};
    std::atomic<int> ghosts{0};
    Crew crew;
    crew.add([&] {
        while (!over) {
            channel.try_push(1);
            channel.try_pop();
        }
    });
    for (int round = 0; round < 500; ++round) {
        auto alive = std::make_unique<std::atomic<bool>>(true);
        {
            auto const subscription = channel.on_push([&ghosts, flag = alive.get()] {
                if (!*flag) ++ghosts;
            });
            std::this_thread::yield();
        }
        *alive = false;  // freed right after: a callback that still ran would be a use after free
    }
    over = true;
    CHECK(crew.all_finish());
    CHECK(ghosts == 0);
}
