// SPDX-License-Identifier: MIT
// One connection against a real server: settings, transactions lent to handlers, plans gone stale, lost
// backends.
#include "adapters/postgres/server_log.hpp"
#include "support/catch.hpp"
#include "support/postgres_server.hpp"
#include <fila/postgres/postgres_connection.hpp>

#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace fila_test;
namespace pg = fila::postgres;
using fila::Statement;
using fila::Value;

namespace {

/// The first field of the first row, as text; empty for NULL or no row.
std::string ask(pg::Connection& c, std::string const& sql, fila::Bindings const& bindings = {}) {
    std::vector<std::string> names;
    for (auto const& b : bindings) names.emplace_back(b.first);
    std::string answer;
    c.run(Statement{sql, names}, bindings, [&](pg::Record const& r) {
        if (!r[0].null()) answer = r[0].text();
    });
    return answer;
}
std::string show(pg::Connection& c, std::string const& setting) {
    return ask(c, "SELECT current_setting('" + setting + "')");
}
template <class F>
std::optional<fila::Error> error_of(F f) {
    try {
        f();
    } catch (fila::Error const& e) {
        return e;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("case 79: a session of our own has our settings, whatever the role says") {
    Sandbox box;
    auto const role =
        box.role({"SET default_transaction_isolation = 'serializable'", "SET statement_timeout = '1234ms'",
                  "SET lock_timeout = '1234ms'", "SET idle_in_transaction_session_timeout = '1s'",
                  "SET enable_seqscan = on", "SET client_encoding = 'LATIN1'", "SET bytea_output = 'escape'",
                  "SET extra_float_digits = 0", "SET datestyle = 'German'", "SET timezone = 'Asia/Kathmandu'",
                  "SET standard_conforming_strings = off"});
    pg::Connection c{{.conninfo = box.store_conninfo(role)}};
    CHECK(show(c, "default_transaction_isolation") == "read committed");
    CHECK(show(c, "statement_timeout") == "30s");
    CHECK(show(c, "lock_timeout") == "10s");
    CHECK(show(c, "idle_in_transaction_session_timeout") == "0");
    CHECK(show(c, "enable_seqscan") == "off");
    CHECK(show(c, "enable_sort") == "off");
    CHECK(show(c, "jit") == "off");
    CHECK(show(c, "plan_cache_mode") == "force_generic_plan");
    CHECK(show(c, "client_encoding") == "UTF8");
    CHECK(show(c, "bytea_output") == "hex");
    CHECK(show(c, "datestyle") == "ISO, MDY");
    CHECK(show(c, "standard_conforming_strings") == "on");
    CHECK(ask(c, "SELECT 0.1::float8 + 0.2::float8") == "0.30000000000000004");
}

TEST_CASE("case 7: transactions are READ COMMITTED although the role's default is serializable") {
    Sandbox box;
    auto const role = box.role({"SET default_transaction_isolation = 'serializable'"});
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        pg::Connection c{{.conninfo = box.store_conninfo(role), .session = session}};
        CHECK(show(c, "transaction_isolation") == "read committed");
        c.begin();
        CHECK(show(c, "transaction_isolation") == "read committed");
        CHECK(c.rollback());
    }
}

TEST_CASE("case 78: a killed backend is one error, and the connection is lost for ever and says so") {
    Sandbox box;
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    CHECK(ask(c, "SELECT 1") == "1");
    REQUIRE(box.kill_sessions() == 1);
    auto const first = error_of([&] { ask(c, "SELECT 1"); });
    REQUIRE(first);
    CHECK(first->retryable());
    CHECK(first->maybe_applied());
    CHECK(c.lost());
    for (int i = 0; i < 5; ++i) {  // libpqxx 6 would be back at the third try, without its settings
        auto const again = error_of([&] { ask(c, "SELECT 1"); });
        REQUIRE(again);
        CHECK(again->retryable());
        CHECK_FALSE(again->maybe_applied());
    }
    CHECK(box.sessions() == 0);
}

TEST_CASE(
    "case 86: a backend killed under an open transaction ends in no terminate, and commit is not in doubt") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int)");
    std::optional<fila::Error> error;
    {
        pg::Connection c{{.conninfo = box.store_conninfo()}};
        c.begin();
        ask(c, box.in("INSERT INTO {s}.t VALUES (1)"));
        REQUIRE(box.kill_sessions() == 1);
        error = error_of([&] { ask(c, box.in("INSERT INTO {s}.t VALUES (2)")); });
        CHECK_FALSE(c.in_transaction());
        CHECK_FALSE(c.rollback());
    }
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK_FALSE(error->maybe_applied());
    CHECK(box.get<int>("SELECT count(*) FROM {s}.t") == 0);
}

