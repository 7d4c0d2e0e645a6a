// SPDX-License-Identifier: MIT
// What is put into a queue by accident or on purpose, tried alike on every store: odd payloads, keys at the ends of
// their range, names that look like SQL.
#pragma once

#include "support/catch.hpp"
#include <fila/store/store_concept.hpp>
#include <fila/table/table_builder.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fila_tests {

inline fila::Bytes bytes_of(std::string_view text) {
    auto const* data = reinterpret_cast<std::byte const*>(text.data());
    return {data, data + text.size()};
}
inline fila::Bytes every_byte() {
    fila::Bytes all(256);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
    return all;
}
/// No two neighbours alike, so that what is cut, shifted or repeated shows.
inline fila::Bytes many_bytes(std::size_t size) {
    fila::Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 167 % 256);
    return bytes;
}

/// Puts rows in, claims and settles them; `payload` is the member to look at.
template <class S, class Payload>
void come_back(S& store, Payload fila::row_t<S>::* payload, std::vector<Payload> const& payloads) {
    std::vector<fila::row_t<S>> rows(payloads.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].*payload = payloads[i];
    REQUIRE(store.enqueue(rows) == rows.size());
    fila::batch_t<S> batch;
    (void)store.claim({rows.size() + 1, {}, std::chrono::minutes{1}}, batch);
    REQUIRE(batch.rows().size() == payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        INFO("payload " << i << " of " << payloads[i].size() << " bytes");
        bool const same = batch.rows()[i].*payload == payloads[i];  // not printed: it may be large
        CHECK(same);
    }
    std::vector<fila::settlement_t<S>> all;
    for (std::size_t i = 0; i < batch.size(); ++i)
        all.push_back({batch.tickets()[i], fila::complete(), &batch.rows()[i]});
    std::vector<fila::Ack> acks(all.size(), fila::Ack::in_doubt);
    store.settle(all, acks);
    CHECK(std::count(acks.begin(), acks.end(), fila::Ack::applied) ==
          static_cast<std::ptrdiff_t>(acks.size()));
}
template <class S>
void odd_bytes_come_back(S& store, fila::Bytes fila::row_t<S>::* payload) {
    come_back<S, fila::Bytes>(store, payload,
                              {{},
                               bytes_of({"\0", 1}),
                               bytes_of({"a\0b\0", 4}),
                               bytes_of("\xff\xfe\xc3 no UTF-8"),
                               bytes_of("\\x00 \\\\ \"'{},NULL"),
                               bytes_of("'; DROP TABLE jobs; --"),
                               every_byte(),
                               many_bytes(1'000'000)});
}

// ---- keys --------------------------------------------------------------------------------------------------------

struct Numbered {
    std::int64_t number = 0;
};
inline constexpr auto numbered_parts = [](fila::TableName name) {
    return fila::table<Numbered>(name)
        .key("number", &Numbered::number, fila::KeySource::row)
        .status("status")
        .lease_until("lease_until")
        .fence("fence")
        .failures("failures")
        .crashes("crashes")
        .due_at("due_at")
        .last_error("last_error");
};

/// Every verb that takes a key, on keys of all sizes.
template <class S>
void extreme_keys_work(S& store) {
    constexpr auto smallest = std::numeric_limits<std::int64_t>::min(), largest = -(smallest + 1);
    std::vector<std::int64_t> const keys{smallest, smallest + 1, -1, 0, 1, largest - 1, largest};
    std::vector<Numbered> rows;
    for (auto key : keys) rows.push_back({key});
    REQUIRE(store.enqueue(rows) == rows.size());

    // One at a time: the cursor passes over none, and meets none twice.
    std::vector<std::int64_t> met;
    fila::batch_t<S> batch;
    fila::cursor_t<S> cursor{};
    for (std::size_t budget = 0; budget <= keys.size(); ++budget) {
        auto const result = store.claim({1, cursor, std::chrono::minutes{1}}, batch);
        cursor = result.cursor;
        if (result.supply == fila::Supply::dry) break;
    }
    REQUIRE(batch.size() == keys.size());
    for (auto const& ticket : batch.tickets()) met.push_back(ticket.key);
    std::sort(met.begin(), met.end());
    CHECK(met == keys);

    std::vector<fila::Ack> acks(keys.size(), fila::Ack::in_doubt);
    store.extend(batch.tickets(), std::chrono::hours{1}, acks);
    CHECK(acks == std::vector(keys.size(), fila::Ack::applied));
    std::vector<fila::settlement_t<S>> all;
    for (auto const& ticket : batch.tickets()) all.push_back({ticket, fila::dead_letter("no"), nullptr});
    store.settle(all, acks);
    CHECK(acks == std::vector(keys.size(), fila::Ack::applied));
    CHECK(store.dead_letters(100).size() == keys.size());
    CHECK(store.redrive(std::array{smallest, largest, std::int64_t{4711}}) == 2);
    CHECK(store.redrive_all() == keys.size() - 2);
}

