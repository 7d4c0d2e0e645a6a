// SPDX-License-Identifier: MIT
// The processor over PostgreSQL: leases and transactions end to end, with handlers that misbehave.
#include "adapters/postgres/server_log.hpp"
#include "adapters/postgres/tasks_table.hpp"
#include "support/catch.hpp"
#include "support/pooler.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/fixed_delay.hpp>
#include <fila/retry/no_retry.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace fila_test;
using namespace std::chrono_literals;

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

namespace {

/// Statements that the server is sent to drain a table, from the processor's first to its last.
template <class Strategy, class Handler>
std::size_t statements_for(int rows, std::size_t batch, Strategy strategy, Handler handler) {
    Sandbox box;
    create_tasks(box, rows);
    TaskStore store{config(box, 2, box.role({"SET log_statement = 'all'"})), tasks(box.name("tasks"))};
    auto const sent = [&] {
        return std::ranges::count_if(logged(box.schema()), [](std::string const& line) {
            return contains(line, "LOG:  execute") || contains(line, "LOG:  statement");
        });
    };
    auto const before = sent();
    fila::Processor processor{store, fila::InlineExecutor{}, handler, strategy, fila::Pace{.batch = batch}};
    REQUIRE(processor.drain().completed == static_cast<std::size_t>(rows));
    return static_cast<std::size_t>(sent() - before);
}

}  // namespace