TEST_CASE("case 29: a backend killed before COMMIT is in doubt") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int)");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.begin();
    ask(c, box.in("INSERT INTO {s}.t VALUES (1)"));
    REQUIRE(box.kill_sessions() == 1);
    auto const error = error_of([&] { c.commit(); });
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK(error->maybe_applied());
}

TEST_CASE("a refused connection is retryable and leaks nothing") {
    auto const error = error_of([] { pg::Connection c{{.conninfo = "host=/nonexistent user=nobody"}}; });
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK_FALSE(error->maybe_applied());
    CHECK(error->code() == "08001");
    CHECK_THROWS_AS(pg::Connection({.conninfo = {}, .connections = 0}), fila::ConfigError);
}

TEST_CASE("case 11: a plan that no longer fits is made anew, unseen") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int, v varchar(50)); INSERT INTO {s}.t VALUES (1, 'x')");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    auto const sql = box.in("SELECT v FROM {s}.t");
    CHECK(ask(c, sql) == "x");
    box.run("ALTER TABLE {s}.t ADD COLUMN w int");
    CHECK(ask(c, sql) == "x");
    box.run("ALTER TABLE {s}.t ALTER COLUMN v TYPE text");
    CHECK(ask(c, sql) == "x");
    ask(c, "DEALLOCATE ALL");
    CHECK(ask(c, sql) == "x");
}

TEST_CASE("case 11: in a transaction a stale plan costs the transaction, and only that one") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int, v varchar(50)); INSERT INTO {s}.t VALUES (1, 'x')");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    auto const sql = box.in("SELECT v FROM {s}.t");
    CHECK(ask(c, sql) == "x");
    box.run("ALTER TABLE {s}.t ALTER COLUMN v TYPE text");
    c.begin();
    auto const error = error_of([&] { ask(c, sql); });
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK(c.rollback());
    c.begin();
    CHECK(ask(c, sql) == "x");
    c.commit();
}

TEST_CASE(
    "handlers have the role's own settings while the transaction is theirs, and we have ours again after") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int)");
    auto const role = box.role({"SET statement_timeout = '77s'"});
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        pg::Connection c{{.conninfo = box.store_conninfo(role), .session = session}};
        c.begin();
        CHECK(show(c, "enable_seqscan") == "off");
        auto& handle = c.handle();
        CHECK(handle.exec("SHOW enable_seqscan")[0][0].as<std::string>() == "on");
        CHECK(handle.exec("SHOW statement_timeout")[0][0].as<std::string>() == "77s");
        handle.exec(box.in("INSERT INTO {s}.t VALUES (1)"));
        CHECK(show(c, "enable_seqscan") == "off");
        CHECK(show(c, "statement_timeout") == "30s");
        c.commit();
    }
    CHECK(box.get<int>("SELECT count(*) FROM {s}.t") == 2);
}

TEST_CASE(
    "a savepoint takes back what the handler wrote, its failed statement included, and the turn with it") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int PRIMARY KEY)");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.begin();
    ask(c, box.in("INSERT INTO {s}.t VALUES (1)"));
    for (int row = 0; row < 3; ++row) {
        c.savepoint();
        c.handle().exec(box.in("INSERT INTO {s}.t VALUES (" + std::to_string(10 + row) + ")"));
        if (row != 1) continue;
        CHECK_THROWS(c.handle().exec(box.in("INSERT INTO {s}.t VALUES (1)")));
        CHECK(c.rollback_to_savepoint());
        CHECK(show(c, "enable_seqscan") == "off");
    }
    c.commit();
    CHECK(box.get("SELECT string_agg(i::text, ',' ORDER BY i) FROM {s}.t") == "1,10,12");
}

