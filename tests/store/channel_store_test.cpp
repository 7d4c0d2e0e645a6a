// SPDX-License-Identifier: MIT
// What ChannelStore has of its own: an end, dead letters that are taken away, items that can only be moved.
#include <fila/clock/manual_clock.hpp>
#include <fila/store/channel_store.hpp>

#include <array>
#include <memory>
#include <string>
#include <support/catch.hpp>

namespace {

using namespace std::chrono_literals;
using Store = fila::ChannelStore<std::string, fila::ManualClock>;
using MoveOnly = std::unique_ptr<std::string>;

static_assert(fila::Store<Store> && fila::ClosableStore<Store> && fila::NotifyingStore<Store>);
static_assert(fila::InspectableStore<Store> && !fila::LeasingStore<Store> &&
              !fila::TransactionalStore<Store>);
static_assert(fila::Store<fila::ChannelStore<MoveOnly>>);
static_assert(std::is_invocable_v<void (*)(MoveOnly const&), fila::Lent<MoveOnly> const&>);
static_assert(std::is_invocable_v<void (*)(MoveOnly&), fila::Lent<MoveOnly>&>);

template <class S>
auto claim(S& s, std::size_t limit, fila::Supply* supply = nullptr) {
    typename S::batch_type batch;
    auto const result = s.claim({limit, {}, {}}, batch);
    if (supply) *supply = result.supply;
    return batch;
}
template <class S>
fila::Ack settle(S& s, typename S::batch_type const& batch, std::size_t i, fila::Outcome outcome) {
    std::array const settlements{
        typename S::settlement_type{batch.tickets()[i], std::move(outcome), &batch.rows()[i]}};
    std::array acks{fila::Ack::in_doubt};
    s.settle(settlements, acks);
    return acks[0];
}

}  // namespace

TEST_CASE("a channel store is closed when the channel is, and everything is settled") {
    fila::ManualClock clock;
    fila::Channel<std::string> channel{10};
    Store store{channel, clock};
    fila::Supply supply{};
    claim(store, 1, &supply);
    CHECK(supply == fila::Supply::dry);
    channel.push("a"), channel.push("b");
    channel.close();
    CHECK_FALSE(store.closed());
    auto const both = claim(store, 5, &supply);
    REQUIRE(both.size() == 2);
    CHECK(supply == fila::Supply::dry);
    settle(store, both, 0, fila::complete());
    CHECK_FALSE(store.closed());
    settle(store, both, 1, fila::retry(1s, "busy"));
    CHECK_FALSE(store.closed());
    CHECK(claim(store, 1, &supply).empty());
    CHECK(supply == fila::Supply::dry);
    clock.advance(2s);
    auto const again = claim(store, 1);
    REQUIRE(again.size() == 1);
    CHECK(again.histories()[0].failures == 1);
    settle(store, again, 0, fila::complete());
    CHECK(store.closed());
    claim(store, 1, &supply);
    CHECK(supply == fila::Supply::closed);
}

TEST_CASE("a row given back comes before the fresh ones of a channel") {
    fila::Channel<std::string> channel{10};
    fila::ChannelStore store{channel};
    for (auto const* item : {"a", "b", "c"}) channel.push(item);
    auto const two = claim(store, 2);
    settle(store, two, 1, fila::release());
    CHECK(claim(store, 2).rows() == std::vector<std::string>{"b", "c"});
}

TEST_CASE("a channel store never holds more of the channel than was asked for") {
    fila::Channel<std::string> channel{2};
    fila::ChannelStore store{channel};
    channel.push("a"), channel.push("b");
    CHECK_FALSE(channel.try_push("c"));
    CHECK(claim(store, 1).size() == 1);
    CHECK(channel.try_push("c"));
    CHECK(channel.size() == 2);
}

TEST_CASE("dead letters of a channel store are kept, or taken away") {
    fila::Channel<std::string> channel{10};
    channel.push("a");
    SECTION("kept, and redriven") {
        fila::ChannelStore store{channel};
        settle(store, claim(store, 1), 0, fila::dead_letter("no such account"));
        auto const letters = store.dead_letters(10);
        REQUIRE(letters.size() == 1);
        CHECK(letters[0].row == "a");
        CHECK(letters[0].error == "no such account");
        CHECK(store.redrive_all() == 1);
        CHECK(claim(store, 1).histories()[0].failures == 0);
    }
    SECTION("taken away") {
        std::vector<std::string> taken;
        fila::ChannelStore<std::string> store{
            channel, [&](auto letter) { taken.push_back(*letter.row + ": " + letter.error); }};
        settle(store, claim(store, 1), 0, fila::dead_letter("no such account"));
        CHECK(taken == std::vector<std::string>{"a: no such account"});
        CHECK(store.counts(10).dead == 0);
        CHECK(store.dead_letters(10).empty());
    }
}

TEST_CASE("an item that can only be moved survives a retry, a release and a stop") {
    fila::ManualClock clock;
    fila::Channel<MoveOnly> channel{10};
    fila::ChannelStore<MoveOnly, fila::ManualClock> store{channel, clock};
    channel.push(std::make_unique<std::string>("draft"));
    auto const first = claim(store, 1);
    REQUIRE(first.size() == 1);
    MoveOnly& item = first.rows()[0];
    *item += ", second";
    settle(store, first, 0, fila::retry(1s, "busy"));
    clock.advance(2s);
    {
        auto const second = claim(store, 1);
        REQUIRE(second.size() == 1);
        CHECK(**second.rows()[0] == "draft, second");
        settle(store, second, 0, fila::release());
    }
    auto const third = claim(store, 1);
    REQUIRE(third.size() == 1);
    CHECK(**third.rows()[0] == "draft, second");
}

TEST_CASE("subscribers of a channel store hear of pushes and of the end") {
    fila::Channel<std::string> channel{10};
    fila::ChannelStore store{channel};
    int wakes = 0;
    {
        auto const subscription = store.subscribe([&] { ++wakes; });
        channel.push("a");
        CHECK(wakes == 1);
        auto const batch = claim(store, 1);
        channel.close();
        CHECK(wakes == 2);
        settle(store, batch, 0, fila::complete());
        CHECK(wakes == 3);
    }
    CHECK(store.closed());
}

TEST_CASE("a channel store can be moved, rows in hand and all") {
    fila::Channel<std::string> channel{10};
    fila::ChannelStore<std::string> store{channel};
    channel.push("a");
    auto const batch = claim(store, 1);
    fila::ChannelStore<std::string> moved{std::move(store)};
    CHECK(settle(moved, batch, 0, fila::complete()) == fila::Ack::applied);
}
