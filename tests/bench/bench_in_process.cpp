// SPDX-License-Identifier: MIT
// In the process:  bench_in_process do=bare|channel|memory|lots|textbook workers=N work_ns=N capacity=N items=N
//
//   bare       a producer pushes into a Channel, threads pop, results go back through another Channel
//   channel    a producer pushes into a Channel, a Processor over ChannelStore drains it
//   memory     a Processor drains a MemoryStore
//   lots       the same, with a handler of a span of rows
//   textbook   what one would write: a queue under a mutex, two condition variables, results back through another
//
// An item carries a number and what can only be moved; each is counted, and so is what its handler made of it.
#include "bench/bench_options.hpp"
#include "bench/bench_work.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/channel_store.hpp>
#include <fila/store/memory_store.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

using namespace fila_bench;

namespace {

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

/// Channels without the engine: what the textbook queue does, and Go.
double bare(std::size_t items, std::size_t workers, std::size_t capacity, Work const& work) {
    fila::Channel<Item> source{capacity};
    fila::Channel<Result> results{capacity};
    std::atomic<std::size_t> left{workers};
    auto const start = Steady::now();
    std::vector<std::jthread> pool;
    for (std::size_t w = 0; w < workers; ++w)
        pool.emplace_back([&] {
            while (auto const item = source.pop()) results.push(work(*item));
            if (--left == 0) results.close();
        });
    std::jthread producer{[&] {
        for (std::size_t i = 0; i < items; ++i) source.push(Item{i, nullptr});
        source.close();
    }};
    Counters counters;
    while (auto const result = results.pop()) counters.add(*result);
    check(counters.done, items);
    return seconds_since(start);
}
double textbook(std::size_t items, std::size_t workers, std::size_t capacity, Work const& work) {
    TextbookQueue<Item> source{capacity};
    TextbookQueue<Result> results{capacity};
    auto const start = Steady::now();
    std::vector<std::jthread> pool;
    std::atomic<std::size_t> left{workers};
    for (std::size_t w = 0; w < workers; ++w)
        pool.emplace_back([&] {
            for (Item item; source.pop(item);) results.push(work(item));
            if (--left == 0) results.close();
        });
    std::jthread producer{[&] {
        for (std::size_t i = 0; i < items; ++i) source.push(Item{i, nullptr});
        source.close();
    }};
    Counters counters;
    for (Result result; results.pop(result);) counters.add(result);
    check(counters.done, items);
    return seconds_since(start);
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        auto const items = count(o, "items", 1'000'000), workers = count(o, "workers", 2);
        auto const capacity = count(o, "capacity", 64);
        Work const work{count(o, "work_ns", 0)};
        auto const what = o.text("do", "channel");
        auto const seconds = what == "bare"       ? bare(items, workers, capacity, work)
                             : what == "channel"  ? channel(items, workers, capacity, work)
                             : what == "memory"   ? memory(items, workers, work, false)
                             : what == "lots"     ? memory(items, workers, work, true)
                             : what == "textbook" ? textbook(items, workers, capacity, work)
                                                  : throw std::invalid_argument{"do=" + what};
        print_rate(items, seconds);
    });
}
