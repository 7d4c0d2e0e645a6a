// SPDX-License-Identifier: MIT
// Case 112: a thread that cannot be had. pthread_create is this file's own: it fails when a test says so.
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/memory_store.hpp>

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <filesystem>
#include <limits>
#include <pthread.h>
#include <system_error>

namespace {

std::atomic<int> threads_left{std::numeric_limits<int>::max()};

std::size_t threads_here() {
    auto const tasks = std::filesystem::directory_iterator{"/proc/self/task"};
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}
struct Allow {
    explicit Allow(int n) { threads_left = n; }
    Allow(Allow const&) = delete;
    Allow& operator=(Allow const&) = delete;
    ~Allow() { threads_left = std::numeric_limits<int>::max(); }
};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* attributes, void* (*start)(void*),
                              void* argument) {
    using Create = int (*)(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
    static auto const real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (threads_left.fetch_sub(1) <= 0) return EAGAIN;
    return real(thread, attributes, start, argument);
}

TEST_CASE("case 112: a pool that cannot have its third thread throws, and has ended the first two") {
    auto const before = threads_here();
    {
        Allow const two{2};
        CHECK_THROWS_AS(fila::ThreadPool{4}, std::system_error);
    }
    CHECK(fila_tests::eventually([&] { return threads_here() == before; }));
}

TEST_CASE(
    "case 112: a run that cannot have its keeper or its settler throws, leaves nothing in hand, and may be "
    "repeated") {
    fila::MemoryStore<int> store{{}, {.keep_finished = true}};
    store.enqueue({1, 2, 3});
    fila::Processor pooled{store, fila::ThreadPool{2}, [](int const&) {}};
    auto const before = threads_here();
    for (int const allowed : {0, 1}) {
        {
            Allow const some{allowed};
            CHECK_THROWS_AS(pooled.drain(), std::system_error);
        }
        CHECK(store.counts(10).pending == 3);
        CHECK(store.counts(10).processing == 0);
        CHECK(fila_tests::eventually([&] { return threads_here() == before; }));
    }
    {
        fila::Processor alone{store, fila::InlineExecutor{}, [](int const&) {}};
        Allow const none{0};
        CHECK_THROWS_AS(alone.drain(), std::system_error);
        fila::Processor locked{store, fila::InlineExecutor{}, [](int const&) {}, fila::InTransaction{}};
        store.enqueue({4});
        CHECK(locked.drain().completed == 4);  // it needs no thread
    }
    store.enqueue({5});
    CHECK(pooled.drain().completed == 1);
}
