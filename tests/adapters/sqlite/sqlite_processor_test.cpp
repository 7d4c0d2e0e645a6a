// SPDX-License-Identifier: MIT
// The processor over SQLite: leases and transactions end to end, with handlers that misbehave.
#include "adapters/sqlite/sqlite_file.hpp"
#include "support/catch.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/limiter/fixed_limiter.hpp>
#include <fila/processor/processor.hpp>
#include <fila/retry/no_retry.hpp>
#include <fila/sqlite/sqlite_store.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

struct Task {
    std::int64_t id = 0;
    std::int64_t square = 0;
};
constexpr auto tasks = fila::table<Task>("tasks")
                           .key("id", &Task::id)
                           .output("square", &Task::square)
                           .status("status")
                           .lease_until("lease_until")
                           .fence("fence")
                           .failures("failures")
                           .crashes("crashes")
                           .due_at("due_at")
                           .last_error("error");

struct World {
    explicit World(int rows) { store.enqueue(std::vector<Task>(static_cast<std::size_t>(rows))); }
    [[nodiscard]] std::int64_t count(std::string const& condition) {
        return plain.number("SELECT count(*) FROM tasks WHERE " + condition);
    }
    SqliteFile file;
    fila::sqlite::SqliteStore<std::remove_const_t<decltype(tasks)>> store{fila::sqlite::Config{file.path()},
                                                                          tasks, fila::OnStart::migrate};
    PlainConnection plain{file.path()};
};

void square(Task& task) { task.square = task.id * task.id; }

}  // namespace

TEST_CASE("sqlite: a leased drain by four threads does each row once") {
    World world{300};
    std::atomic<int> calls{0};
    fila::Processor p{world.store, fila::ThreadPool{4}, [&](Task& task) { ++calls, square(task); }};
    CHECK(p.drain().completed == 300);
    CHECK(calls == 300);
    CHECK(world.count("status = 'completed' AND fence = 1 AND square = id * id") == 300);
}

TEST_CASE("sqlite: in a transaction, four threads take turns at the one writer, and do each row once") {
    World world{60};
    std::atomic<int> calls{0};
    auto const count = [&](Task& task) { ++calls, square(task); };
    CHECK_THROWS_AS((fila::Processor{world.store, fila::ThreadPool{4}, count, fila::InTransaction{}}),
                    fila::ConfigError);
    fila::Processor p{world.store, fila::ThreadPool{4}, count, fila::InTransaction{}, fila::FixedLimiter{1}};
    CHECK(p.drain().completed == 60);
    CHECK(calls == 60);
    CHECK(world.count("status = 'completed' AND square = id * id") == 60);
}

TEST_CASE("sqlite: what a handler writes and its row's status commit together, or neither does") {
    World world{20};
    world.plain.exec("CREATE TABLE ledger (task INTEGER PRIMARY KEY)");
    auto const handle = [](Task const& task, auto& context) {
        auto const insert = "INSERT INTO ledger VALUES (" + std::to_string(task.id) + ")";
        for (int i = 0; i < (task.id % 5 == 0 ? 2 : 1); ++i)  // the second is a duplicate
            if (sqlite3_exec(context.transaction(), insert.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
                throw std::runtime_error{sqlite3_errmsg(context.transaction())};
    };
    fila::Processor p{world.store, fila::InlineExecutor{}, handle, fila::InTransaction{}};
    CHECK(p.drain().completed == 16);
    CHECK(world.plain.number("SELECT count(*) FROM ledger") == 16);
    CHECK(world.count("status = 'completed' AND id IN (SELECT task FROM ledger)") == 16);
    CHECK(world.count("status = 'pending' AND failures = 1 AND error LIKE '%UNIQUE%'") == 4);
}

TEST_CASE("case 42: a row whose result the database refuses fails alone, by the retry policy's word") {
    World world{3};
    world.plain.exec(
        "CREATE TRIGGER refuse BEFORE UPDATE ON tasks WHEN new.square = 4 "
        "BEGIN SELECT raise(ABORT, 'no four'); END");
    auto const check = [&](fila::Report const& report) {
        CHECK(report.completed == 2);
        CHECK(report.dead_lettered == 1);
        CHECK(world.count("status = 'completed' AND square = id * id") == 2);
        CHECK(world.count("status = 'dead' AND id = 2 AND failures = 1 AND error LIKE '%no four%'") == 1);
    };
    SECTION("leased") {
        fila::Processor p{world.store, fila::InlineExecutor{}, square, fila::NoRetry{},
                          fila::Pace{.batch = 3}};
        check(p.drain());
    }
    SECTION("in a transaction") {
        fila::Processor p{world.store, fila::InlineExecutor{}, square, fila::NoRetry{},
                          fila::InTransaction{}};
        check(p.drain());
    }
}
