// SPDX-License-Identifier: MIT
// What the engine spends on a row when it has run for a while: no memory of its own.
#include "support/catch.hpp"
#include "support/counting_new.hpp"
#include <fila/channel/channel.hpp>
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/channel_store.hpp>
#include <fila/store/memory_store.hpp>

#include <cstddef>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// What a drain of `n` rows of a memory store allocates, whoever does it.
template <class Executor, class Handler>
std::size_t drained(std::size_t n, Executor executor, Handler handler, std::size_t batch) {
    fila::MemoryStore<int> store;
    store.enqueue(std::vector<int>(n));
    fila::Processor p{store, std::move(executor), handler, fila::Pace{.batch = batch}};
    auto const before = fila_tests::allocations();
    REQUIRE(p.drain().completed == n);
    return fila_tests::allocations() - before;
}

template <class Executor>
std::size_t streamed(std::size_t n, Executor executor) {
    fila::Channel<int> items{64};
    fila::ChannelStore store{items};
    fila::Processor p{store, std::move(executor), [](int const&) {}, fila::Pace{.batch = 16}};
    std::jthread const producer{[&] {
        for (std::size_t i = 0; i < n; ++i) items.push(0);
        items.close();
    }};
    auto const before = fila_tests::allocations();
    REQUIRE(p.drain().completed == n);
    return fila_tests::allocations() - before;
}

}  // namespace

TEST_CASE("a row that is done costs no allocation, however it is run") {
    auto const one = [](int const&) {};
    auto const many = [](std::span<int const>) {};
    constexpr std::size_t few = 20'000, more = 100'000;
    constexpr double none = 0.005;  // lists that grow with what happens to be in hand
    auto const per_row = [&](auto&& allocations) {
        auto const at_first = allocations(few), in_all = allocations(more);
        return static_cast<double>(in_all > at_first ? in_all - at_first : 0) / (more - few);
    };
    CHECK(per_row([&](std::size_t n) { return drained(n, fila::InlineExecutor{}, one, 100); }) < none);
    CHECK(per_row([&](std::size_t n) { return drained(n, fila::InlineExecutor{}, one, 1); }) < none);
    CHECK(per_row([&](std::size_t n) { return drained(n, fila::InlineExecutor{}, many, 100); }) < none);
    CHECK(per_row([&](std::size_t n) { return drained(n, fila::ThreadPool{2}, one, 100); }) < none);
    CHECK(per_row([&](std::size_t n) { return drained(n, fila::ThreadPool{2}, many, 100); }) < none);
    CHECK(per_row([&](std::size_t n) { return streamed(n, fila::InlineExecutor{}); }) < none);
    CHECK(per_row([&](std::size_t n) { return streamed(n, fila::ThreadPool{2}); }) < none);
}
