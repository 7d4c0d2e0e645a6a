// SPDX-License-Identifier: MIT
// doctor() on PostgreSQL: each condition is made, found, mended by what the finding says, and gone.
#include "adapters/postgres/tasks_table.hpp"
#include "adapters/postgres/verbs.hpp"
#include "support/catch.hpp"
#include "support/postgres_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace fila_test;
namespace pg = fila::postgres;
using fila::DoctorLimits;
using fila::Finding;

/// A database of its own: what holds vacuum back is looked for in the whole of it.
class Clinic {
public:
    Clinic() {
        admin_.exec("CREATE DATABASE " + name_);
        db.emplace(conninfo_of({}));
    }
    Clinic(Clinic const&) = delete;
    Clinic& operator=(Clinic const&) = delete;
    ~Clinic() {
        try {
            for (auto const& role : roles_) db->exec("DROP OWNED BY " + role);
            db.reset();
            admin_.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name_ +
                        "'");
            (void)eventually([&] {
                return admin_.value<int>("SELECT count(*) FROM pg_stat_activity WHERE datname = '" + name_ +
                                         "'") == 0;
            });
            admin_.exec("DROP DATABASE " + name_);
            for (auto const& role : roles_) admin_.exec("DROP ROLE " + role);
        } catch (std::exception const&) {
            // The server goes away with its directory.
        }
    }

    std::string conninfo_of(std::string const& role) const {
        return conninfo() + " dbname=" + name_ + " application_name=fila_doctor" +
               (role.empty() ? "" : " user=" + role);
    }
    pg::Config config(std::string const& role = {}) const { return {.conninfo = conninfo_of(role)}; }
    /// A role that may do nothing yet but connect.
    std::string role(std::string const& suffix = "r") {
        auto const role = roles_.emplace_back(name_ + suffix);
        db->exec("CREATE ROLE " + role + " LOGIN");
        return role;
    }
    pqxx::result exec(std::string const& sql) { return db->exec(sql); }
    /// As psql would: statement by statement.
    void mend(Finding const& finding) {
        std::string rest = finding.mend.substr(0, finding.mend.find("   -- "));
        for (std::size_t at; !rest.empty(); rest.erase(0, at == std::string::npos ? at : at + 2)) {
            at = rest.find("; ");
            exec(rest.substr(0, at));
        }
    }

    std::optional<Session> db;

private:
    static std::string unique() {
        static std::atomic<int> counter{0};
        return "fila_doctor_" +
               std::to_string(std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'000) +
               "_" + std::to_string(++counter);
    }

    Session admin_;
    std::string name_ = unique();
    std::vector<std::string> roles_;
};

std::optional<Finding> find(std::vector<Finding> const& all, std::string_view what) {
    auto const at = std::find_if(all.begin(), all.end(),
                                 [&](Finding const& f) { return f.what.find(what) != std::string::npos; });
    return at == all.end() ? std::nullopt : std::optional{*at};
}
std::string text(std::vector<Finding> const& all) {
    std::string out;
    for (auto const& f : all) out += f.what + "\n    " + f.mend + '\n';
    return out;
}
/// Found; mended by its own words; gone.
template <class Store>
void cured(Clinic& clinic, Store& store, std::string_view what, DoctorLimits const& limits = {}) {
    auto const before = store.doctor(limits);
    INFO(what << " in\n" << text(before));
    auto const finding = find(before, what);
    REQUIRE(finding);
    CHECK_FALSE(finding->fatal);
    clinic.mend(*finding);
    CHECK(eventually([&] { return !find(store.doctor(limits), what); }));
}

auto const mapping = tasks("public.tasks");
TaskStore healthy(Clinic& clinic) { return TaskStore{clinic.config(), mapping, fila::OnStart::migrate}; }
std::vector<Task> some(int n) { return std::vector<Task>(static_cast<std::size_t>(n), Task{0, "x"}); }

}  // namespace

TEST_CASE("doctor: a healthy queue has no findings, and a server without autovacuum is one") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(100));
    auto const taken = claim(store, 10);
    REQUIRE(taken.size() == 10);
    auto const found = store.doctor();
    auto const off = find(found, "autovacuum is off");
    INFO(text(found));
    REQUIRE(off);
    CHECK(found.size() == 1);
    struct Reset {
        Clinic& clinic;
        ~Reset() { clinic.exec("ALTER SYSTEM RESET autovacuum"), clinic.exec("SELECT pg_reload_conf()"); }
    } const reset{clinic};
    clinic.mend(*off);
    CHECK(eventually([&] { return store.doctor().empty(); }));
    auto pooled = clinic.config();
    pooled.session = pg::Session::pooled;
    TaskStore behind{pooled, mapping};
    CHECK(behind.doctor().empty());
}

