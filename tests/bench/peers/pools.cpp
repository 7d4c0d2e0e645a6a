// SPDX-License-Identifier: MIT
// What bench_in_process does, with C++ libraries that are on this machine:
//
//   pools do=list                                                       which they are
//   pools do=NAME workers=N work_ns=N capacity=N items=N                one of them
//
//   tbb            oneTBB: two bounded queues and threads
//   tbb_pipeline   oneTBB: a pipeline of three stages, CAPACITY items in it at most
//   asio           Asio: a thread pool, results posted to a strand, a semaphore for the capacity
//   bs             BS::thread_pool: a future for each item, CAPACITY of them
//   taskflow       Taskflow: the same with the executor's async
//
// An item carries what can only be moved; a result or an error for each comes back and is counted.
#include "bench/bench_work.hpp"

#ifdef POOLS_TBB
#include <oneapi/tbb.h>
#endif
#ifdef POOLS_ASIO
#include <asio.hpp>
#endif
#ifdef POOLS_BS
#include <BS_thread_pool.hpp>
#endif
#ifdef POOLS_TASKFLOW
#include <taskflow/taskflow.hpp>
#endif

#include <functional>
#include <future>
#include <limits>
#include <map>
#include <semaphore>
#include <thread>
#include <vector>

using namespace fila_bench;

namespace {

struct Task {
    std::size_t items, workers, capacity;
    Work const& work;
};

/// The newest future takes the place of the one CAPACITY before it, whose result is awaited first.
template <class Submit>
[[maybe_unused]] Counters with_futures(Task const& task, Submit submit) {
    std::vector<std::future<Result>> ring(task.capacity);
    Counters counters;
    for (std::size_t i = 0; i < task.items; ++i) {
        auto& place = ring[i % ring.size()];
        if (place.valid()) counters.add(place.get());
        place = submit(Item{i, nullptr});
    }
    for (auto& place : ring)
        if (place.valid()) counters.add(place.get());
    return counters;
}

#ifdef POOLS_TBB
namespace tbb = oneapi::tbb;

Counters tbb_queues(Task const& task) {
    constexpr auto last = std::numeric_limits<std::uint64_t>::max();
    tbb::concurrent_bounded_queue<Item> source;
    tbb::concurrent_bounded_queue<Result> results;
    source.set_capacity(static_cast<std::ptrdiff_t>(task.capacity));
    results.set_capacity(static_cast<std::ptrdiff_t>(task.capacity));
    std::vector<std::jthread> pool;
    for (std::size_t w = 0; w < task.workers; ++w)
        pool.emplace_back([&] {
            for (Item item;;) {
                source.pop(item);
                if (item.number == last) return;
                results.push(task.work(item));
            }
        });
    std::jthread producer{[&] {
        for (std::size_t i = 0; i < task.items; ++i) source.push(Item{i, nullptr});
        for (std::size_t w = 0; w < task.workers; ++w) source.push(Item{last, nullptr});
    }};
    Counters counters;
    Result result;
    for (std::size_t i = 0; i < task.items; ++i) {
        results.pop(result);
        counters.add(result);
    }
    return counters;
}
Counters tbb_pipeline(Task const& task) {
    tbb::global_control const threads{tbb::global_control::max_allowed_parallelism, task.workers + 1};
    Counters counters;
    std::size_t next = 0;
    tbb::task_arena arena{static_cast<int>(task.workers) + 1};
    arena.execute([&] {
        tbb::parallel_pipeline(
            task.capacity,
            tbb::make_filter<void, Item>(tbb::filter_mode::serial_in_order,
                                         [&](tbb::flow_control& flow) -> Item {
                                             if (next == task.items) {
                                                 flow.stop();
                                                 return {};
                                             }
                                             return {next++, nullptr};
                                         }) &
                tbb::make_filter<Item, Result>(tbb::filter_mode::parallel,
                                               [&](Item const& item) { return task.work(item); }) &
                tbb::make_filter<Result, void>(tbb::filter_mode::serial_out_of_order,
                                               [&](Result const& result) { counters.add(result); }));
    });
    return counters;
}
#endif

#ifdef POOLS_ASIO
Counters with_asio(Task const& task) {
    Counters counters;
    std::counting_semaphore<> room{static_cast<std::ptrdiff_t>(task.capacity)};
    asio::thread_pool pool{task.workers};
    auto receiver = asio::make_strand(pool);
    for (std::size_t i = 0; i < task.items; ++i) {
        room.acquire();
        asio::post(pool, [&, item = Item{i, nullptr}] {
            asio::post(receiver, [&, result = task.work(item)] {
                counters.add(result);
                room.release();
            });
        });
    }
    pool.join();
    return counters;
}
#endif

#ifdef POOLS_BS
Counters with_bs(Task const& task) {
    BS::thread_pool<> pool{task.workers};
    return with_futures(task, [&](Item&& item) {
        return pool.submit_task([&work = task.work, item = std::move(item)] { return work(item); });
    });
}
#endif

#ifdef POOLS_TASKFLOW
Counters with_taskflow(Task const& task) {
    tf::Executor executor{task.workers};
    return with_futures(task, [&](Item&& item) {
        return executor.async([&work = task.work, item = std::move(item)] { return work(item); });
    });
}
#endif

std::map<std::string, std::function<Counters(Task const&)>> const pools{
#ifdef POOLS_TBB
    {"tbb", tbb_queues},
    {"tbb_pipeline", tbb_pipeline},
#endif
#ifdef POOLS_ASIO
    {"asio", with_asio},
#endif
#ifdef POOLS_BS
    {"bs", with_bs},
#endif
#ifdef POOLS_TASKFLOW
    {"taskflow", with_taskflow},
#endif
};

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        auto const what = o.text("do");
        if (what == "list") {
            char const* separator = "[";
            for (auto const& [name, pool] : pools)
                std::cout << separator << '"' << name << '"', separator = ", ";
            std::cout << (pools.empty() ? "[]\n" : "]\n");
            return;
        }
        auto const pool = pools.find(what);
        if (pool == pools.end()) throw std::invalid_argument{"do=" + what};
        Work const work{count(o, "work_ns", 0)};
        Task const task{count(o, "items", 1'000'000), count(o, "workers", 2), count(o, "capacity", 64), work};
        auto const start = Steady::now();
        auto const counters = pool->second(task);
        auto const seconds = seconds_since(start);
        check(counters.done, task.items);
        print_rate(task.items, seconds);
    });
}
