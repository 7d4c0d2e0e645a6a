// SPDX-License-Identifier: MIT
// Many at one table: other workers, other programs, locks, time-outs, killed backends, lying statistics.
#include "adapters/postgres/tasks_table.hpp"
#include "adapters/postgres/verbs.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <future>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace fila_test;
namespace pg = fila::postgres;
using fila::Ack;

TEST_CASE("case 2: a child row's foreign key does not hide its parent") {
    Sandbox box;
    create_tasks(box, 3);
    box.run("CREATE TABLE {s}.child(parent bigint REFERENCES {s}.tasks(id))");
    TaskStore store{config(box, 2), tasks(box.name("tasks"))};
    Session other;
    pqxx::work child{other.connection()};
    child.exec(box.in("INSERT INTO {s}.child VALUES (2)"));
    {
        auto t = store.begin();
        REQUIRE(t);
        CHECK(claim(*t, 10).keys() == std::vector<std::int64_t>{1, 2, 3});
    }
    auto const c = claim(store, 10);
    CHECK(c.keys() == std::vector<std::int64_t>{1, 2, 3});
    CHECK(count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == 3);
    child.commit();
}

TEST_CASE("case 3: a handler's second connection may insert children of the row in hand") {
    Sandbox box;
    create_tasks(box, 100);
    box.run("CREATE TABLE {s}.child(parent bigint REFERENCES {s}.tasks(id))");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    Session other;
    other.exec("SET lock_timeout = '2s'");
    auto t = store.begin();
    REQUIRE(t);
    auto const c = claim(*t, 100);
    REQUIRE(c.size() == 100);
    for (auto key : c.keys())
        CHECK_NOTHROW(other.exec(box.in("INSERT INTO {s}.child VALUES (" + std::to_string(key) + ")")));
    CHECK(count(settle(*t, c.batch.tickets(), fila::complete()), Ack::applied) == 100);
    t->commit();
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'completed'") == 100);
}

TEST_CASE("case 4: twenty thousand rows, four claimers in two stores: each row once") {
    Sandbox box;
    constexpr std::size_t rows = 20'000;
    create_tasks(box, static_cast<int>(rows));
    TaskStore a{config(box, 2), tasks(box.name("tasks"))};
    TaskStore b{config(box, 2), tasks(box.name("tasks"))};
    std::vector<std::atomic<int>> seen(rows + 1);
    std::atomic<std::size_t> taken{0}, applied{0}, wrong{0};
    std::latch start{4};
    {
        std::vector<std::jthread> claimers;
        for (int i = 0; i < 4; ++i)
            claimers.emplace_back([&, i] {
                auto& store = i % 2 == 0 ? a : b;
                start.arrive_and_wait();
                try {
                    fila::cursor_t<TaskStore> cursor{};
                    for (int budget = 0; budget < 2'000; ++budget) {
                        auto c = claim(store, 100, cursor);
                        wrong += c.size() > 100;
                        for (auto key : c.keys()) ++seen[static_cast<std::size_t>(key)];
                        taken += c.size();
                        if (c.size() > 0)
                            applied +=
                                count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied);
                        cursor = c.result.supply == fila::Supply::dry ? fila::cursor_t<TaskStore>{}
                                                                      : c.result.cursor;
                        if (taken >= rows) break;
                    }
                } catch (std::exception const&) {
                    ++wrong;
                }
            });
    }
    CHECK(wrong == 0);
    CHECK(taken == rows);
    CHECK(applied == rows);
    CHECK(std::all_of(seen.begin() + 1, seen.end(), [](auto const& n) { return n == 1; }));
}