TEST_CASE("doctor: claim and rescue that no index serves") {
    Clinic clinic;
    auto store = healthy(clinic);
    for (auto const* name : {"tasks_fila_next", "tasks_fila_stale"})
        clinic.exec(std::string{"DROP INDEX "} + name);
    CHECK(find(store.doctor(), "no index serves the rescue"));
    cured(clinic, store, "no index serves the claim");
    cured(clinic, store, "no index serves the rescue");
}

TEST_CASE("doctor: rows are looked for only where an index leads to them") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(3));
    clinic.exec("UPDATE tasks SET status = 'processing', until = now() - interval '1 day'");
    CHECK(find(store.doctor(), "3 rows of"));
    clinic.exec("DROP INDEX tasks_fila_stale");
    CHECK_FALSE(find(store.doctor(), "3 rows of"));
}

TEST_CASE("doctor: leases that are over, and nobody rescues") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(5));
    clinic.exec("UPDATE tasks SET status = 'processing', until = now() - id * interval '1 hour'");
    auto const found = find(store.doctor(), "the lease is over");
    REQUIRE(found);
    CHECK(found->what.find("5 rows of \"public\".\"tasks\" are processing") == 0);
    CHECK(found->what.find("5 h at the longest") != std::string::npos);
    CHECK(found->what.find("has the key 5") != std::string::npos);
    CHECK_FALSE(find(store.doctor({.unrescued = 6h}), "the lease is over"));
    CHECK(find(store.doctor({.unrescued = 270min}), "1 rows of"));
    cured(clinic, store, "the lease is over");
    CHECK(clinic.db->value<int>("SELECT sum(crashes) FROM tasks") == 5);
    CHECK(claim(store, 10).size() == 5);

    clinic.exec("UPDATE tasks SET until = '-infinity'");
    CHECK(find(store.doctor(), "the lease is over"));
    CHECK(store.rescue({}).rows() == 5);
    CHECK_FALSE(find(store.doctor(), "the lease is over"));
}

TEST_CASE("doctor: no more than a thousand rows are counted") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(1500));
    clinic.exec("UPDATE tasks SET status = 'processing', until = now() - interval '1 day'");
    CHECK(find(store.doctor(), "1000 or more rows of"));
}

TEST_CASE("doctor: rows that are processing without a lease, or with one that never ends") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(2));
    clinic.exec(
        "UPDATE tasks SET status = 'processing', until = CASE id WHEN 1 THEN 'infinity'::timestamptz END");
    cured(clinic, store, "processing without a \"until\"");
    cured(clinic, store, "a lease that ends in more than 365 d");
    CHECK(store.rescue({}).rows() == 1);
}

TEST_CASE("doctor: rescue by age counts from the lease of the latest claim") {
    Clinic clinic;
    auto const aged = fila::table<Task>("aged")
                          .key("id", &Task::id)
                          .column("what", &Task::what)
                          .status("status")
                          .updated_at("changed");
    pg::PostgresStore store{clinic.config(), aged, fila::OnStart::migrate};
    store.enqueue(some(2));
    CHECK(claim(store, 2, {}, 30min).size() == 2);
    clinic.exec("UPDATE aged SET changed = now() - interval '34 minutes' WHERE id = 1");
    CHECK_FALSE(find(store.doctor(), "the lease is over"));
    clinic.exec("UPDATE aged SET changed = now() - interval '36 minutes' WHERE id = 1");
    CHECK(find(store.doctor(), "1 rows of"));
    cured(clinic, store, "the lease is over");
    CHECK(clinic.db->value<int>("SELECT count(*) FROM aged WHERE status = 'pending'") == 1);
}