TEST_CASE(
    "case 60: a handler that ends the transaction, by SQL or by the object, is found out before anything is "
    "written") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int)");
    struct Way {
        char const* name;
        void (*end)(pqxx::transaction_base&);
    };
    for (auto const& way : {Way{"COMMIT", [](pqxx::transaction_base& t) { t.exec("COMMIT"); }},
                            Way{"ROLLBACK", [](pqxx::transaction_base& t) { t.exec("ROLLBACK"); }},
                            Way{"COMMIT; BEGIN",
                                [](pqxx::transaction_base& t) {
                                    t.exec("COMMIT");
                                    t.exec("BEGIN");
                                }},
                            Way{"commit()", [](pqxx::transaction_base& t) { t.commit(); }},
                            Way{"abort()", [](pqxx::transaction_base& t) { t.abort(); }}}) {
        INFO(way.name);
        for (bool with_savepoint : {false, true}) {
            pg::Connection c{{.conninfo = box.store_conninfo()}};
            c.begin();
            if (with_savepoint) c.savepoint();
            way.end(c.handle());
            auto const error = error_of([&] { ask(c, box.in("INSERT INTO {s}.t VALUES (1)")); });
            REQUIRE(error);
            CHECK(contains(error->what(), "the handler ended the transaction"));
            CHECK_FALSE(error->retryable());
            CHECK_FALSE(c.in_transaction());
            CHECK(error_of([&] { c.commit(); }));
            CHECK(c.rollback());
            CHECK(ask(c, "SELECT 1") == "1");
            // At once with the commit: as a store settles, only in the transaction that its claim has marked.
            Statement const settle{
                "WITH touched AS (" + box.in("INSERT INTO {s}.t SELECT 2 ") +
                    "WHERE current_setting('fila.taken', true) = $1::text RETURNING i) SELECT "
                    "CASE WHEN count(*) = 0 THEN ('fila: no row was touched' || "
                    "count(*))::integer END FROM touched",
                {"guard"}};
            c.begin();
            ask(c, "SELECT set_config('fila.taken', 'mine', true)");
            if (with_savepoint) c.defer_savepoint();
            way.end(c.handle());
            bool settled = false;
            (void)error_of([&] { settled = c.finish(settle, {{"guard", std::string{"mine"}}}, {}); });
            CHECK_FALSE(settled);
            CHECK(c.rollback());
            CHECK(ask(c, "SELECT 1") == "1");
        }
    }
    CHECK(box.get<int>("SELECT count(*) FROM {s}.t") == 0);
    CHECK(box.idle_in_transaction() == 0);
}

namespace {

/// `sql`, which returns rows, as `finish` takes it; the parameter v is the one there is, an array of one.
bool finish(pg::Connection& c, std::string const& sql, std::string const& v = "1") {
    auto text = fila::postgres_dialect().or_raise;
    text.replace(text.find('#'), 1, sql);
    return c.finish({text, {"v"}}, {}, {{"v"}, {{v}}});
}

}  // namespace

