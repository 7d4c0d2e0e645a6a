// SPDX-License-Identifier: MIT
// RingBuffer: a queue in memory that is allocated once. For types that need no default constructor.
#pragma once

#include <fila/config.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace fila::inline v1::detail {

/// Thread safety: none. The caller checks for full and empty.
template <class T>
class RingBuffer {
public:
    explicit RingBuffer(std::size_t capacity)
        : capacity_{capacity}, slots_{std::allocator<T>{}.allocate(capacity)} {}
    RingBuffer(RingBuffer const&) = delete;
    RingBuffer& operator=(RingBuffer const&) = delete;
    ~RingBuffer() {
        while (!empty()) drop_front();
        std::allocator<T>{}.deallocate(slots_, capacity_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }

    /// If the constructor of T throws, nothing has changed.
    template <class... Args>
    void emplace_back(Args&&... args) {
        auto const to_end = capacity_ - head_;
        std::construct_at(slots_ + (size_ < to_end ? head_ + size_ : size_ - to_end),
                          std::forward<Args>(args)...);
        ++size_;
    }
    [[nodiscard]] T& front() noexcept { return slots_[head_]; }
    void drop_front() noexcept {
        std::destroy_at(slots_ + head_);
        head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
        --size_;
    }

private:
    std::size_t capacity_;
    T* slots_;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace fila::inline v1::detail
