// SPDX-License-Identifier: MIT
// What MemoryStore has of its own, beyond what every store promises.
#include "support/bad_input.hpp"
#include <fila/clock/manual_clock.hpp>
#include <fila/store/memory_store.hpp>

#include <ranges>

#include <array>
#include <list>
#include <stdexcept>
#include <string>
#include <support/catch.hpp>

namespace {

using namespace std::chrono_literals;
using Store = fila::MemoryStore<std::string>;
using Clocked = fila::MemoryStore<int, fila::ManualClock>;

static_assert(fila::Store<Store> && fila::LeasingStore<Store> && fila::TransactionalStore<Store>);
static_assert(fila::NotifyingStore<Store> && fila::EnqueuingStore<Store> && fila::InspectableStore<Store>);
static_assert(fila::SavepointTransaction<Store::transaction_type>);
static_assert(!fila::ClosableStore<Store>);

template <class S>
auto claim(S& s, std::size_t limit, typename S::cursor_type after = {}) {
    struct {
        fila::Batch<typename S::row_type, std::int64_t> batch;
        fila::ClaimResult<typename S::cursor_type> result;
    } claimed;
    claimed.result = s.claim({limit, after, 1min}, claimed.batch);
    return claimed;
}
template <class S, class Row>
fila::Ack settle(S& s, fila::Ticket<std::int64_t> const& ticket, fila::Outcome outcome, Row const* row) {
    std::array const settlements{fila::Settlement<Row, std::int64_t>{ticket, std::move(outcome), row}};
    std::array acks{fila::Ack::in_doubt};
    s.settle(settlements, acks);
    return acks[0];
}

/// Copies of it cannot be made while `fails` says so.
struct Fragile {
    int value = 0;
    bool fails = false;
    Fragile(int v, bool f) : value{v}, fails{f} {}
    Fragile(Fragile&&) = default;
    Fragile& operator=(Fragile&&) = default;
    Fragile(Fragile const& o) : value{o.value}, fails{o.fails} {
        if (fails) throw std::runtime_error{"cannot be copied"};
    }
    Fragile& operator=(Fragile const& o) {
        Fragile copy{o};
        return *this = std::move(copy);
    }
};

}  // namespace

TEST_CASE("a memory store takes any range") {
    Store store;
    CHECK(store.enqueue({"a", "b"}) == 2);
    CHECK(store.enqueue(std::list<char const*>{"c"}) == 1);
    CHECK(store.enqueue(std::views::iota(0, 3) |
                        std::views::transform([](int i) { return std::to_string(i); })) == 3);
    CHECK(store.enqueue(std::vector<std::string>{}) == 0);
    CHECK(claim(store, 10).batch.rows() == std::vector<std::string>{"a", "b", "c", "0", "1", "2"});
}

TEST_CASE("a range that throws half way puts nothing into a memory store") {
    fila::MemoryStore<int> store;
    auto const rows = std::views::iota(0, 5) | std::views::transform([](int i) {
                          if (i == 3) throw std::runtime_error{"three"};
                          return i;
                      });
    CHECK_THROWS_AS(store.enqueue(rows), std::runtime_error);
    CHECK(store.counts(10).pending == 0);
}

TEST_CASE("keys of a memory store start at 1 and are never used again") {
    fila::MemoryStore<int> store;
    for (std::int64_t key = 1; key <= 1000; ++key) {
        REQUIRE(store.put(7) == key);
        auto const claimed = claim(store, 1);
        settle(store, claimed.batch.tickets()[0], fila::complete(), claimed.batch.rows().data());
        REQUIRE_FALSE(store.find(key).has_value());
    }
    CHECK_FALSE(store.find(0).has_value());
    CHECK_FALSE(store.find(-1).has_value());
    CHECK_FALSE(store.find(1001).has_value());
}

TEST_CASE("finished rows are kept where that was asked for") {
    Store store{{}, {.keep_finished = true}};
    store.enqueue({"a", "b"});
    auto const claimed = claim(store, 2);
    std::string const left = "a, as the handler left it";
    settle(store, claimed.batch.tickets()[0], fila::complete("paid"), &left);
    settle(store, claimed.batch.tickets()[1], fila::discard("a duplicate"), &left);
    auto const paid = store.find(1), duplicate = store.find(2);
    REQUIRE((paid && duplicate));
    CHECK(paid->state == fila::RowState::completed);
    CHECK(paid->word == "paid");
    CHECK(paid->row == left);
    CHECK(duplicate->state == fila::RowState::discarded);
    CHECK(duplicate->error == "a duplicate");
}

TEST_CASE("a memory store hands the next attempt the row as the last one left it") {
    Store store;
    store.put("draft");
    auto const first = claim(store, 1);
    std::string const left = "second draft";
    settle(store, first.batch.tickets()[0], fila::release(), &left);
    CHECK(claim(store, 1).batch.rows()[0] == left);
}

TEST_CASE("delays of a memory store are the clock's") {
    fila::ManualClock clock;
    Clocked store{clock};
    store.put(1, {.delay = 10s});
    CHECK(claim(store, 1).batch.empty());
    clock.advance(10s);
    auto const claimed = claim(store, 1);
    REQUIRE(claimed.batch.size() == 1);
    CHECK(store.find(1)->lease_until == clock.now() + 1min);
    clock.advance(1min - 1ns);
    CHECK(store.rescue({}).rows() == 0);
    clock.advance(1ns);
    CHECK(store.rescue({}).rows() == 1);
}

