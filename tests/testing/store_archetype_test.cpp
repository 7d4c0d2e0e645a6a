// SPDX-License-Identifier: MIT
// The engine asks no more of a store than the concepts say: it runs on models that have nothing else.
#include <fila/claim/in_transaction.hpp>
#include <fila/claim/leased.hpp>
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/testing/store_archetype.hpp>

#include <atomic>
#include <support/catch.hpp>

namespace {

using fila::testing::RowArchetype;

}  // namespace

TEST_CASE("the engine runs on a leasing store that has nothing else") {
    fila::testing::LeasingStoreArchetype store{10};
    std::atomic<int> runs = 0;
    fila::Processor inlined{store, fila::InlineExecutor{}, [&](RowArchetype const&) { ++runs; }};
    CHECK(inlined.drain().completed == 10);
    CHECK(runs == 10);
}

TEST_CASE("the engine runs with threads on a leasing store that has nothing else") {
    fila::testing::LeasingStoreArchetype store{100};
    std::atomic<int> runs = 0;
    fila::Processor pooled{store, fila::ThreadPool{2}, [&](RowArchetype const&) { ++runs; }};
    CHECK(pooled.drain().completed == 100);
    CHECK(runs == 100);
}

TEST_CASE("the engine runs on a transactional store that has nothing else") {
    fila::testing::TransactionalStoreArchetype store{10};
    std::atomic<int> runs = 0;
    fila::Processor cron{store, fila::InlineExecutor{}, [&](RowArchetype const&) { ++runs; },
                         fila::InTransaction{}};
    CHECK(cron.drain().completed == 10);
    CHECK(runs == 10);
}

TEST_CASE("the engine runs on a store of two verbs that claims for good") {
    fila::testing::StoreArchetype store{10};
    std::atomic<int> runs = 0;
    fila::Processor plain{store, fila::InlineExecutor{}, [&](RowArchetype const&) { ++runs; }};
    CHECK(plain.drain().completed == 10);
    CHECK(runs == 10);
}
