// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/counting_new.hpp"
#include <fila/channel.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>
#include <ranges>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

/// An item that can be moved, and nothing else.
struct Parcel {
    explicit Parcel(int n) : number{std::make_unique<int>(n)} {}
    std::unique_ptr<int> number;
};

/// An item whose every life is counted.
struct Counted {
    explicit Counted(int& l) : living{&l} { ++*living; }
    Counted(Counted&& o) noexcept : living{o.living} { ++*living; }
    ~Counted() { --*living; }
    int* living;
};

template <class T>
std::vector<T> rest(fila::Channel<T>& channel) {
    std::vector<T> out;
    channel.try_pop_batch(out, channel.size());
    return out;
}

}  // namespace

TEST_CASE("items come out in the order in which they went in, round and round the ring") {
    fila::Channel<int> channel{3};
    int next_in = 0, next_out = 0;
    for (int round = 0; round < 20; ++round) {
        while (channel.try_push(next_in)) ++next_in;
        CHECK(channel.size() == 3);
        for (int i = 0; i < 1 + round % 3; ++i) CHECK(channel.try_pop() == next_out++);
    }
}

TEST_CASE("a full channel refuses try_push and leaves the value alone") {
    fila::Channel<std::unique_ptr<int>> channel{1};
    auto a = std::make_unique<int>(1), b = std::make_unique<int>(2);
    CHECK(channel.try_push(std::move(a)));
    CHECK_FALSE(channel.try_push(std::move(b)));
    REQUIRE(b);
    CHECK(*b == 2);
    CHECK(**channel.try_pop() == 1);
    CHECK(channel.push(std::move(b)));
    CHECK(channel.capacity() == 1);
}

TEST_CASE("after close nothing comes in, and what was accepted comes out") {
    fila::Channel<std::string> channel{4};
    CHECK(channel.push("a"));
    CHECK(channel.push("b"));
    CHECK_FALSE(channel.closed());
    channel.close();
    channel.close();
    CHECK(channel.closed());
    std::string kept = "c";
    CHECK_FALSE(channel.push(std::move(kept)));
    CHECK_FALSE(channel.try_push(std::move(kept)));
    CHECK(kept == "c");
    CHECK(channel.pop() == "a");
    std::vector<std::string> out;
    CHECK(channel.pop_batch(out, 10) == 1);
    CHECK(out == std::vector<std::string>{"b"});
    CHECK(channel.pop() == std::nullopt);
    CHECK(channel.try_pop() == std::nullopt);
    CHECK(channel.pop_batch(out, 10) == 0);
}

TEST_CASE("a batch takes what is there, at most max, and appends") {
    fila::Channel<int> channel{10};
    for (int i = 0; i < 5; ++i) REQUIRE(channel.push(i));
    std::vector<int> out{-1};
    CHECK(channel.pop_batch(out, 3) == 3);
    CHECK(channel.try_pop_batch(out, 10) == 2);
    CHECK(channel.try_pop_batch(out, 10) == 0);
    CHECK(channel.pop_batch(out, 0) == 0);
    CHECK(out == std::vector<int>{-1, 0, 1, 2, 3, 4});
}

TEST_CASE("a requested stop ends a wait, and keeps nobody from what needs no wait") {
    fila::Channel<int> channel{1};
    std::stop_source stop;
    stop.request_stop();
    CHECK(channel.pop(stop.get_token()) == std::nullopt);
    CHECK(channel.push(1, stop.get_token()));
    CHECK_FALSE(channel.push(2, stop.get_token()));
    CHECK(channel.pop(stop.get_token()) == 1);
    std::vector<int> out;
    CHECK(channel.pop_batch(out, 5, stop.get_token()) == 0);
}

TEST_CASE("items need be no more than movable") {
    fila::Channel<Parcel> channel{2};
    CHECK(channel.push(1));  // made in place
    CHECK(channel.push(Parcel{2}));
    std::vector<Parcel> out;
    CHECK(channel.pop_batch(out, 2) == 2);
    CHECK(*out.at(0).number == 1);
    CHECK(*out.at(1).number == 2);
}

TEST_CASE("each item is destroyed once, those that nobody took too") {
    int living = 0;
    {
        fila::Channel<Counted> channel{3};
        for (int i = 0; i < 3; ++i) REQUIRE(channel.try_push(living));
        CHECK(living == 3);
        channel.pop();
        CHECK(living == 2);
        REQUIRE(channel.try_push(living));
        CHECK(living == 3);
    }
    CHECK(living == 0);
}

