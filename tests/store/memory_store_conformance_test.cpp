// SPDX-License-Identifier: MIT
// MemoryStore keeps every promise of a store.
#include <fila/store/memory_store.hpp>
#include <fila/testing/store_conformance.hpp>

namespace {

struct MemoryHarness {
    using store_type = fila::MemoryStore<std::int64_t>;
    static constexpr std::string_view name = "memory";
    static constexpr fila::testing::StoreTraits traits{.peers = true};

    store_type& store() { return store_; }
    store_type& peer() { return store_; }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const& options) { return store_.put(n, options); }
    std::int64_t number(std::int64_t row) { return row; }
    void expire(std::int64_t key) { store_.expire(key); }
    void make_due(std::int64_t key) { store_.make_due(key); }
    fila::RowState state(std::int64_t key) {
        auto const row = store_.find(key);
        return row ? row->state : fila::RowState::absent;
    }

private:
    store_type store_{{}, {.max_transactions = 8}};
};

}  // namespace

FILA_STORE_CONFORMANCE(MemoryHarness)
