// SPDX-License-Identifier: MIT
// ChannelStore keeps the promises of a store that has no leases; with items that are copied, and items that
// are lent.
#include <fila/store/channel_store.hpp>
#include <fila/testing/store_conformance.hpp>

#include <memory>

namespace {

template <class Item>
class ChannelHarness {
public:
    using store_type = fila::ChannelStore<Item>;
    static constexpr fila::testing::StoreTraits traits{
        .ordered_by_priority = false, .delayed_put = false, .counts_crashes = false};

    store_type& store() { return store_; }
    std::int64_t put(std::int64_t n, fila::EnqueueOptions const&) {
        channel_.push(make(n));
        return ++puts_;
    }
    void make_due(std::int64_t key) { store_.make_due(key); }
    fila::RowState state(std::int64_t key) {
        if (key > puts_ - static_cast<std::int64_t>(channel_.size())) return fila::RowState::pending;
        auto const row = store_.find(key);
        return row ? row->state : fila::RowState::absent;
    }

protected:
    static Item make(std::int64_t n) {
        if constexpr (std::copyable<Item>)
            return n;
        else
            return std::make_unique<std::int64_t>(n);
    }

    fila::Channel<Item> channel_{1000};
    store_type store_{channel_};
    std::int64_t puts_ = 0;
};

struct CopiedItems : ChannelHarness<std::int64_t> {
    static constexpr std::string_view name = "channel of items that are copied";
    std::int64_t number(std::int64_t row) { return row; }
};
struct LentItems : ChannelHarness<std::unique_ptr<std::int64_t>> {
    static constexpr std::string_view name = "channel of items that are lent";
    std::int64_t number(fila::Lent<std::unique_ptr<std::int64_t>> const& row) { return **row; }
};

}  // namespace

FILA_STORE_CONFORMANCE(CopiedItems)
FILA_STORE_CONFORMANCE(LentItems)
