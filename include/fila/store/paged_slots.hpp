// SPDX-License-Identifier: MIT
// PagedSlots: values under keys that count up from 1 and are never used again.
#pragma once

#include <fila/detail/list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace fila::inline v1::detail {

/// Found by arithmetic, not by hashing. A page is freed when all of it has been used and erased, so that the
/// memory follows the values that live, also when a very old one stays for ever. One is kept, for a stream of
/// values that come and go.
template <class T>
class PagedSlots {
public:
    PagedSlots() = default;
    PagedSlots(PagedSlots const&) = delete;
    PagedSlots& operator=(PagedSlots const&) = delete;
    ~PagedSlots() {
        for (delete spare_; !pages_.empty(); pages_.pop()) delete pages_.front();
    }

    std::int64_t append(T value) {
        auto const index = next_;
        if (index % page_size == 0) {
            if (!spare_) spare_ = new Page;
            pages_.push(spare_);
            spare_ = nullptr;
        }
        auto& page = *pages_.back();
        page.slots[index % page_size].emplace(std::move(value));
        ++page.live;
        ++next_;
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
        delete std::exchange(spare_, std::exchange(pages_[index_of(key) / page_size - first_page_], nullptr));
        for (; !pages_.empty() && !pages_.front(); ++first_page_) pages_.pop();
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
        return page < first_page_ ? nullptr : pages_[page - first_page_];
    }

    Queue<Page*> pages_;  // null: freed
    Page* spare_ = nullptr;
    std::size_t first_page_ = 0;
    std::size_t next_ = 0;
};

}  // namespace fila::inline v1::detail