TEST_CASE("doctor: rows that are due in years, or never") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(4));
    clinic.exec(
        "UPDATE tasks SET due_at = CASE id WHEN 1 THEN 'infinity' WHEN 2 THEN now() + interval '2 years' "
        "WHEN 3 THEN now() + interval '1 month' ELSE due_at END");
    auto const found = find(store.doctor(), "due in more than 365 d");
    REQUIRE(found);
    CHECK(found->what.find("2 rows") == 0);
    CHECK(find(store.doctor({.ahead = 24h}), "3 rows"));
    cured(clinic, store, "due in more than 365 d");
    CHECK(claim(store, 10).size() == 3);

    clinic.exec(
        "ALTER TABLE tasks ALTER due_at DROP NOT NULL; UPDATE tasks SET status = 'pending', due_at = NULL");
    TaskStore trusting{clinic.config(), mapping, fila::OnStart::nothing};
    CHECK(claim(trusting, 10).size() == 0);
    CHECK(find(trusting.doctor(), "4 rows"));
    cured(clinic, trusting, "pending with a NULL \"due_at\"");
    CHECK(claim(trusting, 10).size() == 4);
}

TEST_CASE("doctor: due times are looked at behind each priority, and NULL as the mapping takes it") {
    Clinic clinic;
    auto const urgent = fila::table<Task>("urgent")
                            .key("id", &Task::id)
                            .status("status")
                            .fixed("queue", "q")
                            .due_at("due", fila::Nulls::due_now)
                            .priority("priority", fila::Order::highest_first, fila::Nulls::as_zero);
    pg::PostgresStore store{clinic.config(), urgent, fila::OnStart::migrate};
    clinic.exec("ALTER TABLE urgent ALTER priority DROP NOT NULL");
    clinic.exec(
        "INSERT INTO urgent(id, status, queue, due, priority) SELECT i, 'pending', "
        "CASE WHEN i = 40 THEN 'other' ELSE 'q' END, CASE WHEN i % 10 = 0 THEN 'infinity'::timestamptz END, "
        "CASE WHEN i > 20 THEN i END FROM generate_series(1, 60) i");
    auto const found = find(store.doctor(), "due in more than");
    REQUIRE(found);
    CHECK(found->what.find("3 rows") == 0);  // of 60, 50 and 30: the others lie behind 32 priorities
    clinic.mend(*found);
    CHECK_FALSE(find(store.doctor(), "due in more than"));
    CHECK(clinic.db->value<int>("SELECT count(*) FROM urgent WHERE due = 'infinity'") == 1);
}

TEST_CASE("doctor: words that the mapping does not have") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(5));
    clinic.exec("ALTER TABLE tasks ALTER status DROP NOT NULL");
    clinic.exec(
        "UPDATE tasks SET status = CASE id WHEN 1 THEN 'Completed ' WHEN 2 THEN 'draft' WHEN 3 THEN NULL "
        "ELSE "
        "status END");
    auto const found = store.doctor();
    INFO(text(found));
    CHECK(find(found, "have the status NULL, which"));
    auto const draft = find(found, "have the status 'draft', which");
    REQUIRE(draft);
    CHECK(draft->mend.find("SELECT * FROM \"public\".\"tasks\" WHERE \"status\" = 'draft'") == 0);
    CHECK_FALSE(find(store.doctor({.known_words = {"draft"}}), "'draft'"));
    cured(clinic, store, "have the status 'Completed ', which");
    clinic.exec("UPDATE tasks SET status = 'discarded' WHERE status = 'draft' OR status IS NULL");
    clinic.exec("ANALYZE tasks");
    CHECK_FALSE(find(store.doctor(), "which is none of"));
}