TEST_CASE("a last statement and the commit go together, and nothing is committed if it touches no row") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(v text); CREATE TABLE {s}.ledger(i int)");
    auto const insert = box.in("INSERT INTO {s}.t SELECT unnest($1::text[]) RETURNING v");
    auto const nowhere = box.in("UPDATE {s}.t SET v = 'x' WHERE v = ANY($1::text[]) RETURNING v");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    REQUIRE(c.can_finish());
    bool const lent = GENERATE(false, true), marked = GENERATE(false, true);
    auto const begin = [&] {
        c.begin();
        ask(c, "SELECT 1");
        if (marked) c.defer_savepoint();
        if (lent) c.handle().exec(box.in("INSERT INTO {s}.ledger VALUES (1)"));
    };
    SECTION("it touches one") {
        // Quotes, what is too long to be written into a statement, what must not be taken for an escape.
        for (auto const& value : {std::string{"1"}, std::string{"o'\\''\"{},"}, std::string(20'000, '\'')}) {
            begin();
            CHECK(finish(c, insert, value));
            CHECK_FALSE(c.in_transaction());
            CHECK(box.get("SELECT v FROM {s}.t") == value);
            box.run("DELETE FROM {s}.t");
        }
        CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger") == (lent ? 3 : 0));
    }
    SECTION("it touches none") {
        for (auto const& value : {std::string{"1"}, std::string(20'000, '1')}) {
            begin();
            CHECK_FALSE(finish(c, nowhere, value));
            CHECK(error_of([&] { c.commit(); }));
            CHECK(c.rollback());
        }
        CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger") == 0);
    }
    SECTION("it fails") {
        begin();
        auto const latin = error_of([&] { finish(c, insert, "caf\xe9"); });
        REQUIRE(latin);
        CHECK(latin->code() == "22021");
        CHECK_FALSE(c.lost());
        CHECK(c.rollback());
        begin();
        auto const divide =
            box.in("INSERT INTO {s}.t SELECT 1 / (v::int - 1) FROM unnest($1::text[]) v RETURNING v");
        auto const error = error_of([&] { finish(c, divide); });
        REQUIRE(error);
        CHECK(error->code() == "22012");
        CHECK_FALSE((error->retryable() || error->maybe_applied() || c.lost()));
        CHECK(c.rollback());
        CHECK(box.get<int>("SELECT count(*) FROM {s}.ledger") == 0);
    }
    SECTION("the commit behind it fails") {
        box.run("ALTER TABLE {s}.ledger ADD UNIQUE (i) DEFERRABLE INITIALLY DEFERRED");
        box.run("INSERT INTO {s}.ledger VALUES (1)");
        begin();
        ask(c, box.in("INSERT INTO {s}.ledger VALUES (1)"));
        auto const error = error_of([&] { finish(c, insert); });
        REQUIRE(error);
        CHECK(error->code() == "23505");
        CHECK_FALSE((error->retryable() || error->maybe_applied() || c.lost()));
        CHECK(c.rollback());
        CHECK(box.get<int>("SELECT count(*) FROM {s}.t") == 0);
    }
    SECTION("case 29: the backend is gone") {
        begin();
        REQUIRE(finish(c, insert));  // it is prepared from here on
        begin();
        REQUIRE(box.kill_sessions() == 1);
        auto const error = error_of([&] { finish(c, insert); });
        REQUIRE(error);
        CHECK((error->retryable() && error->maybe_applied() && c.lost()));
    }
    SECTION("case 11: its plan has gone stale") {
        begin();
        REQUIRE(finish(c, insert));
        begin();
        ask(c, "DEALLOCATE ALL");
        auto const error = error_of([&] { finish(c, insert); });
        REQUIRE(error);
        CHECK((error->retryable() && !error->maybe_applied() && !c.lost()));
        CHECK(c.rollback());
        c.begin();
        CHECK(finish(c, insert));
    }
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("a savepoint outlives a last statement that was not even tried") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(v text)");
    auto const insert = box.in("INSERT INTO {s}.t SELECT unnest($1::text[]) RETURNING v");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.begin();
    CHECK(finish(c, insert));
    c.begin();
    ask(c, "SELECT 1");
    c.defer_savepoint();
    CHECK_THROWS(c.handle().exec("SELECT 1/0"));  // and the handler swallows it
    auto const error = error_of([&] { finish(c, insert); });
    REQUIRE(error);
    CHECK(error->code() == "25P02");
    CHECK(c.rollback_to_savepoint());  // with the locks before it
    CHECK(finish(c, insert));
    CHECK(box.get<int>("SELECT count(*) FROM {s}.t") == 2);
}

TEST_CASE("a table with a rule does without: one transaction finds out, and nothing of it is committed") {
    Sandbox box;
    box.run(
        "CREATE TABLE {s}.t(v text); CREATE TABLE {s}.log(v text); "
        "CREATE RULE told AS ON UPDATE TO {s}.t DO ALSO INSERT INTO {s}.log VALUES (new.v); "
        "INSERT INTO {s}.t VALUES ('1')");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.begin();
    c.handle().exec(box.in("INSERT INTO {s}.log VALUES ('mine')"));
    auto const error = error_of(
        [&] { finish(c, box.in("UPDATE {s}.t SET v = '2' WHERE v = ANY($1::text[]) RETURNING v")); });
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK_FALSE(c.can_finish());
    CHECK(c.rollback());
    CHECK(box.get<int>("SELECT count(*) FROM {s}.log") == 0);
    CHECK_FALSE(
        pg::Connection{{.conninfo = box.store_conninfo(), .session = pg::Session::pooled}}.can_finish());
}

TEST_CASE("commit after a failed statement throws: the server would quietly roll back") {
    Sandbox box;
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.begin();
    CHECK(error_of([&] { ask(c, "SELECT 1/0"); }));
    auto const error = error_of([&] { c.commit(); });
    REQUIRE(error);
    CHECK(error->code() == "25P02");
    CHECK(c.rollback());
    c.begin();  // the handler's own statement fails, and the handler swallows it
    CHECK_THROWS(c.handle().exec("SELECT 1/0"));
    CHECK(error_of([&] { c.commit(); }));
    CHECK(c.rollback());
    CHECK(box.idle_in_transaction() == 0);
}

TEST_CASE("case 61: a transaction whose handler thinks outlives the role's idle and statement time-outs") {
    Sandbox box;
    auto const role =
        box.role({"SET idle_in_transaction_session_timeout = '1ms'", "SET statement_timeout = '100s'"});
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        pg::Connection c{{.conninfo = box.store_conninfo(role), .session = session}};
        c.begin();
        (void)c.handle();
        box.exec("SELECT pg_sleep(0.1)");  // a hundred times the limit, by the server's clock
        CHECK(ask(c, "SELECT 1") == "1");
        c.commit();
    }
}

