// SPDX-License-Identifier: MIT
// The processor over PostgreSQL: leases and transactions end to end, with handlers that misbehave.
#include "adapters/postgres/tasks_table.hpp"
#include "support/catch.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/no_retry.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

using namespace fila_test;

TEST_CASE("a leased drain by four threads does each row once") {
    Sandbox box;
    create_tasks(box, 300);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    std::atomic<int> calls{0};
    fila::Processor processor{store, fila::ThreadPool{4}, [&](Task const&) { ++calls; }};
    auto const report = processor.drain();
    CHECK(report.completed == 300);
    CHECK(calls == 300);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'completed' AND fence = 1") == 300);
}

TEST_CASE("under InTransaction what a handler writes and its row's status commit together, or neither does") {
    Sandbox box;
    create_tasks(box, 20);
    box.run("CREATE TABLE {s}.ledger(task bigint PRIMARY KEY)");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const insert = box.in("INSERT INTO {s}.ledger VALUES (");
    auto const handle = [&](Task const& task, auto& context) {
        context.transaction().exec(insert + std::to_string(task.id) + ")");
        if (task.id % 5 == 0)
            context.transaction().exec(insert + std::to_string(task.id) + ")");  // a duplicate: throws
    };
    fila::Processor processor{store, fila::InlineExecutor{}, handle, fila::InTransaction{}};
    auto const report = processor.drain();
    CHECK(report.completed == 16);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger") == 16);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger l JOIN {s}.tasks t ON t.id = l.task WHERE t.status = "
                       "'completed'") == 16);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'pending' AND failures = 1 AND error "
                       "LIKE '%duplicate key%'") == 4);
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("case 60: a handler that commits the claim's transaction completes nothing by it") {
    Sandbox box;
    create_tasks(box, 1);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const commit = [](Task const&, auto& context) { context.transaction().exec("COMMIT"); };
    fila::Processor processor{store, fila::InlineExecutor{}, commit, fila::InTransaction{}};
    std::size_t completed = 0;
    std::string told;
    try {
        completed = processor.drain().completed;
    } catch (fila::Error const& e) {
        told = e.what();
    }
    INFO(told);
    CHECK(completed == 0);
    CHECK(box.get("SELECT status FROM {s}.tasks") != "completed");
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("case 42: a status word that the table refuses fails its row alone, by the retry policy's word") {
    Sandbox box;
    create_tasks(box, 3);
    box.run(
        "ALTER TABLE {s}.tasks ADD CHECK (status IN ('pending', 'processing', 'completed', 'dead', 'paid'))");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const word = [](Task const& task) { return fila::complete(task.id == 2 ? "nonsense" : "paid"); };
    auto const check = [&](fila::Report const& report) {
        CHECK(report.completed == 2);
        CHECK(report.dead_lettered == 1);
        CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'paid'") == 2);
        CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'dead' AND id = 2 AND failures = 1 "
                           "AND error LIKE '%check constraint%'") == 1);
        CHECK(box.idle_in_transaction() == 0);
    };
    SECTION("leased") {
        fila::Processor p{store, fila::InlineExecutor{}, word, fila::NoRetry{}, fila::Pace{.batch = 3}};
        check(p.drain());
    }
    SECTION("in a transaction") {
        fila::Processor p{store, fila::InlineExecutor{}, word, fila::NoRetry{}, fila::InTransaction{}};
        check(p.drain());
    }
}