// ---- names -------------------------------------------------------------------------------------------------------

struct Odd {
    std::int64_t id = 0;
    std::string text;
    std::string result;
};
/// Quotes, spaces, letters beyond ASCII, what ends a statement, and what our own templates take for theirs.
inline constexpr std::string_view odd_table = "t\"; DROP TABLE bystander; --";
inline constexpr auto odd_mapping = [](fila::TableName name) {
    return fila::table<Odd>(name)
        .key("the 'key'", &Odd::id)
        .column("a\u00e7\u00e3o \u8868 \U0001F600", &Odd::text)
        .output("{result} :n", &Odd::result)
        .fixed("queue\\", "o'clock \"; DROP TABLE bystander; -- \\")
        .status("SELECT", {.pending = "p' OR 1=1 --",
                           .processing = "\"processing\"",
                           .completed = "{dead}",
                           .dead = ":dead \u00e9",
                           .discarded = "$1"})
        .lease_until("lease\nuntil")
        .fence("fence?")
        .owner("$owner")
        .failures(" ")
        .crashes("crashes--")
        .due_at("/*due")
        .priority("-priority")
        .last_error("error;");
};

/// Every verb once. `left` says how many rows have that text in the status column.
template <class S>
void odd_names_work(S& store, std::function<std::int64_t(std::string_view status)> const& left) {
    std::vector<Odd> rows(4);
    for (auto& row : rows) row.text = "'; DROP TABLE bystander; --";
    REQUIRE(store.enqueue(rows) == 4);
    CHECK(left("p' OR 1=1 --") == 4);
    fila::batch_t<S> batch;
    auto const first = store.claim({2, {}, std::chrono::minutes{1}}, batch);
    (void)store.claim({2, first.cursor, std::chrono::minutes{1}}, batch);
    REQUIRE(batch.rows().size() == 4);
    CHECK(batch.rows()[3].text == rows[3].text);
    std::vector<fila::Ack> acks(4, fila::Ack::in_doubt);
    store.extend(batch.tickets(), std::chrono::hours{1}, acks);
    CHECK(acks == std::vector(4, fila::Ack::applied));
    batch.rows()[0].result = "it's done";
    std::vector<fila::settlement_t<S>> const all{{batch.tickets()[0], fila::complete(), &batch.rows()[0]},
                                                 {batch.tickets()[1], fila::discard("'"), nullptr},
                                                 {batch.tickets()[2], fila::dead_letter("\"; --"), nullptr},
                                                 {batch.tickets()[3], fila::retry({}, "\\"), nullptr}};
    store.settle(all, acks);
    CHECK(acks == std::vector(4, fila::Ack::applied));
    CHECK(left("{dead}") == 1);
    CHECK(left("$1") == 1);
    CHECK(left(":dead \u00e9") == 1);
    auto const counts = store.counts(10);
    CHECK((counts.pending == 1 && counts.processing == 0 && counts.dead == 1));
    auto const letters = store.dead_letters(10);
    REQUIRE(letters.size() == 1);
    CHECK(letters[0].error == "\"; --");
    CHECK(store.redrive(std::array{letters[0].key}) == 1);
    CHECK(store.redrive_all() == 0);
    CHECK(store.rescue({}).rows() == 0);
    CHECK(left("p' OR 1=1 --") == 2);
}

}  // namespace fila_tests