TEST_CASE(
    "case 83: a statement or a lock wait cut off by a time-out is retryable and leaves the connection "
    "usable") {
    Sandbox box;
    box.run("CREATE TABLE {s}.t(i int)");
    pg::Connection c{{.conninfo = box.store_conninfo(), .statement_timeout = 100ms, .lock_timeout = 50ms}};
    Session other;
    pqxx::work lock{other.connection()};
    lock.exec(box.in("LOCK TABLE {s}.t IN EXCLUSIVE MODE"));
    auto const waited = error_of([&] { ask(c, box.in("INSERT INTO {s}.t VALUES (1)")); });
    REQUIRE(waited);
    CHECK(waited->code() == "55P03");
    CHECK(waited->retryable());
    auto const slow = error_of([&] { ask(c, "SELECT pg_sleep(60)"); });
    REQUIRE(slow);
    CHECK(slow->code() == "57014");
    CHECK((slow->retryable() && !slow->maybe_applied() && !c.lost()));
    lock.abort();
    CHECK(ask(c, box.in("INSERT INTO {s}.t VALUES (1) RETURNING i")) == "1");
}

TEST_CASE("case 44: text comes back byte for byte, and what cannot be stored is an error of its own") {
    Sandbox box;
    auto const role = box.role({"SET client_encoding = 'LATIN1'"});
    for (auto session : {pg::Session::own, pg::Session::pooled}) {
        pg::Connection c{{.conninfo = box.store_conninfo(role), .session = session}};
        for (std::string const text :
             {"e\u0301", "\u00e9", "\u05d0\u05d1", "\U0001F600", "\uFFFF", "a,\"\\{}NULL", "", " "})
            CHECK(ask(c, "SELECT $1::text", {{"v", text}}) == text);
        auto const latin = error_of([&] { ask(c, "SELECT $1::text", {{"v", std::string{"\xe9"}}}); });
        REQUIRE(latin);
        CHECK(latin->code() == "22021");
        CHECK_FALSE(latin->retryable());
    }
}