TEST_CASE("a row retried without delay is not met again in the same instant") {
    fila::ManualClock clock;
    Clocked store{clock};
    store.put(1);
    auto const claimed = claim(store, 1);
    settle(store, claimed.batch.tickets()[0], fila::retry(0s), claimed.batch.rows().data());
    CHECK(claim(store, 1, claimed.result.cursor).batch.empty());
    CHECK(claim(store, 1).batch.empty());
    clock.advance(1ns);
    CHECK(claim(store, 1, claimed.result.cursor).batch.empty());
    CHECK(claim(store, 1).batch.size() == 1);
}

TEST_CASE("case 33: a row whose copy throws is broken and its neighbours are not") {
    fila::MemoryStore<Fragile> store;
    store.put({1, false}), store.put({2, true}), store.put({3, false});
    auto const claimed = claim(store, 10);
    CHECK(claimed.batch.rows().size() == 2);
    REQUIRE(claimed.batch.broken().size() == 1);
    CHECK(claimed.batch.broken()[0].why == "cannot be copied");
    CHECK(settle<fila::MemoryStore<Fragile>, Fragile>(store, claimed.batch.broken()[0].ticket,
                                                      fila::dead_letter("broken"),
                                                      nullptr) == fila::Ack::applied);
    auto const letters = store.dead_letters(10);
    REQUIRE(letters.size() == 1);
    CHECK_FALSE(letters[0].row.has_value());
    CHECK(letters[0].error == "broken");
}

TEST_CASE("a transaction of a memory store may outlive it") {
    std::optional<Store::Transaction> open;
    {
        Store store;
        store.put("a");
        open = store.begin();
    }
    auto const claimed = claim(*open, 1);
    REQUIRE(claimed.batch.size() == 1);
    CHECK(settle(*open, claimed.batch.tickets()[0], fila::complete(), claimed.batch.rows().data()) ==
          fila::Ack::applied);
    open->commit();
    CHECK(claim(*open, 1).batch.empty());
}

TEST_CASE("an assigned transaction rolls back what it held") {
    Store store{{}, {.max_transactions = 2}};
    store.put("a");
    auto first = store.begin(), second = store.begin();
    REQUIRE((first && second));
    CHECK_FALSE(store.begin().has_value());
    REQUIRE(claim(*first, 1).batch.size() == 1);
    *first = std::move(*second);
    CHECK(claim(*first, 1).batch.size() == 1);
    CHECK(store.begin().has_value());
}

TEST_CASE("a settle of another's row is lost inside a transaction too") {
    Store store;
    store.enqueue({"a", "b"});
    auto first = store.begin(), second = store.begin();
    auto const mine = claim(*first, 1), theirs = claim(*second, 1);
    auto const* row = mine.batch.rows().data();
    CHECK(settle(*first, theirs.batch.tickets()[0], fila::complete(), row) == fila::Ack::lost);
    CHECK(settle(*first, mine.batch.tickets()[0], fila::complete(), row) == fila::Ack::applied);
    CHECK(settle(*first, mine.batch.tickets()[0], fila::retry(1s), row) == fila::Ack::lost);
    CHECK(settle(store, mine.batch.tickets()[0], fila::complete(), row) == fila::Ack::lost);
}

TEST_CASE("subscribers of a memory store are woken by what is due now and by redrives") {
    Store store;
    int wakes = 0;
    std::optional subscription{store.subscribe([&] { ++wakes; })};
    store.put("a");
    CHECK(wakes == 1);
    store.put("later", {.delay = 1h});
    store.enqueue(std::vector<std::string>{});
    CHECK(wakes == 1);
    auto const claimed = claim(store, 1);
    settle(store, claimed.batch.tickets()[0], fila::dead_letter("no"), claimed.batch.rows().data());
    CHECK(store.redrive_all() == 1);
    CHECK(wakes == 2);
    CHECK(store.redrive_all() == 0);
    CHECK(wakes == 2);
    subscription.reset();
    store.put("b");
    CHECK(wakes == 2);
}

TEST_CASE("rows that come back one by one are claimed in their old order") {
    fila::MemoryStore<int> store;
    store.enqueue(std::views::iota(0, 1000));
    auto const all = claim(store, 1000);
    REQUIRE(all.batch.size() == 1000);
    // Back in an order that splits and joins runs in every way.
    for (std::size_t start : {1u, 3u, 0u, 2u})
        for (std::size_t i = start; i < 1000; i += 4)
            REQUIRE(settle(store, all.batch.tickets()[i], fila::release(), &all.batch.rows()[i]) ==
                    fila::Ack::applied);
    std::vector<int> seen;
    Store::cursor_type cursor;
    for (int claims = 0; claims < 1000; ++claims) {
        auto const next = claim(store, 7, {cursor.start, cursor.position});
        seen.insert(seen.end(), next.batch.rows().begin(), next.batch.rows().end());
        cursor = {next.result.cursor.start, next.result.cursor.position};
        if (next.result.supply == fila::Supply::dry) break;
    }
    CHECK(std::ranges::equal(seen, std::views::iota(0, 1000)));
}

TEST_CASE("any bytes come back, however many") {
    struct Parcel {
        fila::Bytes content;
    };
    fila::MemoryStore<Parcel> store;
    fila_tests::odd_bytes_come_back(store, &Parcel::content);
    fila_tests::come_back<fila::MemoryStore<Parcel>, fila::Bytes>(store, &Parcel::content,
                                                                  {fila_tests::many_bytes(100'000'000)});
}