TEST_CASE("doctor: words in the middle of a large table are known from the statistics") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(5000));
    clinic.exec("UPDATE tasks SET status = 'PENDING' WHERE id BETWEEN 2000 AND 3000");
    CHECK_FALSE(find(store.doctor(), "'PENDING'"));
    clinic.exec("ANALYZE tasks");
    cured(clinic, store, "by the statistics, rows of \"public\".\"tasks\" have the status 'PENDING'");
    CHECK(claim(store, 10'000).size() == 5000);
}

TEST_CASE("doctor: without a lease in the mapping, rows that are processing stay so") {
    Clinic clinic;
    auto const plain = fila::table<Task>("plain").key("id", &Task::id).status("status");
    pg::PostgresStore store{clinic.config(), plain, fila::OnStart::migrate};
    store.enqueue(some(2));
    clinic.exec("UPDATE plain SET status = 'processing' WHERE id = 1");
    CHECK(find(store.doctor(),
               "1 of 2 rows of \"public\".\"plain\" that were looked at have the status 'processing'"));
}

TEST_CASE("doctor: vacuum that comes too late for a queue") {
    Clinic clinic;
    clinic.exec(
        "CREATE TABLE tasks(id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, what text, status text "
        "NOT "
        "NULL, until timestamptz, fence bigint, failures int, crashes int, due_at timestamptz NOT NULL, "
        "error text)");
    auto store = healthy(clinic);
    store.enqueue(some(1000));
    clinic.exec("ANALYZE tasks");
    DoctorLimits const limits{.dead_rows = 200, .dead_share = 0.2};
    CHECK_FALSE(find(store.doctor(), "autovacuum comes to"));
    CHECK(find(store.doctor(limits), "at 250 dead rows"));
    cured(clinic, store, "autovacuum comes to public.tasks", limits);
    clinic.exec("ALTER TABLE tasks SET (autovacuum_enabled = off)");
    cured(clinic, store, "autovacuum is off for public.tasks");

    clinic.exec("UPDATE tasks SET what = 'y' WHERE id <= 300");
    clinic.exec("DELETE FROM tasks WHERE id > 300");
    // The counters of a session are sent between its statements, once a second.
    auto const told = [&] {
        clinic.exec("SELECT 1");
        return find(store.doctor(limits), "dead rows, and").has_value();
    };
    CHECK(eventually(told));
    CHECK_FALSE(find(store.doctor({.dead_rows = 200, .dead_share = 0.9}), "dead rows, and"));
    cured(clinic, store, "dead rows, and", limits);
}

TEST_CASE("doctor: the partitions of a table are looked at one by one") {
    Clinic clinic;
    clinic.exec(
        "CREATE TABLE tasks(id bigint PRIMARY KEY, what text, status text NOT NULL, until timestamptz, fence "
        "bigint, failures int, crashes int, due_at timestamptz NOT NULL, error text) PARTITION BY RANGE "
        "(id)");
    clinic.exec("CREATE TABLE \"low Ids\" PARTITION OF tasks FOR VALUES FROM (0) TO (100)");
    clinic.exec(
        "CREATE TABLE high PARTITION OF tasks FOR VALUES FROM (100) TO (200) WITH (autovacuum_enabled = "
        "false)");
    TaskStore store{clinic.config(), mapping, fila::OnStart::migrate};
    CHECK_FALSE(find(store.doctor({.dead_rows = 60}), "autovacuum comes to"));
    cured(clinic, store, "autovacuum comes to public.\"low Ids\"", {.dead_rows = 40});
    cured(clinic, store, "autovacuum is off for public.high");
}

TEST_CASE("doctor: a session that keeps a transaction open holds back vacuum") {
    Clinic clinic;
    auto store = healthy(clinic);
    DoctorLimits const limits{.snapshot = fila::Duration::zero()};
    CHECK_FALSE(find(store.doctor(limits), "has had a transaction open"));
    Session idle{clinic.conninfo_of({})};
    idle.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class");
    auto const found = find(store.doctor(limits), "has had a transaction open");
    REQUIRE(found);
    CHECK(found->what.find("session " + std::to_string(idle.pid()) +
                           " of postgres, application fila_doctor, idle in transaction") == 0);
    CHECK_FALSE(find(store.doctor(), "has had a transaction open"));
    cured(clinic, store, "has had a transaction open", limits);
    CHECK_THROWS_AS(idle.exec("SELECT 1"), pqxx::broken_connection);
}

TEST_CASE("doctor: a prepared transaction that nobody ends") {
    Clinic clinic;
    auto store = healthy(clinic);
    DoctorLimits const limits{.snapshot = fila::Duration::zero()};
    clinic.exec("BEGIN");
    clinic.exec("SELECT txid_current()");
    clinic.exec("PREPARE TRANSACTION 'it''s ours'");
    CHECK_FALSE(find(store.doctor(), "was prepared"));
    cured(clinic, store, "the transaction 'it''s ours' of postgres was prepared", limits);

    clinic.exec("BEGIN");
    clinic.exec("LOCK TABLE tasks IN EXCLUSIVE MODE");
    clinic.exec("PREPARE TRANSACTION 'locks'");
    CHECK(find(store.doctor(), "a prepared transaction holds ExclusiveLock"));
    clinic.exec("COMMIT PREPARED 'locks'");
    CHECK_FALSE(find(store.doctor(), "ExclusiveLock"));
}

namespace {

/// What a standby does of its own accord: it streams, and says which snapshot it needs.
class Standby {
public:
    Standby(Clinic& clinic, std::string const& slot)
        : connection_{PQconnectdb((conninfo() + " replication=true").c_str())} {
        auto const lsn = clinic.db->value("SELECT pg_current_wal_flush_lsn()");
        PQclear(PQexec(connection_, ("START_REPLICATION " + slot + " PHYSICAL " + lsn).c_str()));
        auto const xid = clinic.db->value<std::uint64_t>("SELECT txid_current()");
        std::string message{"h"};
        append(message, 0, 8);                  // when
        append(message, xid & 0xffffffffU, 4);  // the oldest transaction it needs
        append(message, xid >> 32U, 4);
        append(message, 0, 4);
        append(message, 0, 4);
        sent_ = PQputCopyData(connection_, message.data(), static_cast<int>(message.size())) == 1 &&
                PQflush(connection_) == 0;
    }
    Standby(Standby const&) = delete;
    Standby& operator=(Standby const&) = delete;
    ~Standby() { PQfinish(connection_); }
    bool sent() const { return sent_; }

private:
    static void append(std::string& to, std::uint64_t value, int bytes) {
        for (int i = bytes; i-- > 0;) to += static_cast<char>(value >> (8 * i) & 0xffU);
    }
    PGconn* connection_;
    bool sent_ = false;
};

}  // namespace

TEST_CASE("doctor: a replication slot, or a standby, that holds back vacuum") {
    Clinic clinic;
    auto store = healthy(clinic);
    DoctorLimits const limits{.transactions = 0};
    auto const slot = "fila_doctor_" + std::to_string(clinic.db->pid());
    clinic.exec("SELECT pg_create_physical_replication_slot('" + slot + "')");
    CHECK_FALSE(find(store.doctor(limits), slot));
    {
        Standby const standby{clinic, "SLOT " + slot};
        REQUIRE(standby.sent());
        CHECK(eventually(
            [&] { return find(store.doctor(limits), "'" + slot + "' holds back vacuum").has_value(); }));
        CHECK_FALSE(find(store.doctor(), slot));
    }
    CHECK(eventually([&] { return find(store.doctor(limits), "which nobody uses").has_value(); }));
    cured(clinic, store, slot, limits);
    {
        Standby const standby{clinic, ""};
        REQUIRE(standby.sent());
        CHECK(eventually([&] { return find(store.doctor(limits), "a standby (pid").has_value(); }));
    }
    CHECK(eventually([&] { return !find(store.doctor(limits), "a standby (pid"); }));
}

TEST_CASE("doctor: locks that claims queue up behind") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(3));
    Session other{clinic.conninfo_of({})};
    other.exec("BEGIN; LOCK TABLE tasks IN SHARE MODE");
    cured(clinic, store, "holds ShareLock on \"public\".\"tasks\"");

    // Nothing is asked of a table that claims wait for: else this would take lock_timeout, several times.
    Session altering{clinic.conninfo_of({})};
    for (auto const* mode : {"SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"}) {
        altering.exec("BEGIN; LOCK TABLE tasks IN " + std::string{mode} + " MODE");
        auto const begun = std::chrono::steady_clock::now();
        auto const found = store.doctor();
        CHECK(std::chrono::steady_clock::now() - begun < 9s);  // lock_timeout is 10 s
        CHECK(find(found, "session " + std::to_string(altering.pid())));
        altering.exec("COMMIT");
    }
    CHECK_FALSE(find(store.doctor(), "Lock"));
}