TEST_CASE("an item whose constructor throws is not in the channel") {
    struct Picky {
        explicit Picky(int n) {
            if (n < 0) throw std::invalid_argument{"negative"};
        }
    };
    fila::Channel<Picky> channel{1};
    CHECK_THROWS_AS(channel.push(-1), std::invalid_argument);
    CHECK(channel.size() == 0);
    CHECK(channel.try_push(1));
    CHECK_FALSE(channel.try_push(-1));  // full: not even made
}

TEST_CASE("nothing is allocated after construction") {
    fila::Channel<int> channel{8};
    std::vector<int> out;
    out.reserve(100);
    auto const before = fila_tests::allocations_here();
    bool all = true;
    for (int i = 0; i < 100; ++i) {
        all &= channel.push(i) && channel.try_push(i) && channel.pop().has_value() &&
               channel.try_pop().has_value();
        all &= channel.push(i) && channel.try_pop_batch(out, 1) == 1;
    }
    auto const after = fila_tests::allocations_here();
    CHECK(all);
    CHECK(after == before);
}

TEST_CASE("a channel is a range of what comes out of it") {
    STATIC_REQUIRE(std::ranges::input_range<fila::Channel<Parcel>&>);
    STATIC_REQUIRE(ranges::input_range<fila::Channel<Parcel>&>);
    STATIC_REQUIRE_FALSE(std::ranges::forward_range<fila::Channel<int>&>);

    fila::Channel<int> channel{8};
    for (int i = 1; i <= 6; ++i) REQUIRE(channel.push(i));
    channel.close();
    SECTION("of a for loop") {
        int sum = 0;
        for (int& i : channel) sum += i;
        CHECK(sum == 21);
        CHECK(channel.begin() == channel.end());
    }
    SECTION("of range-v3") {
        auto const squares =
            channel | ranges::views::transform([](int i) { return i * i; }) | ranges::to<std::vector>();
        CHECK(squares == std::vector<int>{1, 4, 9, 16, 25, 36});
    }
    SECTION("of std::ranges") {
        std::vector<int> out;
        std::ranges::copy(channel, std::back_inserter(out));
        CHECK(out.size() == 6);
    }
    SECTION("several ranges share the items") {
        auto a = channel.begin();
        auto b = channel.begin();
        CHECK(*a == 1);
        CHECK(*b == 2);
        ++a;
        CHECK(*a == 3);
        CHECK(channel.size() == 3);
    }
}

TEST_CASE("subscribers hear when there is something after nothing, and of the close, until they are gone") {
    fila::Channel<int> channel{2};
    int a = 0, b = 0;
    {
        auto const first = channel.on_push([&] { ++a; });
        auto second = channel.on_push([&] { ++b; });
        REQUIRE(channel.push(1));
        CHECK(a == 1);
        REQUIRE(channel.try_push(2));
        CHECK_FALSE(channel.try_push(3));
        CHECK(a == 1);
        REQUIRE(channel.pop() == 1);
        REQUIRE(channel.push(3));
        CHECK(a == 1);
        CHECK(rest(channel).size() == 2);
        REQUIRE(channel.try_push(4));
        CHECK(a == 2);
        auto const moved = std::move(second);
        channel.close();
    }
    CHECK(a == 3);
    CHECK(b == 3);
    channel.close();
    CHECK(a == 3);
}

TEST_CASE("a subscription may outlive the channel") {
    auto channel = std::make_unique<fila::Channel<int>>(1);
    int calls = 0;
    auto const subscription = channel->on_push([&] { ++calls; });
    channel->push(1);
    channel.reset();
    CHECK(calls == 1);
}

TEST_CASE("case 74: a subscriber that throws harms neither the producer nor the other subscribers") {
    fila::Channel<int> channel{2};
    int heard = 0;
    auto const bad = channel.on_push([] { throw std::runtime_error{"bad subscriber"}; });
    auto const good = channel.on_push([&] { ++heard; });
    CHECK(channel.push(1));
    CHECK_NOTHROW(channel.close());
    CHECK(heard == 2);
    CHECK(rest(channel) == std::vector<int>{1});
}

TEST_CASE("case 120: a channel without room, or with more than there is, is refused by name") {
    for (auto const capacity : {std::size_t{0}, static_cast<std::size_t>(-1), std::size_t{1} << 62}) {
        std::string what;
        try {
            fila::Channel<int> const impossible{capacity};
        } catch (fila::ConfigError const& e) {
            what = e.what();
        }
        CHECK(what.find("Channel::capacity") != std::string::npos);
    }
}
