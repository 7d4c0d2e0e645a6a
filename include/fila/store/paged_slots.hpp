// SPDX-License-Identifier: MIT
// PagedSlots: values under keys that count up from 1 and are never used again.
#pragma once

#include <fila/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

namespace fila::inline v1::detail {

/// Found by arithmetic, not by hashing. A page is freed when all of it has been used and erased, so that the
/// memory follows the values that live, also when a very old one stays for ever. One is kept, for a stream of
/// values that come and go.
template <class T>
class PagedSlots {
public:
    std::int64_t append(T value) {
        auto const index = next_++;
        if (index % page_size == 0) pages_.push_back(spare_ ? std::move(spare_) : std::make_unique<Page>());
        auto& page = *pages_.back();
        page.slots[index % page_size].emplace(std::move(value));
        ++page.live;
        return static_cast<std::int64_t>(index) + 1;
    }
    [[nodiscard]] T* find(std::int64_t key) {
        auto* page = page_of(key);
        if (!page) return nullptr;
        auto& slot = page->slots[index_of(key) % page_size];
        return slot ? &*slot : nullptr;
    }
    void erase(std::int64_t key) {
        auto* page = page_of(key);
        auto const slot = index_of(key) % page_size;
        if (!page || !page->slots[slot]) return;
        page->slots[slot].reset();
        if (--page->live > 0 || next_ < (index_of(key) / page_size + 1) * page_size) return;
        spare_ = std::move(pages_[index_of(key) / page_size - first_page_]);
        for (; !pages_.empty() && !pages_.front(); ++first_page_) pages_.pop_front();
    }
    /// The key that the next value gets.
    [[nodiscard]] std::int64_t next_key() const noexcept { return static_cast<std::int64_t>(next_) + 1; }

private:
    static constexpr std::size_t page_size = 256;
    struct Page {
        std::array<std::optional<T>, page_size> slots;
        std::size_t live = 0;
    };

    static std::size_t index_of(std::int64_t key) { return static_cast<std::size_t>(key) - 1; }
    Page* page_of(std::int64_t key) {
        if (key < 1 || index_of(key) >= next_) return nullptr;
        auto const page = index_of(key) / page_size;
        return page < first_page_ ? nullptr : pages_[page - first_page_].get();
    }

    std::deque<std::unique_ptr<Page>> pages_;
    std::unique_ptr<Page> spare_;
    std::size_t first_page_ = 0;
    std::size_t next_ = 0;
};

}  // namespace fila::inline v1::detail