TEST_CASE("doctor: an index that was not built to its end") {
    Clinic clinic;
    auto store = healthy(clinic);
    store.enqueue(some(2));
    CHECK_THROWS(clinic.exec("CREATE UNIQUE INDEX CONCURRENTLY \"what For\" ON tasks(what)"));
    cured(clinic, store, "the index public.\"what For\" is invalid");
}

TEST_CASE("doctor: the server's clock, as the store asks it, differs from this host's") {
    Clinic clinic;
    { (void)healthy(clinic); }
    auto const wrong = [&](std::string const& by) {
        clinic.exec(
            "CREATE OR REPLACE FUNCTION odd.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
            "$$SELECT pg_catalog.clock_timestamp() + interval '" +
            by + "'$$");
    };
    clinic.exec("CREATE SCHEMA odd");
    wrong("1 hour");
    auto config = clinic.config();
    config.conninfo += " options='-c search_path=odd,pg_catalog'";
    TaskStore store{config, mapping};
    CHECK(find(store.doctor(), "is 59 min ahead of this host's"));
    wrong("-3 days");
    CHECK(find(store.doctor(), "behind this host's"));
    CHECK_FALSE(find(store.doctor({.clock_difference = 24h * 4}), "this host's"));
    wrong("0");
    CHECK_FALSE(find(store.doctor(), "this host's"));
}

