// SPDX-License-Identifier: MIT
// Rows that other processes enqueue: heard of at once, by NOTIFY.
#include "adapters/postgres/server_log.hpp"
#include "adapters/postgres/tasks_table.hpp"
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using namespace fila_test;
namespace pg = fila::postgres;
using fila_tests::Running;

namespace {

/// Nothing but a notification wakes it in the time that a test has.
constexpr fila::Pace patient{.interval = 1h, .sweep = 1h};

std::string const listening =
    "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle' AND application_name = ";
int listeners(Sandbox& box) {
    return box.get<int>("SELECT count(*) " + listening + "'" + box.schema() + "'");
}
std::size_t notifies(std::vector<std::string> const& lines) {
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](auto const& line) {
        return line.find("pg_notify") != std::string::npos && line.find("DETAIL") == std::string::npos;
    }));
}

}  // namespace

TEST_CASE("case 65: rows of another process are run at once, those that come while a run starts too") {
    Sandbox box;
    create_tasks(box, 0);
    TaskStore here{config(box), tasks(box.name("tasks"))}, there{config(box), tasks(box.name("tasks"))};
    std::atomic<int> runs{0};
    int put = 0;
    for (int round = 0; round < 10; ++round) {
        fila::Processor processor{here, fila::ThreadPool{2}, [&](Task const&) { ++runs; }, patient};
        Running running{processor};
        for (int i = 0; i < 5; ++i) {
            there.enqueue({Task{0, "x"}});
            ++put;
            REQUIRE(eventually([&] { return runs == put; }));
        }
        CHECK(running.stop().errors == 0);
    }
    CHECK(eventually([&] { return listeners(box) == 0; }));  // gone with the runs; the server needs a moment
}

TEST_CASE("case 64: a listener that is cut off listens again, and looks for what came meanwhile") {
    Sandbox box;
    create_tasks(box, 0);
    TaskStore here{config(box), tasks(box.name("tasks"))}, there{config(box), tasks(box.name("tasks"))};
    std::atomic<int> runs{0};
    fila::Processor processor{here, fila::ThreadPool{2}, [&](Task const&) { ++runs; }, patient};
    Running running{processor};
    for (int round = 0; round < 20; ++round) {
        REQUIRE(eventually([&] { return listeners(box) == 1; }));
        box.run("SELECT pg_terminate_backend(pid) " + listening + "'" + box.schema() + "'");
        // At some moment of its absence, another one in each round: nothing waits for this pause.
        std::this_thread::sleep_for(round * 10ms);
        there.enqueue({Task{0, "x"}});
        REQUIRE(eventually([&] { return runs == round + 1; }));
    }
    CHECK(running.stop().completed == 20);
}

TEST_CASE("case 69: each queue has a channel of its own, short whatever its name") {
    Sandbox box;
    create_tasks(box, 0);
    box.run("ALTER TABLE {s}.tasks ADD queue text NOT NULL DEFAULT 'q'");
    std::set<std::string> channels;
    for (auto const& queue : {std::string{"q"}, std::string{"Q"}, std::string(63, 'x'), std::string(64, 'x'),
                              std::string(300, 'x') + "\"'; DROP"}) {
        pg::PostgresStore here{config(box), tasks(box.name("tasks")).fixed("queue", std::string_view{queue})};
        pg::PostgresStore there{config(box),
                                tasks(box.name("tasks")).fixed("queue", std::string_view{queue})};
        std::atomic<int> runs{0};
        fila::Processor processor{here, fila::ThreadPool{1}, [&](Task const&) { ++runs; }, patient};
        Running running{processor};
        REQUIRE(eventually([&] { return listeners(box) == 1; }));
        auto const sql = box.get("SELECT query " + listening + "'" + box.schema() + "'");
        CHECK(sql.size() == std::string_view{"LISTEN \"fila_0123456789abcdef\""}.size());
        CHECK(channels.insert(sql).second);
        there.enqueue({Task{0, "x"}});
        CHECK(eventually([&] { return runs == 1; }));
    }
}

