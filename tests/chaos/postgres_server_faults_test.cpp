// SPDX-License-Identifier: MIT
// PostgreSQL: what happens to the server, its sessions and its settings.
#include "chaos/ordeal.hpp"
#include "chaos/postgres_bed.hpp"

using namespace fila_chaos;

namespace {

void crash_server(Strategy strategy, Layout layout = Layout::one_table) {
    BreakableServer server;
    PostgresBed bed{server.conninfo(), RunsIn::file, layout};
    Ordeal ordeal{"server stop -m immediate, restart", bed, strategy};
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(200, 600));
        server.crash();
        pause(ordeal.fleet().some_ms(0, 400));
        server.boot();
    }
    ordeal.ceased();
    ordeal.finish(layout == Layout::split);
    CHECK(ordeal.totals()["errors"] > 0);
    if (layout == Layout::split) CHECK(bed.number("SELECT count(*) FROM {s}jobs_ready") == 0);
}

void terminate_backends(Strategy strategy, Layout layout = Layout::one_table) {
    PostgresBed bed{fila_test::conninfo(), RunsIn::table, layout};
    Ordeal ordeal{"pg_terminate_backend in a stream", bed, strategy, {.processes = 3}};
    int killed = 0;
    while (ordeal.goes_on()) {
        killed += static_cast<int>(
            bed.number("SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE "
                       "application_name = '" +
                       bed.schema() + "' ORDER BY random() LIMIT 1) AS victim"));
        pause(ordeal.fleet().some_ms(5, 50));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(killed > 10);
    CHECK(ordeal.totals()["errors"] > 0);
}

/// Takes every slot that the workers lose.
void exhaust_slots(Strategy strategy) {
    BreakableServer server{"-c max_connections=20"};
    PostgresBed bed{server.conninfo(), RunsIn::file};
    bed.role({});
    Ordeal ordeal{"connection slots exhausted", bed, strategy};
    int refused = 0;
    while (ordeal.goes_on()) {
        std::vector<std::unique_ptr<fila_test::Session>> hogs;
        bed.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" +
                  bed.schema() + "'");
        try {
            for (int i = 0; i < 20; ++i)
                hogs.push_back(
                    std::make_unique<fila_test::Session>(server.conninfo() + " user=" + bed.role_name()));
        } catch (pqxx::broken_connection const&) {
            ++refused;
        }
        pause(ordeal.fleet().some_ms(300, 700));
        hogs.clear();
        pause(ordeal.fleet().some_ms(300, 700));
    }
    CHECK(refused > 0);
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// Handlers think for longer than the role's transactions may idle and its statements may last.
void role_timeouts(Strategy strategy) {
    PostgresBed bed;
    bed.role({"SET statement_timeout = '60ms'", "SET lock_timeout = '30ms'",
              "SET idle_in_transaction_session_timeout = '60ms'"});
    Ordeal ordeal{"role's statement, lock and idle time-outs",
                  bed,
                  strategy,
                  {.rows = 100, .options = {"work=70-150"}}};
    while (ordeal.goes_on()) pause(50ms);
    ordeal.ceased();
    auto const v = ordeal.finish();
    CHECK(v.extra_runs == ordeal.totals()["retried"]);
}

void serializable_role(Strategy strategy) {
    PostgresBed bed;
    bed.role({"SET default_transaction_isolation = 'serializable'"});
    Ordeal ordeal{"serializable by default", bed, strategy, {.processes = 3}};
    while (ordeal.goes_on()) pause(20ms);
    ordeal.ceased();
    auto const v = ordeal.finish();
    CHECK(v.extra_runs == ordeal.totals()["retried"]);
    CHECK(ordeal.totals()["errors"] == 0);
}

/// A standby after a failover: sessions come back read-only for a while.
void read_only(Strategy strategy) {
    PostgresBed bed;
    bed.role({});
    Ordeal ordeal{"server read-only and back", bed, strategy};
    auto const turn = [&](char const* value) {
        bed.query("ALTER ROLE " + bed.role_name() + " SET default_transaction_read_only = " + value);
        bed.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" +
                  bed.schema() + "'");
    };
    while (ordeal.goes_on()) {
        turn("on");
        pause(ordeal.fleet().some_ms(200, 700));
        turn("off");
        pause(ordeal.fleet().some_ms(200, 500));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

}  // namespace

TEST_CASE("case 76, 78: the server crashes and starts again, several times, leased") {
    crash_server(Strategy::leased);
}
TEST_CASE("case 76, 78: the server of a split table crashes and starts again, several times, leased") {
    crash_server(Strategy::leased, Layout::split);
}
TEST_CASE("case 76, 78: the server crashes and starts again, several times, in transactions") {
    crash_server(Strategy::in_transaction);
}
TEST_CASE("case 28, 79: backends are terminated in a stream, leased") {
    terminate_backends(Strategy::leased);
}
TEST_CASE("case 28, 79: backends of a split table's workers are terminated in a stream, leased") {
    terminate_backends(Strategy::leased, Layout::split);
}
TEST_CASE("case 86, 87: backends are terminated in a stream, in transactions") {
    terminate_backends(Strategy::in_transaction);
}
TEST_CASE("case 84: others take every connection slot of the server, leased") {
    exhaust_slots(Strategy::leased);
}
TEST_CASE("case 84: others take every connection slot of the server, in transactions") {
    exhaust_slots(Strategy::in_transaction);
}
TEST_CASE("case 83: the role's time-outs are shorter than the handlers, leased") {
    role_timeouts(Strategy::leased);
}
TEST_CASE("case 61: the role's time-outs are shorter than the handlers, in transactions") {
    role_timeouts(Strategy::in_transaction);
}
TEST_CASE("case 7: the role's transactions are serializable by default, leased") {
    serializable_role(Strategy::leased);
}
TEST_CASE("case 7: the role's transactions are serializable by default, in transactions") {
    serializable_role(Strategy::in_transaction);
}
TEST_CASE("the server goes read-only and comes back, leased") { read_only(Strategy::leased); }
TEST_CASE("the server goes read-only and comes back, in transactions") {
    read_only(Strategy::in_transaction);
}