TEST_CASE("many rows go as arrays, with NULLs, quotes and bytes intact") {
    Sandbox box;
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    fila::Bytes const bytes{std::byte{0}, std::byte{0xff}, std::byte{'\\'}};
    fila::Rows const rows{
        {"t", "b"},
        {{std::string{"a\"\\,{}"}, Value{}, std::string{"NULL"}}, {bytes, Value{}, fila::Bytes{}}}};
    std::vector<std::string> texts;
    std::vector<fila::Bytes> octets;
    c.run_rows(
        {"SELECT t, b FROM unnest($1::text[], $2::bytea[]) AS o(t, b)", {"t", "b"}}, {}, rows,
        [&](auto const& r) {
            texts.push_back(r[0].null() ? "(null)" : r[0].template get<std::string>());
            octets.push_back(r[1].null() ? fila::Bytes{std::byte{42}} : r[1].template get<fila::Bytes>());
        });
    CHECK(texts == std::vector<std::string>{"a\"\\,{}", "(null)", "NULL"});
    CHECK(octets == std::vector<fila::Bytes>{bytes, {std::byte{42}}, {}});
}

TEST_CASE("fields are read strictly") {
    Sandbox box;
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    c.run({"SELECT 'x', '1x', '9223372036854775808', 'yes', '\\x0', NULL, 'Infinity'::float8, "
           "-9223372036854775808",
           {}},
          {}, [](pg::Record const& r) {
              CHECK_THROWS_AS(r[0].get<std::int64_t>(), std::invalid_argument);
              CHECK_THROWS_AS(r[1].get<std::int64_t>(), std::invalid_argument);
              CHECK_THROWS_AS(r[1].get<double>(), std::invalid_argument);
              CHECK_THROWS_AS(r[2].get<std::int64_t>(), std::invalid_argument);
              CHECK_THROWS_AS(r[3].get<bool>(), std::invalid_argument);
              CHECK_THROWS_AS(r[4].get<fila::Bytes>(), std::invalid_argument);
              CHECK_THROWS_AS(r[0].get<fila::Uuid>(), std::invalid_argument);
              CHECK_THROWS_AS(r[5].get<std::string>(), std::invalid_argument);
              CHECK(r[6].get<double>() == std::numeric_limits<double>::infinity());
              CHECK(r[7].get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
              CHECK(r[5].cursor_value() == Value{});
          });
}

TEST_CASE("case 82: a pooled session sends SET LOCAL only, and nothing that outlives a transaction") {
    Sandbox box;
    auto const role = box.role({"SET log_statement = 'all'"});
    box.run("CREATE TABLE {s}.t(i int)");
    {
        pg::Connection c{{.conninfo = box.store_conninfo(role), .session = pg::Session::pooled}};
        CHECK(ask(c, "SELECT 1") == "1");
        c.begin();
        c.savepoint();
        c.handle().exec(box.in("INSERT INTO {s}.t VALUES (1)"));
        CHECK(c.rollback_to_savepoint());
        c.commit();
        c.script(box.in("CREATE TABLE {s}.u(i int)"));
        (void)c.catalogue(fila::TableName{box.schema(), "t"});
        (void)c.served_by_index({box.in("SELECT i FROM {s}.t LIMIT $1::bigint"), {"n"}});
    }
    auto const lines = logged(box.schema());
    CHECK(lines.size() > 20);
    int local = 0;
    for (auto const& line : lines) {
        INFO(line);
        for (auto at = line.find("SET "); at != std::string::npos; at = line.find("SET ", at + 1)) {
            local += line.compare(at, 10, "SET LOCAL ") == 0;
            CHECK(line.compare(at, 10, "SET LOCAL ") == 0);
        }
        for (auto const* word :
             {"PREPARE", "LISTEN", "pg_advisory_lock", "WITH HOLD", "TEMP", "DEALLOCATE", "execute fila"})
            CHECK_FALSE(contains(line, word));
    }
    CHECK(local > 0);
}

TEST_CASE("a script runs alone: another process waits for its turn") {
    Sandbox box;
    Session other;
    pqxx::work turn{other.connection()};
    turn.exec("SELECT pg_advisory_xact_lock(hashtext('fila'), 0)");
    auto done = std::async(std::launch::async, [&] {
        pg::Connection c{{.conninfo = box.store_conninfo()}};
        c.script(box.in("CREATE TABLE {s}.t(i int); CREATE TABLE {s}.u(i int)"));
    });
    CHECK(eventually([&] { return box.waiting() == 1; }));
    CHECK(box.get<bool>("SELECT to_regclass('{s}.t') IS NULL"));
    turn.abort();
    done.get();
    CHECK(box.get<bool>("SELECT to_regclass('{s}.u') IS NOT NULL"));
}

TEST_CASE("a script is all or nothing") {
    Sandbox box;
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    CHECK(error_of([&] { c.script(box.in("CREATE TABLE {s}.t(i int); SELECT 1/0")); }));
    CHECK(box.get<bool>("SELECT to_regclass('{s}.t') IS NULL"));
    CHECK(ask(c, "SELECT 1") == "1");
}

TEST_CASE("the catalogue knows columns, enums, keys, triggers, partitions, checks and rights") {
    Sandbox box;
    box.run(R"(
        CREATE TYPE {s}.state AS ENUM ('due', 'paid');
        CREATE TABLE {s}.t(id bigint GENERATED ALWAYS AS IDENTITY, part int NOT NULL, state {s}.state NOT NULL DEFAULT 'due',
                           at timestamptz, name varchar(20), CHECK (part > 0), PRIMARY KEY (id, part)) PARTITION BY LIST (part);
        CREATE UNIQUE INDEX ON {s}.t(name, part);
        CREATE UNIQUE INDEX ON {s}.t(part, at) WHERE at IS NOT NULL;
        CREATE FUNCTION {s}.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE TABLE {s}.u(id bigint);
        CREATE TRIGGER touched BEFORE UPDATE ON {s}.u FOR EACH ROW EXECUTE FUNCTION {s}.f();
        CREATE TRIGGER born BEFORE INSERT ON {s}.u FOR EACH ROW EXECUTE FUNCTION {s}.f();)");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    auto const found = c.catalogue({box.schema(), "t"});
    REQUIRE(found.exists);
    REQUIRE(found.columns.size() == 5);
    CHECK(found.columns[0].type == "bigint");
    CHECK((found.columns[0].not_null && found.columns[0].has_default));
    CHECK(found.columns[2].type == box.schema() + ".state");
    CHECK(found.columns[2].labels == std::vector<std::string>{"due", "paid"});
    CHECK(found.columns[3].type == "timestamp with time zone");
    CHECK_FALSE(found.columns[3].not_null);
    CHECK(found.columns[4].type == "character varying(20)");
    CHECK(found.unique.size() == 2);
    CHECK(found.update_triggers.empty());
    // A table of its own: partitioned ones have no such triggers before PostgreSQL 13.
    CHECK(c.catalogue({box.schema(), "u"}).update_triggers == std::vector<std::string>{"touched"});
    CHECK(found.partition_key == std::vector<std::string>{"part"});
    REQUIRE(found.checks.size() == 1);
    CHECK(contains(found.checks[0], "part > 0"));
    CHECK(found.denied.empty());
    CHECK_FALSE(c.catalogue({box.schema(), "nothing"}).exists);
}

TEST_CASE("the planner is asked whether an index serves a statement") {
    Sandbox box;
    box.run(
        "CREATE TABLE {s}.t(id bigint, status text); INSERT INTO {s}.t SELECT i, 'pending' FROM "
        "generate_series(1, 1000) i");
    pg::Connection c{{.conninfo = box.store_conninfo()}};
    Statement const next{box.in("SELECT id FROM {s}.t WHERE status = 'pending' ORDER BY id LIMIT $1::bigint"),
                         {"n"}};
    CHECK_FALSE(c.served_by_index(next));
    box.run("CREATE INDEX ON {s}.t(id) WHERE status = 'pending'");
    CHECK(c.served_by_index(next));
    CHECK(c.served_by_index({"this is no SQL", {}}));
    CHECK(box.idle_in_transaction() == 0);
}