// Each is a round trip, and outside a transaction a commit too.
TEST_CASE("what is sent: a claim and a settle a batch, and no more for a row in a transaction of its own") {
    constexpr std::size_t around = 6;  // a second connection, a rescue, a last look
    auto const nothing = [](Task const&) {};
    CHECK(statements_for(1000, 100, fila::Leased{}, nothing) <= 2 * 10 + around);
    CHECK(statements_for(100, 1, fila::Leased{}, nothing) <= 2 * 100 + around);
    CHECK(statements_for(100, 1, fila::InTransaction{}, nothing) <= 2 * 100 + around);
    // With the handler's own one, and one that lends him the transaction.
    auto const one = [](Task const&, auto& context) { context.transaction().exec("SELECT 1"); };
    CHECK(statements_for(100, 1, fila::InTransaction{}, one) <= 4 * 100 + around);
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

TEST_CASE("what a handler wrote is not committed with a row that is not his any more") {
    Sandbox box;
    create_tasks(box, 3);
    box.run("CREATE TABLE {s}.ledger(task bigint)");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const handle = [&](Task const& task, auto& context) {
        auto& transaction = context.transaction();
        transaction.exec(box.in("INSERT INTO {s}.ledger VALUES (") + std::to_string(task.id) + ")");
        if (task.id == 2) transaction.exec(box.in("UPDATE {s}.tasks SET status = 'on hold' WHERE id = 2"));
    };
    fila::Processor processor{store, fila::InlineExecutor{}, handle, fila::InTransaction{}};
    auto const report = processor.drain();
    CHECK(report.completed == 2);
    CHECK(report.lost == 1);
    CHECK(box.get("SELECT string_agg(task::text, ' ' ORDER BY task) FROM {s}.ledger") == "1 3");
    CHECK(box.get("SELECT status FROM {s}.tasks WHERE id = 2") == "pending");
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("a table with a rule is worked through in transactions all the same") {
    Sandbox box;
    create_tasks(box, 10);
    box.run(
        "CREATE TABLE {s}.log(task bigint); "
        "CREATE RULE told AS ON UPDATE TO {s}.tasks DO ALSO INSERT INTO {s}.log VALUES (new.id)");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    fila::Processor processor{store, fila::InlineExecutor{}, [](Task const&) {}, fila::InTransaction{}};
    std::size_t completed = processor.drain().completed;
    completed += processor.drain().completed;  // the row that found out
    CHECK(completed == 10);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.log") == 10);
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

TEST_CASE("what a deferred constraint refuses at COMMIT fails its row alone, without its writes") {
    Sandbox box;
    create_tasks(box, 3);
    box.run("CREATE TABLE {s}.ledger(task bigint REFERENCES {s}.tasks(id) DEFERRABLE INITIALLY DEFERRED)");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const insert = box.in("INSERT INTO {s}.ledger VALUES (");
    auto const handle = [&](Task const& task, auto& context) {
        context.transaction().exec(insert + (task.id == 2 ? "999" : std::to_string(task.id)) + ")");
    };
    fila::Processor p{store, fila::InlineExecutor{}, handle, fila::NoRetry{}, fila::InTransaction{}};
    auto const report = p.drain();
    CHECK(report.completed == 2);
    CHECK(report.dead_lettered == 1);
    CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger") == 2);
    CHECK(box.get<bool>("SELECT error LIKE '%foreign key%' AND failures = 1 FROM {s}.tasks WHERE id = 2"));
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("case 44: a result that PostgreSQL's text cannot hold fails its row alone, with a reason") {
    Sandbox box;
    create_tasks(box, 4);
    box.run("ALTER TABLE {s}.tasks ADD result text");
    struct Told : Task {
        std::string result;
    };
    auto const mapping = fila::table<Told>(fila::TableName{box.name("tasks")})
                             .key("id", &Told::id)
                             .output("result", &Told::result)
                             .status("status")
                             .lease_until("until")
                             .fence("fence")
                             .failures("failures")
                             .crashes("crashes")
                             .due_at("due_at")
                             .last_error("error");
    fila::postgres::PostgresStore store{config(box), mapping};
    auto const answer = [](Told& task) {
        task.result = task.id == 2 ? std::string{"a\0b", 3} : task.id == 3 ? "caf\xe9" : "well";
    };
    auto const check = [&](fila::Report const& report) {
        CHECK(report.completed == 2);
        CHECK(report.dead_lettered == 2);
        CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'completed' AND result = 'well'") ==
              2);
        CHECK(box.get<bool>("SELECT error LIKE '%NUL at byte 1%bytea%' FROM {s}.tasks WHERE id = 2"));
        CHECK(box.get<bool>("SELECT error LIKE '%encoding \"UTF8\"%' FROM {s}.tasks WHERE id = 3"));
        CHECK(box.idle_in_transaction() == 0);
    };
    SECTION("leased") {
        fila::Processor p{store, fila::InlineExecutor{}, answer, fila::NoRetry{}, fila::Pace{.batch = 4}};
        check(p.drain());
    }
    SECTION("in a transaction") {
        fila::Processor p{store, fila::InlineExecutor{}, answer, fila::NoRetry{}, fila::InTransaction{}};
        check(p.drain());
    }
}

TEST_CASE("case 19: leases are kept and outcomes written while every lent connection is in use") {
    Sandbox box;
    create_tasks(box, 2);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    fila::batch_t<TaskStore> batch;
    (void)store.claim({2, {}, std::chrono::minutes{1}}, batch);
    REQUIRE(batch.size() == 2);
    auto const lent = store.begin();
    REQUIRE(lent);
    CHECK_FALSE(store.begin());  // there is no second one
    std::vector<fila::Ack> acks(2, fila::Ack::in_doubt);
    store.extend(batch.tickets(), std::chrono::hours{1}, acks);
    CHECK(acks == std::vector(2, fila::Ack::applied));
    CHECK(box.get<int>(
              "SELECT count(*) FROM {s}.tasks WHERE until > clock_timestamp() + interval '59 min'") == 2);
    std::vector<fila::settlement_t<TaskStore>> const all{{batch.tickets()[0], fila::complete(), nullptr},
                                                         {batch.tickets()[1], fila::complete(), nullptr}};
    store.settle(all, acks);
    CHECK(acks == std::vector(2, fila::Ack::applied));
}

namespace {

/// Signals whose handler does not restart what it interrupted, one after the other, until the end of the scope.
class SignalStorm {
public:
    SignalStorm() {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        sigemptyset(&action.sa_mask);
        sigaction(SIGUSR1, &action, &before_);
        thread_ = std::jthread{[this, target = pthread_self()](std::stop_token const& stop) {
            while (!stop.stop_requested()) {
                pthread_kill(target, SIGUSR1);
                ++sent_;
                std::this_thread::yield();
            }
        }};
    }
    SignalStorm(SignalStorm const&) = delete;
    SignalStorm& operator=(SignalStorm const&) = delete;
    ~SignalStorm() {
        thread_ = {};
        sigaction(SIGUSR1, &before_, nullptr);
    }
    [[nodiscard]] int sent() const { return sent_; }

private:
    struct sigaction before_{};
    std::atomic<int> sent_{0};
    std::jthread thread_;
};

}  // namespace

TEST_CASE("case 81: behind PgBouncer with two connections a table is drained by four threads, either way") {
    Sandbox box;
    create_tasks(box, 1000);
    Pooler const pooler{2};
    auto behind = config(box, 4);
    behind.conninfo += " " + pooler.address();
    behind.session = fila::postgres::Session::pooled;
    TaskStore store{behind, tasks(box.name("tasks"))};
    auto const handle = [](Task const& task, auto& context) {
        if (task.id % 10 == 0 && context.attempt() == 1) throw std::runtime_error{"the first time"};
    };
    auto const retry = fila::FixedDelay{.delay = 1ms};
    fila::Processor leased{store, fila::ThreadPool{4}, handle, retry};
    auto const first = leased.drain({.until = fila::DrainUntil::nothing_open});
    CHECK(first.completed == 1000);
    CHECK(first.retried == 100);

    box.run("UPDATE {s}.tasks SET status = 'pending', failures = 0");
    fila::Processor locking{store, fila::ThreadPool{4}, handle, retry, fila::InTransaction{}};
    auto const second = locking.drain({.until = fila::DrainUntil::nothing_open});
    CHECK(second.completed == 1000);
    CHECK(second.retried == 100);
    CHECK(second.errors == 0);
    // A transaction that stayed open would pin one of the pooler's connections.
    CHECK(box.idle_in_transaction() == 0);
    CHECK(box.sessions() <= 2);
}

TEST_CASE("case 90: two thousand transactions leave no multixact behind, and no crowd of savepoints") {
    Sandbox box;
    create_tasks(box, 2000);
    box.run("CREATE TABLE {s}.ledger(task bigint REFERENCES {s}.tasks(id))");
    TaskStore store{config(box, 4), tasks(box.name("tasks"))};
    auto const insert = box.in("INSERT INTO {s}.ledger VALUES (");
    // The foreign key locks the row that the claim has locked already, in the same transaction.
    auto const handle = [&](Task const& task, auto& context) {
        context.transaction().exec(insert + std::to_string(task.id) + ")");
        if (task.id % 4 == 0) throw std::runtime_error{"back to the savepoint"};
    };
    auto const multixacts = [&] {
        box.run("CHECKPOINT");
        return box.get<std::int64_t>("SELECT next_multixact_id::text FROM pg_control_checkpoint()");
    };
    auto const transactions = [&] {
        return box.get<std::int64_t>("SELECT txid_snapshot_xmax(txid_current_snapshot())::text");
    };
    auto const before = multixacts();
    auto const first = transactions();
    fila::Processor processor{store, fila::ThreadPool{4}, handle, fila::InTransaction{}};
    CHECK(processor.drain().completed == 1500);
    // Other tests on the server may make some.
    CHECK(multixacts() - before < 500);
    // One number for the transaction, and one for each part that wrote behind its savepoint.
    CHECK(transactions() - first < 3 * 2000 + 2000);
}

TEST_CASE("case 118: signals that interrupt every system call of the caller's thread disturb nobody") {
    Sandbox box;
    create_tasks(box, 300);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    fila::Processor leased{store, fila::InlineExecutor{}, [](Task const&) {}, fila::Pace{.batch = 10}};
    fila::Processor in_transaction{store, fila::InlineExecutor{}, [](Task const&) {}, fila::InTransaction{}};
    fila::Report first, second;
    int sent = 0;
    {
        SignalStorm const storm;
        first = leased.drain();
        box.run("UPDATE {s}.tasks SET status = 'pending' WHERE id <= 50");
        second = in_transaction.drain();
        sent = storm.sent();
    }
    CHECK(first.completed == 300);
    CHECK(second.completed == 50);
    CHECK(first.errors + second.errors == 0);
    CHECK(sent > 0);
}

TEST_CASE("case 118: writing to connections that are gone ends no process, whatever SIGPIPE does") {
    Sandbox box;
    create_tasks(box, 20);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    struct sigaction before{};
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &by_default, &before);
    std::size_t completed = 0;
    for (int round = 0; round < 5; ++round) {
        (void)box.kill_sessions();
        // The first statement on each dead connection fails; the drain tries again on a new one.
        fila::Processor p{store, fila::InlineExecutor{}, [](Task const&) {},
                          fila::Pace{.max_backoff = std::chrono::milliseconds{1}}};
        completed += p.drain().completed;
        box.run("UPDATE {s}.tasks SET status = 'pending'");
    }
    sigaction(SIGPIPE, &before, nullptr);
    CHECK(completed == 100);
}
