// SPDX-License-Identifier: MIT
// What a store promises to several threads. Threads collect, the rule's own thread judges.
#pragma once

#include <fila/testing/store_rule.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace fila::inline v1::testing {

/// Runs `work(index)` on several threads, joins them, and reports the first thing thrown.
template <class Work>
void on_threads(Findings& findings, std::size_t count, Work work) {
    std::mutex mutex;
    std::string thrown;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                try {
                    work(i);
                } catch (std::exception const& e) {
                    std::lock_guard lock{mutex};
                    if (thrown.empty()) thrown = e.what();
                }
            });
    }
    findings.check(thrown.empty(), "nothing is thrown on a thread, but this was: " + thrown);
}

/// How often each row was handed out, and how often its completion was applied, over all threads.
template <class Key>
class Tally {
public:
    /// Handed out once more.
    void taken(Key const& key) {
        std::lock_guard lock{mutex_};
        ++of(key).first;
    }
    /// Its completion was applied once more.
    void completed(Key const& key) {
        std::lock_guard lock{mutex_};
        ++of(key).second;
        ++completions_;
    }
    /// Of all rows.
    [[nodiscard]] std::size_t completions() {
        std::lock_guard lock{mutex_};
        return completions_;
    }
    /// {handed out, completed}
    [[nodiscard]] std::pair<int, int> of_key(Key const& key) {
        std::lock_guard lock{mutex_};
        return of(key);
    }

private:
    std::pair<int, int>& of(Key const& key) {
        for (auto& [k, counts] : rows_)
            if (k == key) return counts;
        return rows_.emplace_back(key, std::pair{0, 0}).second;
    }
    std::mutex mutex_;
    std::vector<std::pair<Key, std::pair<int, int>>> rows_;
    std::size_t completions_ = 0;
};

/// Claims and completes until every row is completed, or nothing has come for a long time.
template <class S, class Tally>
void work_off(S& store, std::size_t limit, std::size_t rows, Tally& tally) {
    for (int empty = 0; empty < 2000 && tally.completions() < rows;) {
        batch_t<S> batch;
        store.claim({limit, {}, hours{24}}, batch);
        if (batch.empty()) ++empty, std::this_thread::yield();
        std::vector<settlement_t<S>> settlements;
        for (auto const& ticket : batch.tickets()) {
            tally.taken(ticket.key);
            settlements.push_back({ticket, complete(), nullptr});
        }
        std::vector<Ack> acks(settlements.size(), Ack::in_doubt);
        store.settle(settlements, acks);
        for (std::size_t i = 0; i < acks.size(); ++i)
            if (acks[i] == Ack::applied) tally.completed(settlements[i].ticket.key);
    }
}

/// The suite of that name.
template <StoreHarness H>
constexpr auto thread_rules() {
    using Probe = StoreProbe<H>;
    using Need = Needs<H>;
    return std::to_array<StoreRule<H>>({
        {"threads: four of them take each row exactly once", Need::threads,
         [](Probe& p) {
             auto const keys = p.put_many(200);
             Tally<typename Probe::Key> tally;
             on_threads(p.findings, 4, [&](std::size_t i) { work_off(*p.store, i + 1, keys.size(), tally); });
             for (auto const& key : keys) {
                 p.check(tally.of_key(key) == std::pair{1, 1},
                         "each row is handed out once and completed once");
                 p.check_state(key, RowState::completed);
             }
         }},

        {"threads: extends and rescues among claims and settles disturb no live row",
         first_of(Need::threads, Need::leases),
         [](Probe& p) {
             if constexpr (LeasingStore<typename Probe::S>) {
                 using S = typename Probe::S;
                 auto const keys = p.put_many(120);
                 Tally<typename Probe::Key> tally;
                 std::atomic<std::size_t> working{3}, rescued{0}, lost_leases{0};
                 on_threads(p.findings, 4, [&](std::size_t i) {
                     if (i == 0) {
                         while (working > 0) {
                             rescued += p.store->rescue({}).rows();
                             std::this_thread::yield();
                         }
                         return;
                     }
                     struct Left {
                         std::atomic<std::size_t>& n;
                         ~Left() { --n; }
                     } const left{working};
                     for (int empty = 0; empty < 2000 && tally.completions() < keys.size();) {
                         batch_t<S> batch;
                         p.store->claim({3, {}, Probe::long_time}, batch);
                         if (batch.empty()) ++empty, std::this_thread::yield();
                         std::vector<Ack> acks(batch.tickets().size(), Ack::in_doubt);
                         p.store->extend(batch.tickets(), Probe::long_time, acks);
                         for (auto ack : acks) lost_leases += ack == Ack::applied ? 0 : 1;
                         for (auto const& ticket : batch.tickets()) {
                             tally.taken(ticket.key);
                             bool const give_back = ticket.fence != 0 && tally.of_key(ticket.key).first == 1;
                             auto const ack =
                                 Probe::settle_in(*p.store, ticket, give_back ? release() : complete());
                             if (!give_back && ack == Ack::applied) tally.completed(ticket.key);
                         }
                     }
                 });
                 p.check(rescued == 0, "no live row is rescued");
                 p.check(lost_leases == 0, "no live lease is lost");
                 for (auto const& key : keys) {
                     p.check(tally.of_key(key).second == 1, "each row is completed once");
                     p.check_state(key, RowState::completed);
                 }
             }
         }},
    });
}

}  // namespace fila::inline v1::testing