TEST_CASE("doctor: sessions that are read-only") {
    Clinic clinic;
    { (void)healthy(clinic); }
    auto const role = clinic.role();
    clinic.exec("GRANT SELECT, INSERT, UPDATE ON tasks TO " + role);
    clinic.exec("ALTER ROLE " + role + " SET default_transaction_read_only = on");
    {
        TaskStore store{clinic.config(role), mapping};
        auto const found = find(store.doctor(), "are read-only");
        REQUIRE(found);
        clinic.mend(*found);
    }
    TaskStore again{clinic.config(role), mapping};
    CHECK_FALSE(find(again.doctor(), "are read-only"));
}

TEST_CASE("doctor: privileges are told by column, and a sequence by name") {
    Clinic clinic;
    clinic.exec("CREATE SEQUENCE numbers");
    clinic.exec(
        "CREATE TABLE tasks(id bigint PRIMARY KEY DEFAULT nextval('numbers'), what text, status text NOT "
        "NULL, "
        "until timestamptz, fence bigint, failures int, crashes int, due_at timestamptz NOT NULL, error "
        "text, "
        "secret text)");
    { (void)healthy(clinic); }
    auto const role = clinic.role();
    auto const all = std::string{"id, what, status, until, fence, failures, crashes, due_at, error"};
    clinic.exec("GRANT SELECT (" + all + ") ON tasks TO " + role);
    clinic.exec("GRANT UPDATE (status, until, fence, failures, due_at) ON tasks TO " + role);
    clinic.exec("GRANT INSERT (status, what, fence, failures, crashes) ON tasks TO " + role);
    auto const refused = error_of([&] { TaskStore s{clinic.config(role), mapping}; });
    REQUIRE(refused);
    CHECK(std::string{refused->what()}.find("no privilege to UPDATE (\"crashes\", \"error\")") ==
          std::string::npos);
    CHECK(std::string{refused->what()}.find(
              "GRANT UPDATE (\"error\", \"crashes\") ON \"public\".\"tasks\" TO " + role) !=
          std::string::npos);
    TaskStore trusting{clinic.config(role), mapping, fila::OnStart::nothing};
    auto const fatal = find(trusting.doctor(), "no privilege to UPDATE");
    REQUIRE(fatal);
    CHECK(fatal->fatal);
    clinic.mend(*fatal);

    TaskStore store{clinic.config(role), mapping};
    CHECK(find(store.doctor(), "no privilege to INSERT (\"due_at\")"));
    CHECK_FALSE(find(store.doctor(), "the server refuses to run"));
    cured(clinic, store, "no privilege to INSERT");
    auto const denied = error_of([&] { store.enqueue(some(1)); });
    REQUIRE(denied);
    cured(clinic, store, "no privilege to USAGE on sequence public.numbers");
    CHECK(store.enqueue(some(2)) == 2);
    CHECK(work_off(store, 1) == 2);

    // A word that is erased needs DELETE; no other mapping does.
    CHECK_FALSE(find(store.doctor(), "DELETE"));
    auto const erasing =
        fila::table<Task>("tasks").key("id", &Task::id).status("status", {.completed = fila::erased});
    pg::PostgresStore eraser{clinic.config(role), erasing, fila::OnStart::nothing};
    auto const undeletable = find(eraser.doctor(), "no privilege to DELETE");
    REQUIRE(undeletable);
    CHECK(undeletable->fatal);
    clinic.mend(*undeletable);
    CHECK_FALSE(find(eraser.doctor(), "DELETE"));
}

