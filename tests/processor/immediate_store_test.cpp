// SPDX-License-Identifier: MIT
// Stores that never wait: their rows are settled by whoever has finished them.
#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/store/channel_store.hpp>
#include <fila/store/memory_store.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using fila_tests::adds_up;
using fila_tests::eventually;
using fila_tests::Gate;
using fila_tests::OpenAtEnd;
using fila_tests::Running;

namespace {

/// Fails its first settles, and counts all of them.
struct Hesitant : fila::MemoryStore<int> {
    void settle(std::span<settlement_type const> settlements, std::span<fila::Ack> acks) {
        ++calls;
        if (refusals-- > 0) throw fila::Error{"not now", {.retryable = true}};
        MemoryStore::settle(settlements, acks);
    }
    std::atomic<int> calls{0}, refusals{0};
};
static_assert(fila::ImmediateStore<Hesitant>);

class ThreadIds {
public:
    void note() {
        std::lock_guard lock{mutex_};
        ids_.insert(std::this_thread::get_id());
    }
    [[nodiscard]] bool include(ThreadIds const& o) const { return std::ranges::includes(ids_, o.ids_); }
    [[nodiscard]] bool empty() const { return ids_.empty(); }

private:
    std::mutex mutex_;
    std::set<std::thread::id> ids_;
};

std::vector<int> numbers(int n) {
    std::vector<int> all(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = i;
    return all;
}

}  // namespace

TEST_CASE("rows of a store that never waits are settled by those who have run them, each once") {
    constexpr int rows = 3'000;
    fila::Channel<int> channel{64};
    ThreadIds handlers, settlers;
    std::atomic<int> dead{0};
    fila::ChannelStore<int> store{channel, [&](auto const&) {
                                      settlers.note();
                                      ++dead;
                                  }};
    std::jthread const producer{[&] {
        for (int i = 0; i < rows; ++i) channel.push(i);
        channel.close();
    }};
    std::vector<std::atomic<bool>> seen(rows);
    fila::Processor p{store, fila::ThreadPool{4}, [&](int n) {
                          handlers.note();
                          auto const again = seen[static_cast<std::size_t>(n)].exchange(true);
                          if (n % 3 == 0) return fila::dead_letter("a third");
                          return n % 3 == 1 && !again ? fila::snooze(1us) : fila::complete();
                      }};
    auto const report = p.drain();
    CHECK(report.dead_lettered == rows / 3);
    CHECK(report.completed == rows - rows / 3);
    CHECK(report.snoozed == rows / 3);
    CHECK(adds_up(report));
    CHECK(dead == rows / 3);
    CHECK(store.closed());
    CHECK_FALSE(settlers.empty());
    CHECK(handlers.include(settlers));
}

TEST_CASE("a store that never waits and refuses for a while is asked again, though no row follows") {
    for (int const refusals : {1, 3}) {
        Hesitant store;
        store.refusals = refusals;
        store.put(1);
        auto const settled = [&](auto executor) {
            fila::Processor p{store, std::move(executor), [](int) {}, fila::Pace{.max_backoff = 1ms}};
            return p.drain();
        };
        auto const report = refusals == 1 ? settled(fila::ThreadPool{2}) : settled(fila::InlineExecutor{});
        CHECK(report.completed == 1);
        CHECK(report.errors == static_cast<std::size_t>(refusals));
        CHECK(store.calls == refusals + 1);
    }
}

TEST_CASE("a handler that was left behind at a hard stop settles nothing when it ends") {
    Hesitant store;
    store.enqueue(numbers(2));
    Gate gate;
    {
        fila::ThreadPool pool{1};  // outlives the processor, and ends when its last handler has
        fila::Processor p{store, pool, [&](int n) { n == 0 ? void(gate.pass()) : void(); },
                          fila::Pace{.batch = 1, .soft_stop_timeout = 0s, .hard_stop_timeout = 0s}};
        OpenAtEnd const open{gate};
        Running running{p};
        REQUIRE(eventually([&] { return gate.inside() == 1; }));
        CHECK(running.stop().abandoned == 1);
        store.calls = 0;
    }
    CHECK(gate.inside() == 0);
    CHECK(store.calls == 0);
}
