// SPDX-License-Identifier: MIT
// The engine's containers: List (an array that grows), Queue (first in, first out), Chain (elements that stay in place).
//
// Every unit with a Processor compiles the engine's containers anew, of some fifteen element types. Each type of
// std::vector or std::deque is fifty functions and more, each type here some ten: a quarter of what a unit takes.
#pragma once

#include <fila/config.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace fila::inline v1::detail {

/// Elements move without throwing. An append that throws has changed nothing.
template <class T>
class List {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);

public:
    List() = default;
    List(List&& o) noexcept : first_{o.first_}, size_{o.size_}, capacity_{o.capacity_} {
        o.first_ = nullptr;
        o.size_ = o.capacity_ = 0;
    }
    List& operator=(List&& o) noexcept {
        auto* const first = first_;
        auto const size = size_, capacity = capacity_;
        first_ = o.first_, size_ = o.size_, capacity_ = o.capacity_;
        o.first_ = first, o.size_ = size, o.capacity_ = capacity;
        o.clear();
        return *this;
    }
    ~List() {
        clear();
        free(first_);
    }

    T* begin() noexcept { return first_; }
    T* end() noexcept { return first_ + size_; }
    T const* begin() const noexcept { return first_; }
    T const* end() const noexcept { return first_ + size_; }
    T& operator[](std::size_t i) noexcept { return first_[i]; }
    T const& operator[](std::size_t i) const noexcept { return first_[i]; }
    [[nodiscard]] T& back() noexcept { return first_[size_ - 1]; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::span<T> part(std::size_t at, std::size_t n) noexcept { return {first_ + at, n}; }
    [[nodiscard]] std::span<T const> view(std::size_t at, std::size_t n) const noexcept {
        return {first_ + at, n};
    }
    [[nodiscard]] std::span<T const> view() const noexcept { return {first_, size_}; }

    void push_back(T value) {
        if (size_ == capacity_) reserve(size_ ? 2 * size_ : 8);
        new (first_ + size_) T{static_cast<T&&>(value)};
        ++size_;
    }
    void reserve(std::size_t n) {
        if (n <= capacity_) return;
        auto* const grown = static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{alignof(T)}));
        for (std::size_t i = 0; i < size_; ++i) {
            new (grown + i) T{static_cast<T&&>(first_[i])};
            first_[i].~T();
        }
        free(first_);
        first_ = grown;
        capacity_ = n;
    }
    /// `n` copies instead of what there is.
    void assign(std::size_t n, T const& value) {
        clear();
        reserve(n);
        for (; size_ < n; ++size_) new (first_ + size_) T{value};
    }
    void pop_back() noexcept { first_[--size_].~T(); }
    /// Those behind the first `n` go.
    void cut(std::size_t n) noexcept {
        while (size_ > n) pop_back();
    }
    /// The first `n` go, the others keep their order.
    void drop_front(std::size_t n) noexcept {
        for (auto i = n; i < size_; ++i) first_[i - n] = static_cast<T&&>(first_[i]);
        cut(size_ - n);
    }
    /// Each that is `unwanted` goes, the others keep their order.
    template <class Unwanted>
    void drop_if(Unwanted unwanted) noexcept {
        std::size_t kept = 0;
        for (auto& value : *this) {
            if (unwanted(std::as_const(value))) continue;
            if (&first_[kept] != &value) first_[kept] = std::move(value);
            ++kept;
        }
        cut(kept);
    }
    /// Keeps the memory.
    void clear() noexcept { cut(0); }

private:
    static void free(T* memory) noexcept { ::operator delete(memory, std::align_val_t{alignof(T)}); }

    T* first_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

/// The memory follows what is in it, not what has been through it.
template <class T>
class Queue {
public:
    void push(T value) { items_.push_back(static_cast<T&&>(value)); }
    void pop() noexcept {
        if (2 * ++gone_ < items_.size()) return;
        items_.drop_front(gone_);
        gone_ = 0;
    }
    T& operator[](std::size_t i) noexcept { return items_[gone_ + i]; }
    [[nodiscard]] T& front() noexcept { return items_[gone_]; }
    [[nodiscard]] T& back() noexcept { return items_.back(); }
    [[nodiscard]] bool empty() const noexcept { return gone_ == items_.size(); }

private:
    List<T> items_;
    std::size_t gone_ = 0;
};

/// For what cannot be moved. Elements are only added, and live as long as the chain.
template <class T>
class Chain {
    struct Link {
        template <class... Args>
        explicit Link(Link* o, Args&... args) : value{args...}, older{o} {}
        T value;
        Link* older;
    };

public:
    class iterator {
    public:
        explicit iterator(Link* at) noexcept : at_{at} {}
        T& operator*() const noexcept { return at_->value; }
        iterator& operator++() noexcept { return at_ = at_->older, *this; }
        bool operator==(iterator const&) const = default;

    private:
        Link* at_;
    };

    Chain() = default;
    Chain(Chain const&) = delete;
    Chain& operator=(Chain const&) = delete;
    ~Chain() {
        while (auto* const link = newest_) newest_ = link->older, delete link;
    }

    template <class... Args>
    T& add(Args&... args) {
        newest_ = new Link{newest_, args...};
        return newest_->value;
    }
    /// The newest first.
    iterator begin() const noexcept { return iterator{newest_}; }
    iterator end() const noexcept { return iterator{nullptr}; }

private:
    Link* newest_ = nullptr;
};

}  // namespace fila::inline v1::detail