TEST_CASE("doctor: what a statement needs besides the table") {
    Clinic clinic;
    clinic.exec("CREATE FUNCTION ours() RETURNS bool LANGUAGE plpgsql STABLE AS 'BEGIN RETURN true; END'");
    clinic.exec("REVOKE EXECUTE ON FUNCTION ours() FROM PUBLIC");
    { (void)healthy(clinic); }
    auto const role = clinic.role();
    clinic.exec("GRANT SELECT, INSERT, UPDATE ON tasks TO " + role);
    pg::PostgresStore store{clinic.config(role), mapping.where("ours()")};
    auto const all = store.doctor();
    INFO(text(all));
    auto const found = find(all, "the server refuses to run claim, take, counts on");
    REQUIRE(found);
    CHECK(found->what.find("permission denied for function ours") != std::string::npos);
    clinic.exec("GRANT EXECUTE ON FUNCTION ours() TO " + role);
    CHECK_FALSE(find(store.doctor(), "refuses"));
    clinic.exec("DROP FUNCTION ours()");
    CHECK(find(store.doctor(), "function ours() does not exist"));
}

TEST_CASE("doctor: a role of few rights learns what it may not see, and no probe throws") {
    Clinic clinic;
    { (void)healthy(clinic); }
    auto const role = clinic.role();
    clinic.exec("GRANT SELECT, INSERT, UPDATE ON tasks TO " + role);
    TaskStore store{clinic.config(role), mapping};
    cured(clinic, store, "may not read other roles' sessions");
    Session idle{clinic.conninfo_of({})};
    idle.exec("BEGIN; SELECT txid_current()");
    CHECK(find(store.doctor({.snapshot = fila::Duration::zero()}), "has had a transaction open"));

    for (auto const* view : {"pg_locks", "pg_prepared_xacts", "pg_replication_slots", "pg_stat_replication",
                             "pg_stat_activity", "pg_stats", "pg_index"})
        clinic.exec(std::string{"REVOKE SELECT ON pg_catalog."} + view + " FROM PUBLIC");
    clinic.exec("GRANT SELECT ON pg_index TO " + role);
    auto const found = store.doctor();
    INFO(text(found));
    for (auto const* at : {"the locks on", "prepared transactions", "replication slots", "standbys",
                           "the transactions of", "the statistics of the status column"})
        CHECK(find(found, std::string{"doctor could not look at "} + at));
    for (auto const* view : {"pg_locks", "pg_prepared_xacts", "pg_replication_slots", "pg_stat_replication",
                             "pg_stat_activity", "pg_stats"})
        clinic.exec(std::string{"GRANT SELECT ON pg_catalog."} + view + " TO " + role);
    CHECK_FALSE(find(store.doctor(), "could not look"));
}

TEST_CASE("doctor: a mapping that does not fit is told as verify tells it, without what follows from it") {
    Clinic clinic;
    auto store = healthy(clinic);
    clinic.exec("ALTER TABLE tasks DROP COLUMN until");
    auto const found = store.doctor();
    INFO(text(found));
    CHECK(find(found, "has no column \"until\""));
    CHECK(found.size() == 2);  // and autovacuum, which these servers have off
    clinic.exec("DROP TABLE tasks");
    CHECK(find(store.doctor(), "no table \"public\".\"tasks\""));
    CHECK(store.doctor().size() == 2);
}

TEST_CASE("doctor: a lost connection is an error that can be tried again") {
    Clinic clinic;
    auto store = healthy(clinic);
    (void)store.doctor();
    clinic.exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid "
        "<> "
        "pg_backend_pid()");
    auto const error = error_of([&] { (void)store.doctor(); });
    REQUIRE(error);
    CHECK(error->retryable());
    CHECK(eventually([&] { return !error_of([&] { (void)store.doctor(); }); }));
}

TEST_CASE("doctor: how long it takes on a million rows", "[.measure]") {
    Clinic clinic;
    auto store = healthy(clinic);
    clinic.exec(
        "INSERT INTO tasks(what, status, until, fence, failures, crashes) SELECT 'x', (ARRAY['pending', "
        "'completed', "
        "'completed', 'processing', 'dead'])[i % 5 + 1], CASE WHEN i % 5 = 3 THEN now() - interval '1 day' "
        "END, 0, 0, 0 "
        "FROM generate_series(1, 1000000) i");
    for (auto const* state : {"without statistics", "analyzed"}) {
        for (int i = 0; i < 3; ++i) {
            auto const begun = std::chrono::steady_clock::now();
            auto const found = store.doctor();
            auto const took = std::chrono::steady_clock::now() - begun;
            std::cout << state << ": doctor() took "
                      << std::chrono::duration<double, std::milli>{took}.count() << " ms, " << found.size()
                      << " findings\n";
            if (i == 2) std::cout << text(found);
        }
        clinic.exec("VACUUM ANALYZE tasks");
    }
}
