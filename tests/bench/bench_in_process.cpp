// SPDX-License-Identifier: MIT
// In the process:  bench_in_process do=channel|memory|lots|textbook workers=N work_ns=N capacity=N items=N
//
//   channel    a producer pushes into a Channel, a Processor over ChannelStore drains it
//   memory     a Processor drains a MemoryStore
//   lots       the same, with a handler of a span of rows
//   textbook   what one would write: a queue under a mutex, two condition variables, results back through another
//
// An item carries a number and what can only be moved; each is counted, and so is what its handler made of it.
#include "bench/bench_options.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/channel_store.hpp>
#include <fila/store/memory_store.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

using namespace fila_bench;

namespace {

/// Only moved: a handle as a socket or a buffer would be.
struct Item {
    std::uint64_t number = 0;
    std::unique_ptr<int> handle;
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

void check(std::size_t done, std::size_t items) {
    if (done != items) throw std::runtime_error{std::to_string(done) + " of " + std::to_string(items)};
}

template <class Store, class Handler>
std::size_t drained(Store& store, std::size_t workers, Handler handler) {
    if (workers == 0) {
        fila::Processor p{store, fila::InlineExecutor{}, handler};
        return p.drain().completed;
    }
    fila::Processor p{store, fila::ThreadPool{workers}, handler};
    return p.drain().completed;
}

double channel(std::size_t items, std::size_t workers, std::size_t capacity, Work const& work) {
    fila::Channel<Item> source{capacity};
    fila::ChannelStore store{source};
    auto const start = Steady::now();
    std::jthread producer{[&] {
        for (std::size_t i = 0; i < items; ++i) source.push(Item{i, nullptr});
        source.close();
    }};
    check(drained(store, workers, [&](fila::Lent<Item>& item) { (void)work(item->number); }), items);
    return seconds_since(start);
}
double memory(std::size_t items, std::size_t workers, Work const& work, bool lots) {
    fila::MemoryStore<std::uint64_t> store;
    std::vector<std::uint64_t> numbers(items);
    for (std::size_t i = 0; i < items; ++i) numbers[i] = i;
    store.enqueue(numbers);
    auto const start = Steady::now();
    auto const done = lots ? drained(store, workers,
                                     [&](std::span<std::uint64_t const> rows) {
                                         for (auto const row : rows) (void)work(row);
                                     })
                           : drained(store, workers, [&](std::uint64_t const& row) { (void)work(row); });
    auto const seconds = seconds_since(start);
    check(done, items);
    return seconds;
}

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
double textbook(std::size_t items, std::size_t workers, std::size_t capacity, Work const& work) {
    struct Result {
        std::uint64_t number = 0;
        bool failed = false;
    };
    TextbookQueue<Item> source{capacity};
    TextbookQueue<Result> results{capacity};
    auto const start = Steady::now();
    std::vector<std::jthread> pool;
    std::atomic<std::size_t> left{workers};
    for (std::size_t w = 0; w < workers; ++w)
        pool.emplace_back([&] {
            for (Item item; source.pop(item);) {
                bool failed = false;
                try {
                    (void)work(item.number);
                } catch (std::exception const&) {
                    failed = true;
                }
                results.push({item.number, failed});
            }
            if (--left == 0) results.close();
        });
    std::jthread producer{[&] {
        for (std::size_t i = 0; i < items; ++i) source.push(Item{i, nullptr});
        source.close();
    }};
    std::size_t done = 0, failed = 0;
    for (Result result; results.pop(result);) ++(result.failed ? failed : done);
    check(done, items);
    return seconds_since(start);
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        auto const items = count(o, "items", 1'000'000), workers = count(o, "workers", 2);
        auto const capacity = count(o, "capacity", 64);
        Work const work{count(o, "work_ns", 0)};
        auto const what = o.text("do", "channel");
        auto const seconds = what == "channel"    ? channel(items, workers, capacity, work)
                             : what == "memory"   ? memory(items, workers, work, false)
                             : what == "lots"     ? memory(items, workers, work, true)
                             : what == "textbook" ? textbook(items, workers, capacity, work)
                                                  : throw std::invalid_argument{"do=" + what};
        print_rate(items, seconds);
    });
}