TEST_CASE("case 8: settles, extends and rescues over the same rows in opposite orders never deadlock") {
    Sandbox box;
    create_tasks(box, 50);
    TaskStore store{config(box, 2), tasks(box.name("tasks"))};
    auto const c = claim(store, 50);
    REQUIRE(c.size() == 50);
    std::vector forth(c.batch.tickets().begin(), c.batch.tickets().end());
    auto back = forth;
    std::reverse(back.begin(), back.end());
    std::atomic<int> errors{0};
    std::latch start{3};
    {
        auto const repeat = [&](auto verb) {
            return std::jthread{[&, verb] {
                start.arrive_and_wait();
                for (int i = 0; i < 200; ++i) {
                    try {
                        verb();
                    } catch (fila::Error const&) {
                        ++errors;
                    }
                }
            }};
        };
        std::jthread extends = repeat([&] {
            std::vector<Ack> acks(back.size());
            store.extend(back, 10min, acks);
        });
        std::jthread settles = repeat([&] { settle(store, forth, fila::complete("processing")); });
        std::jthread rescues = repeat([&] { (void)store.rescue({}); });
    }
    CHECK(errors == 0);
    char const* log = std::getenv("FILA_TEST_POSTGRES_LOG");
    REQUIRE(log != nullptr);
    std::ifstream file{log};
    for (std::string line; std::getline(file, line);)
        CHECK_FALSE(
            (line.starts_with(box.schema() + "|") && line.find("deadlock detected") != std::string::npos));
}

