// SPDX-License-Identifier: MIT
// A memory store with a fault in it, as the conformance kit sees it. It promises everything, to be held to
// everything.
#pragma once

#include <fila/store/memory_store.hpp>
#include <fila/testing/faulty_store.hpp>
#include <fila/testing/store_rules.hpp>

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace fila_test {

/// A number that cannot be copied if it is negative: what a row that cannot be decoded is to a MemoryStore.
struct Number {
    std::int64_t value = 0;
    Number(std::int64_t v) : value{v} {}
    Number(Number const& o) : value{o.value} {
        if (value < 0) throw std::runtime_error{"a negative number"};
    }
    Number(Number&&) noexcept = default;
    Number& operator=(Number const& o) {
        Number copy{o};
        return *this = std::move(copy);
    }
    Number& operator=(Number&&) noexcept = default;
    ~Number() = default;
};

class FaultyHarness {
public:
    using inner_type = fila::MemoryStore<Number>;
    using store_type = fila::testing::FaultyStore<inner_type>;
    static constexpr std::string_view name = "faulty";
    static constexpr fila::testing::StoreTraits traits{
        .wakes_within = std::chrono::milliseconds{20}, .peers = true, .durable = true};

    /// Of the harnesses made from now on.
    static inline fila::testing::Fault fault = fila::testing::Fault::none;

    FaultyHarness() { renew(); }
    store_type& store() { return *store_; }
    store_type& peer() { return *store_; }
    void reopen() {
        if (fault == fila::testing::Fault::forgets_on_reopen) renew();
    }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const& options) {
        std::array const row{Number{n}};
        store_->enqueue(row, options);
        return ++puts_;
    }
    std::int64_t put_broken() {
        store_->inner().put(Number{-1});
        return ++puts_;
    }
    std::int64_t number(Number const& row) { return row.value; }
    void expire(std::int64_t key) { store_->inner().expire(key); }
    void clear_lease(std::int64_t key) { store_->inner().expire(key); }
    void make_due(std::int64_t key) { store_->inner().make_due(key); }
    fila::RowState state(std::int64_t key) {
        for (auto const& letter : store_->inner().dead_letters(1000))
            if (letter.key == key) return fila::RowState::dead;
        auto const row = store_->inner().find(key);
        return row ? row->state : fila::RowState::absent;
    }

private:
    void renew() { store_.emplace(fault, inner_type{{}, {.max_transactions = 8}}); }

    std::optional<store_type> store_;
    std::int64_t puts_ = 0;
};

}  // namespace fila_test