TEST_CASE("case 68, case 70: one notification an enqueue, after it, of no size, and draining sends none") {
    Sandbox box;
    create_tasks(box, 0);
    auto const role = box.role({"SET log_statement = 'all'"});
    auto const settings = [&](pg::Notify notify) {
        auto c = config(box, 1, role);
        c.notify = notify;
        return c;
    };
    std::vector<Task> const many(2500, Task{0, std::string(5000, 'x')});
    Session user{box.store_conninfo(role)};
    auto const in_transaction = [&](TaskStore& store) {
        pqxx::work tx{user.connection()};
        store.enqueue(tx, std::vector<Task>{{0, "x"}, {0, "y"}});
        tx.commit();
    };
    TaskStore quiet{settings(pg::Notify::never), tasks(box.name("tasks"))};
    quiet.enqueue(many);
    in_transaction(quiet);
    fila::Processor processor{quiet, fila::ThreadPool{2}, [](Task const&) {}};
    processor.drain();
    CHECK(notifies(logged(box.schema())) == 0);
    TaskStore normal{settings(pg::Notify::after_commit), tasks(box.name("tasks"))};
    normal.enqueue(many);
    CHECK(notifies(logged(box.schema())) == 1);
    in_transaction(normal);
    fila::Processor draining{normal, fila::ThreadPool{2}, [](Task const&) {}};
    draining.drain();
    CHECK(notifies(logged(box.schema())) == 1);
    TaskStore loud{settings(pg::Notify::always), tasks(box.name("tasks"))};
    in_transaction(loud);
    CHECK(notifies(logged(box.schema())) == 2);
}

TEST_CASE("case 71: the listener is read while all workers are busy, and holds no snapshot") {
    Sandbox box;
    create_tasks(box, 1);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    fila_tests::Gate gate;
    fila::Processor processor{store, fila::ThreadPool{1}, [&](Task const&) { gate.pass(); }, patient};
    Running running{processor};
    fila_tests::OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 1 && listeners(box) == 1; }));
    auto const channel = box.get("SELECT substr(query, 9, 21) " + listening + "'" + box.schema() + "'");
    box.run("SELECT pg_notify('" + channel + "', i::text) FROM generate_series(1, 50000) i");
    CHECK(eventually([&] { return box.get<double>("SELECT pg_notification_queue_usage()") < 0.001; }));
    // While it reads some it has a snapshot, for that moment.
    CHECK(eventually([&] {
        return box.get<int>("SELECT count(*) " + listening + "'" + box.schema() +
                            "' AND backend_xmin IS NULL AND backend_xid IS NULL") == 1;
    }));
}

TEST_CASE("case 72: a storm of notifications makes few claims, and two runs of one store share a listener") {
    Sandbox box;
    create_tasks(box, 0);
    auto const role = box.role({"SET log_statement = 'all'"});
    TaskStore store{config(box, 2, role), tasks(box.name("tasks"))};
    auto const nothing = [](Task const&) {};
    fila::Processor one{store, fila::ThreadPool{1}, nothing, patient};
    fila::Processor two{store, fila::ThreadPool{1}, nothing, patient};
    auto const began = std::chrono::steady_clock::now();
    {
        Running first{one}, second{two};
        REQUIRE(eventually([&] { return listeners(box) >= 1; }));
        auto const channel = box.get("SELECT substr(query, 9, 21) " + listening + "'" + box.schema() + "'");
        for (int i = 0; i < 2000; ++i) box.run("NOTIFY " + channel);
        CHECK(listeners(box) == 1);
    }
    auto const tenths = (std::chrono::steady_clock::now() - began) / 100ms;
    auto const lines = logged(box.schema());
    auto const claims = std::count_if(lines.begin(), lines.end(), [](auto const& line) {
        return line.find("claimed AS") != std::string::npos;
    });
    CHECK(claims <= 2 * (tenths + 14));
}

TEST_CASE("case 73: a stop ends the wait for notifications, and behind a pooler nobody listens") {
    Sandbox box;
    create_tasks(box, 0);
    auto pooled = config(box);
    pooled.session = pg::Session::pooled;
    TaskStore own{config(box), tasks(box.name("tasks"))}, behind{pooled, tasks(box.name("tasks"))};
    for (auto* store : {&own, &behind}) {
        fila::Processor processor{*store, fila::ThreadPool{1}, [](Task const&) {}, patient};
        Running running{processor};
        if (store == &own) REQUIRE(eventually([&] { return listeners(box) == 1; }));
        running.request_stop();
        CHECK(eventually([&] { return running.over(); }));
        CHECK(eventually([&] { return listeners(box) == 0; }));  // the server takes a moment to end a session
    }
}