TEST_CASE("case 7: claims and settles work although the role's default is serializable, four at a time") {
    Sandbox box;
    create_tasks(box, 1'000);
    auto const role = box.role({"SET default_transaction_isolation = 'serializable'"});
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        box.run("UPDATE {s}.tasks SET status = 'pending'");
        auto c = config(box, 4, role);
        c.session = session;
        TaskStore store{c, tasks(box.name("tasks"))};
        std::atomic<std::size_t> done{0};
        std::atomic<int> errors{0};
        {
            std::vector<std::jthread> workers;
            for (int i = 0; i < 4; ++i)
                workers.emplace_back([&] {
                    for (int budget = 0; budget < 1'000 && done < 1'000; ++budget) {
                        try {
                            done += work_off(store, 10);
                        } catch (std::exception const&) {
                            ++errors;
                        }
                    }
                });
        }
        CHECK(errors == 0);
        CHECK(done == 1'000);
    }
}

TEST_CASE("case 59: going back to the mark keeps the rows locked") {
    Sandbox box;
    create_tasks(box, 2);
    TaskStore store{config(box, 2), tasks(box.name("tasks"))};
    auto t = store.begin();
    REQUIRE(t);
    auto const mine = claim(*t, 1);
    REQUIRE(mine.keys() == std::vector<std::int64_t>{1});
    t->mark();
    t->handle().exec(box.in("UPDATE {s}.tasks SET what = 'half done' WHERE id = 1"));
    CHECK_THROWS(t->handle().exec("SELECT 1/0"));
    t->back();
    CHECK(claim(store, 10).keys() == std::vector<std::int64_t>{2});
    Session second;
    CHECK(second.exec(box.in("SELECT 1 FROM {s}.tasks WHERE id = 1 FOR NO KEY UPDATE SKIP LOCKED")).empty());
    CHECK(settle_one(*t, mine.batch.tickets()[0], fila::retry(0s, "divided by zero")) == Ack::applied);
    t->commit();
    CHECK(box.get("SELECT what || failures || error FROM {s}.tasks WHERE id = 1") == "x1divided by zero");
}

TEST_CASE(
    "case 59: a row that others took while its transaction had to be begun anew is lost, and only that one") {
    Sandbox box;
    create_tasks(box, 2);
    box.run("CREATE TABLE {s}.ledger(task bigint REFERENCES {s}.tasks(id) DEFERRABLE INITIALLY DEFERRED)");
    TaskStore store{config(box, 2), tasks(box.name("tasks"))};
    auto t = store.begin();
    REQUIRE(t);
    auto const mine = claim(*t, 2);
    REQUIRE(mine.size() == 2);
    t->mark();
    t->handle().exec(box.in("INSERT INTO {s}.ledger VALUES (999)"));
    CHECK(count(settle(*t, mine.batch.tickets(), fila::complete()), Ack::applied) == 2);
    auto const refused = error_of([&] { t->commit(); });
    REQUIRE(refused);
    CHECK_FALSE(refused->maybe_applied());
    auto other = store.begin();
    REQUIRE(other);
    REQUIRE(claim(*other, 1).keys() == std::vector<std::int64_t>{1});
    t->back();
    auto const acks = settle(*t, mine.batch.tickets(), fila::dead_letter("refused"));
    CHECK(acks == std::vector<Ack>{Ack::lost, Ack::applied});
    t->commit();
    CHECK(box.get("SELECT string_agg(status, ',' ORDER BY id) FROM {s}.tasks") == "pending,dead");
}

TEST_CASE(
    "case 60: a handler that ends the claim's transaction settles nothing, and the row is others' to take") {
    Sandbox box;
    create_tasks(box, 1);
    TaskStore store{config(box, 2), tasks(box.name("tasks"))};
    for (auto const* end : {"COMMIT", "ROLLBACK", "COMMIT AND CHAIN"}) {
        INFO(end);
        auto t = store.begin();
        REQUIRE(t);
        auto const mine = claim(*t, 1);
        REQUIRE(mine.size() == 1);
        t->mark();
        t->handle().exec(end);
        auto const others = claim(store, 1);
        CHECK(others.size() == 1);
        std::optional<fila::Error> error;
        std::vector<Ack> acks{Ack::in_doubt};
        error = error_of([&] { acks = settle(*t, mine.batch.tickets(), fila::complete()); });
        CHECK((error.has_value() || acks.front() == Ack::lost));
        if (error)
            CHECK(std::string{error->what()}.find("the handler ended the transaction") != std::string::npos);
        CHECK(error_of([&] { t->commit(); }));
        t.reset();
        CHECK(settle(store, others.batch.tickets(), fila::release()) == std::vector<Ack>{Ack::applied});
        CHECK(box.get("SELECT status FROM {s}.tasks") == "pending");
    }
    CHECK(store.begin().has_value());
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("case 61: a claim outlives the role's time-outs while its handler thinks") {
    Sandbox box;
    create_tasks(box, 5);
    auto const role =
        box.role({"SET idle_in_transaction_session_timeout = '20ms'", "SET statement_timeout = '20ms'"});
    TaskStore store{config(box, 1, role), tasks(box.name("tasks"))};
    auto t = store.begin();
    REQUIRE(t);
    auto const c = claim(*t, 5);
    box.exec("SELECT pg_sleep(0.2)");  // ten times the limit
    CHECK(count(settle(*t, c.batch.tickets(), fila::complete()), Ack::applied) == 5);
    t->commit();
    CHECK(box.get<int>("SELECT count(*) FROM {s}.tasks WHERE status = 'completed'") == 5);
}

TEST_CASE("case 79: killed backends are one retryable error a verb, then new ones with the same settings") {
    Sandbox box;
    create_tasks(box, 10);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const c = claim(store, 2);
    std::vector<Ack> acks(2);
    store.extend(c.batch.tickets(), 1h, acks);
    CHECK(count(acks, Ack::applied) == 2);
    auto const before = box.sessions();
    CHECK(before == 3);
    REQUIRE(box.kill_sessions() == before);

    auto const claimed = error_of([&] { (void)claim(store, 1); });
    auto const settled = error_of([&] { settle(store, c.batch.tickets(), fila::complete()); });
    auto const extended = error_of([&] { store.extend(c.batch.tickets(), 1h, acks); });
    for (auto const& e : {claimed, settled, extended}) {
        REQUIRE(e);
        CHECK(e->retryable());
    }
    CHECK(claim(store, 1).size() == 1);
    store.extend(c.batch.tickets(), 1h, acks);
    CHECK(count(acks, Ack::applied) == 2);
    CHECK(count(settle(store, c.batch.tickets(), fila::complete()), Ack::applied) == 2);
    CHECK(box.sessions() == before);
    auto t = store.begin();
    REQUIRE(t);
    (void)claim(*t, 1);
    CHECK(box.value<std::string>("SELECT string_agg(DISTINCT application_name, ',') FROM pg_stat_activity "
                                 "WHERE application_name = '" +
                                 box.schema() + "' AND state = 'idle in transaction'") == box.schema());
    CHECK(t->handle().exec("SHOW default_transaction_isolation")[0][0].as<std::string>() == "read committed");
    CHECK(t->handle().exec("SHOW idle_in_transaction_session_timeout")[0][0].as<std::string>() == "0");
}

TEST_CASE("case 86: a transaction object whose backend is gone ends quietly, whatever is in flight") {
    Sandbox box;
    create_tasks(box, 1);
    TaskStore store{config(box), tasks(box.name("tasks"))};
    bool caught = false;
    try {
        auto t = store.begin();
        REQUIRE(t);
        REQUIRE(claim(*t, 1).size() == 1);
        t->mark();
        REQUIRE(box.kill_sessions() >= 1);
        throw std::runtime_error{"in flight"};
    } catch (std::runtime_error const& e) {
        caught = std::string{e.what()} == "in flight";
    }
    CHECK(caught);
    CHECK(store.begin().has_value());  // the place of the lost connection is free again
    CHECK(eventually([&] { return !error_of([&] { (void)claim(store, 1); }); }));
    CHECK(box.get<int>("SELECT fence FROM {s}.tasks") == 1);
}

TEST_CASE("case 83: role time-outs and a table locked by others cost patience, never a row") {
    Sandbox box;
    create_tasks(box, 10);
    auto const role = box.role({"SET statement_timeout = '200ms'", "SET lock_timeout = '100ms'"});
    auto c = config(box, 1, role);
    c.lock_timeout = 50ms;
    TaskStore store{c, tasks(box.name("tasks"))};
    auto const mine = claim(store, 2);
    Session other;
    {
        pqxx::work lock{other.connection()};
        lock.exec(box.in("LOCK TABLE {s}.tasks IN EXCLUSIVE MODE"));
        auto const on_claim = error_of([&] { (void)claim(store, 1); });
        auto const on_settle = error_of([&] { settle(store, mine.batch.tickets(), fila::complete()); });
        for (auto const& e : {on_claim, on_settle}) {
            REQUIRE(e);
            CHECK(e->code() == "55P03");
            CHECK((e->retryable() && !e->maybe_applied()));
        }
    }
    CHECK(count(settle(store, mine.batch.tickets(), fila::complete()), Ack::applied) == 2);
    CHECK(work_off(store, 3) == 8);
    CHECK(box.get<int>(
              "SELECT count(*) FROM {s}.tasks WHERE status = 'completed' AND COALESCE(failures, 0) = 0") ==
          10);

    // The same lock while our limit is wide: the claim waits for it, and goes on.
    box.run("UPDATE {s}.tasks SET status = 'pending'");
    TaskStore patient{config(box, 1, role), tasks(box.name("tasks"))};
    pqxx::work lock{other.connection()};
    lock.exec(box.in("LOCK TABLE {s}.tasks IN EXCLUSIVE MODE"));
    auto waits = std::async(std::launch::async, [&] { return claim(patient, 10).size(); });
    CHECK(eventually([&] { return box.waiting() == 1; }));
    lock.abort();
    CHECK(waits.get() == 10);
}

TEST_CASE(
    "case 84: too few connections is a clear, retryable error and leaks none, and more of them mend it") {
    Sandbox box;
    create_tasks(box, 3);
    auto const role = box.role({"NOSUPERUSER", "CONNECTION LIMIT 2"});
    box.run("GRANT USAGE ON SCHEMA {s} TO " + role + "; GRANT ALL ON ALL TABLES IN SCHEMA {s} TO " + role);
    for (int i = 0; i < 20; ++i) {
        auto const error = error_of([&] { TaskStore s{config(box, 1, role), tasks(box.name("tasks"))}; });
        REQUIRE(error);
        CHECK(error->retryable());
        CHECK(std::string{error->what()}.find("too many connections") != std::string::npos);
    }
    CHECK(eventually([&] { return box.sessions() == 0; }));
    box.exec("ALTER ROLE " + role + " CONNECTION LIMIT 3");
    CHECK(eventually(
        [&] { return !error_of([&] { TaskStore s{config(box, 1, role), tasks(box.name("tasks"))}; }); }));
}

TEST_CASE("case 87: an error in the middle of any verb leaves no session idle in transaction") {
    Sandbox box;
    create_tasks(box, 10);
    auto const role = box.role({"NOSUPERUSER"});
    auto const grant = [&](std::string const& verb) {
        box.run(verb + " UPDATE, DELETE, INSERT ON {s}.tasks " + (verb == "GRANT" ? "TO " : "FROM ") + role);
    };
    box.run("GRANT USAGE ON SCHEMA {s} TO " + role + "; GRANT SELECT ON {s}.tasks TO " + role);
    grant("GRANT");
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        box.run("UPDATE {s}.tasks SET status = 'pending'");
        auto c = config(box, 2, role);
        c.session = session;
        TaskStore store{c, tasks(box.name("tasks"))};
        auto const mine = claim(store, 2);
        REQUIRE(mine.size() == 2);
        grant("REVOKE");
        std::vector<Ack> acks(2);
        for (auto const& error :
             {error_of([&] { (void)claim(store, 1); }),
              error_of([&] { settle(store, mine.batch.tickets(), fila::complete()); }),
              error_of([&] { store.extend(mine.batch.tickets(), 1h, acks); }),
              error_of([&] { (void)store.rescue({}); }),
              error_of([&] { store.enqueue(std::vector<Task>{{0, "x"}}, {}); }), error_of([&] {
                  auto t = store.begin();
                  (void)claim(*t, 1);
              })}) {
            REQUIRE(error);
            CHECK(error->code() == "42501");
            CHECK_FALSE(error->retryable());
        }
        CHECK(box.idle_in_transaction() == 0);
        grant("GRANT");
        CHECK(count(settle(store, mine.batch.tickets(), fila::complete()), Ack::applied) == 2);
    }
}

TEST_CASE("rights that are missing are told at the start, by name") {
    Sandbox box;
    create_tasks(box, 0);
    auto const role = box.role({"NOSUPERUSER"});
    box.run("GRANT USAGE ON SCHEMA {s} TO " + role + "; GRANT SELECT ON {s}.tasks TO " + role);
    auto const error = error_of([&] { TaskStore s{config(box, 1, role), tasks(box.name("tasks"))}; });
    REQUIRE(error);
    CHECK(std::string{error->what()}.find("GRANT UPDATE") != std::string::npos);
}

namespace {

int times(std::string_view text, std::string_view part) {
    int n = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

/// The plan of a statement on a connection like the store's own.
std::string plan_of(pg::Connection& planner, fila::Statement const& statement) {
    fila::Bindings bindings;
    for (auto const& name : statement.parameters) {
        bool const number =
            name == "n" || name == "lease" || name == "start" || name == "after_key" || name == "max_crashes";
        std::string const value = number ? "1" : name == "after_due" ? "2020-01-01Z" : "{1}";
        bindings.emplace_back(name, value);
    }
    // As it is run: prepared, by a plan that knows no value.
    std::string plan, call = "EXPLAIN (COSTS OFF) EXECUTE planned";
    char const* before = "(";
    for (auto const& [name, value] : bindings)
        (call += std::exchange(before, ", ")) += "'" + std::get<std::string>(value) + "'";
    planner.run({"PREPARE planned AS " + statement.text, {}}, {}, [](auto const&) {});
    planner.run({call + (bindings.empty() ? "" : ")"), {}}, {},
                [&](pg::Record const& r) { (plan += r[0].text()) += "\n"; });
    planner.run({"DEALLOCATE planned", {}}, {}, [](auto const&) {});
    return plan;
}

}  // namespace

TEST_CASE("case 89: no statistics, however stale, make a verb read the table or a claim sort it") {
    Sandbox box;
    create_tasks(box, 0);
    // The wider a table, the fewer rows are thought to be in it while nobody has counted them.
    if (GENERATE(false, true))
        box.run(
            "DO $$ BEGIN FOR i IN 1..60 LOOP EXECUTE 'ALTER TABLE {s}.tasks ADD w' || i || ' text'; END "
            "LOOP; "
            "END $$");
    TaskStore store{config(box), tasks(box.name("tasks"))};
    auto const check_plans = [&](std::string const& when) {
        pg::Connection planner{config(box)};
        auto const& sql = store.statements();
        for (auto const* statement : {&sql.claim, &sql.claim_after, &sql.take, &sql.take_after, &sql.settle,
                                      &sql.extend, &sql.rescue}) {
            auto const plan = plan_of(planner, *statement);
            INFO(when << "\n" << statement->text << "\n" << plan);
            CHECK(plan.find("Index Scan") != std::string::npos);
            CHECK(plan.find("Seq Scan on tasks") == std::string::npos);
            // An index read from end to end, for its order, is the table read in another order. The stale rows are
            // few; theirs may be.
            if (statement != &sql.rescue)
                CHECK(times(plan, "Index Scan using") == times(plan, "Index Cond:"));
            // case 8: rows are locked in the order in which they are looked up.
            if (statement == &sql.settle || statement == &sql.extend)
                CHECK(plan.find("Sort Key: o_1.k") < plan.find("Index Scan"));
        }
        CHECK(planner.served_by_index(sql.take));
        CHECK(planner.served_by_index(sql.take_after));
        CHECK(planner.served_by_index(sql.stale_probe));
    };
    box.run("ANALYZE {s}.tasks");
    check_plans("statistics of an empty table, an empty table");
    box.run(
        "INSERT INTO {s}.tasks(status) SELECT CASE WHEN i % 10 = 0 THEN 'pending' ELSE 'completed' END FROM "
        "generate_series(1, 100000) i");
    check_plans("statistics of an empty table, a hundred thousand rows");
    CHECK(claim(store, 10).size() == 10);
    box.run("ANALYZE {s}.tasks; DELETE FROM {s}.tasks WHERE id > 200");
    check_plans("statistics of a hundred thousand rows, two hundred rows");
    CHECK(work_off(store, 100) == 10);
}

TEST_CASE("case 82: a whole day of a pooled store sends SET LOCAL only") {
    Sandbox box;
    create_tasks(box, 20);
    auto const role = box.role({"SET log_statement = 'all'"});
    auto c = config(box, 2, role);
    c.session = pg::Session::pooled;
    {
        TaskStore store{c, tasks(box.name("tasks"))};
        store.enqueue(std::vector<Task>{{0, "a"}, {0, "b"}}, {.delay = 1h});
        auto const mine = claim(store, 3);
        std::vector<Ack> acks(3);
        store.extend(mine.batch.tickets(), 1h, acks);
        settle(store, {{mine.batch.tickets()[0], fila::complete(), nullptr},
                       {mine.batch.tickets()[1], fila::retry(1s), nullptr},
                       {mine.batch.tickets()[2], fila::dead_letter("x"), nullptr}});
        (void)store.rescue({});
        (void)store.counts(10);
        (void)store.dead_letters(10);
        CHECK(store.redrive_all() == 1);
        auto t = store.begin();
        REQUIRE(t);
        auto const taken = claim(*t, 2);
        t->mark();
        t->handle().exec("SELECT 1");
        t->back();
        CHECK(count(settle(*t, taken.batch.tickets(), fila::complete()), Ack::applied) == 2);
        t->commit();
        CHECK(work_off(store, 5) > 10);
    }
    char const* log = std::getenv("FILA_TEST_POSTGRES_LOG");
    REQUIRE(log != nullptr);
    std::ifstream file{log};
    int statements = 0;
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(box.schema() + "|") || line.find("|LOG:  ") == std::string::npos) continue;
        ++statements;
        INFO(line);
        bool local = true;
        for (auto at = line.find(" SET "); at != std::string::npos; at = line.find(" SET ", at + 1))
            local = local && line.compare(at, 11, " SET LOCAL ") == 0;
        CHECK((local || line.find("UPDATE") != std::string::npos));
        for (auto const* word : {"PREPARE", "LISTEN", "pg_advisory_lock", "WITH HOLD", "CREATE TEMP",
                                 "DEALLOCATE", "execute fila"})
            CHECK(line.find(word) == std::string::npos);
    }
    CHECK(statements > 50);
}

TEST_CASE("four transactions at once, and a fifth answers nothing rather than wait") {
    Sandbox box;
    create_tasks(box, 8);
    TaskStore store{config(box, 4), tasks(box.name("tasks"))};
    CHECK(store.max_transactions() == 4);
    std::vector<fila::postgres::PostgresStore<decltype(tasks({}))>::transaction_type> open;
    std::vector<std::int64_t> keys;
    for (int i = 0; i < 4; ++i) {
        open.push_back(std::move(*store.begin()));
        for (auto key : claim(open.back(), 2).keys()) keys.push_back(key);
    }
    CHECK_FALSE(store.begin().has_value());
    CHECK(keys == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(store.counts(100).pending == 8);  // looking still works while all transactions are out
    open.clear();
    CHECK(store.begin().has_value());
}
