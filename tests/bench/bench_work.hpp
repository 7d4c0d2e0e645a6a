// SPDX-License-Identifier: MIT
// What passes between threads in the benchmarks, what is done with it, and the queue that one would write.
#pragma once

#include "bench/bench_options.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace fila_bench {

/// Only moved: a handle as a socket or a buffer would be.
struct Item {
    std::uint64_t number = 0;
    std::unique_ptr<int> handle;
};
struct Result {
    std::uint64_t number = 0;
    bool failed = false;
};

/// A loop that takes about so long, whatever the optimiser thinks of it.
class Work {
public:
    explicit Work(std::size_t ns) {
        if (ns == 0) return;
        double best = 0;
        for (int i = 0; i < 5; ++i) {
            auto const start = Steady::now();
            spin(1 + static_cast<std::uint64_t>(i), 3'000'000);
            best = std::max(best, 3e6 / (seconds_since(start) * 1e9));
        }
        turns_ = static_cast<std::size_t>(static_cast<double>(ns) * best);
    }
    std::uint64_t operator()(std::uint64_t x) const { return turns_ == 0 ? x : spin(x, turns_); }
    /// With what a handler may throw made a result.
    Result operator()(Item const& item) const {
        try {
            return {(*this)(item.number), false};
        } catch (std::exception const&) {
            return {item.number, true};
        }
    }

private:
    static std::uint64_t spin(std::uint64_t x, std::size_t turns) {
        x |= 1;
        for (std::size_t i = 0; i < turns; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        sink_.store(x, std::memory_order_relaxed);
        return x;
    }
    static inline std::atomic<std::uint64_t> sink_{0};
    std::size_t turns_ = 0;
};

/// What the receiver of the results makes of them.
struct Counters {
    std::size_t done = 0, failed = 0;
    void add(Result const& result) { ++(result.failed ? failed : done); }
};
inline void check(std::size_t done, std::size_t items) {
    if (done != items) throw std::runtime_error{std::to_string(done) + " of " + std::to_string(items)};
}

/// A queue under a mutex, with two condition variables.
template <class T>
class TextbookQueue {
public:
    explicit TextbookQueue(std::size_t capacity) : capacity_{capacity} {}
    void push(T item) {
        std::unique_lock lock{mutex_};
        space_.wait(lock, [&] { return items_.size() < capacity_; });
        items_.push_back(std::move(item));
        filled_.notify_one();
    }
    bool pop(T& item) {
        std::unique_lock lock{mutex_};
        filled_.wait(lock, [&] { return !items_.empty() || closed_; });
        if (items_.empty()) return false;
        item = std::move(items_.front());
        items_.pop_front();
        space_.notify_one();
        return true;
    }
    void close() {
        std::lock_guard const lock{mutex_};
        closed_ = true;
        filled_.notify_all();
    }

private:
    std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable space_, filled_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace fila_bench
