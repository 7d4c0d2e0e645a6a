// SPDX-License-Identifier: MIT
// FixedLimiter: at most n rows in hand.
#pragma once

#include <fila/limiter/limiter_concept.hpp>
#include <fila/types/error.hpp>

#include <algorithm>
#include <atomic>

namespace fila::inline v1 {

/// A row is in hand from before its claim until its settle is answered: so a slow database slows the claim,
/// and a process that dies leaves at most `n` rows to be rescued. Twice the threads keeps them busy.
/// Alternatives: none given (two batches in hand), Unlimited.
/// Thread safety: everything, from several threads at once. A copy starts with the slots that are free then,
/// and shares nothing.
///
///   fila::Processor p{store, fila::ThreadPool{8}, handler, fila::FixedLimiter{16}};
class FixedLimiter {
public:
    using policy_role = limiter_role;

    /// Throws ConfigError if `slots` is 0.
    explicit FixedLimiter(std::size_t slots) : capacity_{slots}, free_{slots} {
        if (slots == 0)
            throw ConfigError{
                "fila: wrong configuration:\n  FixedLimiter::slots must be at least 1 (nothing would ever be "
                "claimed)"};
    }
    FixedLimiter(FixedLimiter const& o) noexcept : capacity_{o.capacity_}, free_{o.free_.load()} {}
    FixedLimiter& operator=(FixedLimiter const& o) noexcept {
        capacity_ = o.capacity_;
        free_ = o.free_.load();
        return *this;
    }
    ~FixedLimiter() = default;

    [[nodiscard]] std::size_t acquire(std::size_t n) noexcept {
        auto free = free_.load();
        while (!free_.compare_exchange_weak(free, free - std::min(n, free))) {}
        return std::min(n, free);
    }
    void release(std::size_t n) noexcept { free_ += n; }
    /// What the constructor was given.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// Slots that are free just now; a hint where several threads take them.
    [[nodiscard]] std::size_t available() const noexcept { return free_.load(); }

private:
    std::size_t capacity_;
    std::atomic<std::size_t> free_;
};
static_assert(Limiter<FixedLimiter>);

}  // namespace fila::inline v1
