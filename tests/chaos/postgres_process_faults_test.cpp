// SPDX-License-Identifier: MIT
// PostgreSQL: what happens to the worker processes.
#include "chaos/ordeal.hpp"
#include "chaos/postgres_bed.hpp"

using namespace fila_chaos;

namespace {

void kill_workers(Strategy strategy, Layout layout = Layout::one_table) {
    PostgresBed bed{fila_test::conninfo(), RunsIn::table, layout};
    Ordeal ordeal{"SIGKILL of random workers", bed, strategy, {.processes = 3}};
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(50, 300));
        ordeal.fleet().kill(ordeal.fleet().any());
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    CHECK(v.extra_runs > 0);  // else nobody died with a row in hand
}

/// It wakes up while its rows run elsewhere, or after that.
void stop_and_continue(Strategy strategy, Layout layout = Layout::one_table) {
    PostgresBed bed{fila_test::conninfo(), RunsIn::table, layout};
    Ordeal ordeal{"SIGSTOP for longer than the lease, SIGCONT",
                  bed,
                  strategy,
                  {.rows = 100, .period = 4s, .options = {"work=200-400"}}};
    while (ordeal.goes_on()) {
        auto& sleeper = ordeal.fleet()[0];
        sleeper.signal(SIGSTOP);
        pause(lease + ordeal.fleet().some_ms(200, 700));
        sleeper.signal(SIGCONT);
        pause(ordeal.fleet().some_ms(100, 500));
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    if (strategy == Strategy::leased) {
        CHECK(v.extra_runs > 0);             // the rows of the sleeper ran elsewhere
        CHECK(ordeal.totals()["lost"] > 0);  // and what it said of them was refused
        CHECK(v.told > 0);
    } else {
        CHECK(v.told == 0);  // a transaction lasts as long as its connection
    }
}

/// Some handlers go on for longer than a lease after that: it is kept until they are done.
void terminate_workers(Strategy strategy) {
    PostgresBed bed;
    Ordeal ordeal{"SIGTERM and a second SIGTERM",
                  bed,
                  strategy,
                  {.rows = 40, .period = 4s, .options = {"work=5-1500"}}};
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(0, 250));
        ordeal.fleet().terminate(ordeal.fleet().any(), 1);
        ordeal.fleet().start();
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    // A stop in order costs nothing: each row ran once, and those that were to fail twice.
    CHECK(v.extra_runs == ordeal.totals()["retried"]);
}

}  // namespace

TEST_CASE("case 15: random workers are killed again and again: no row is lost or settled twice, leased") {
    kill_workers(Strategy::leased);
}
TEST_CASE("case 15: random workers of a split table are killed: no row is lost or settled twice, leased") {
    kill_workers(Strategy::leased, Layout::split);
}
TEST_CASE("random workers of a split table are killed: effects and statuses agree, in transactions") {
    kill_workers(Strategy::in_transaction, Layout::split);
}
TEST_CASE("random workers are killed again and again: effects and statuses agree, in transactions") {
    kill_workers(Strategy::in_transaction);
}
TEST_CASE("case 27: a worker stopped for longer than its lease is told and refused, leased") {
    stop_and_continue(Strategy::leased);
}
TEST_CASE(
    "case 27: a worker of a split table stopped for longer than its lease is told and refused, leased") {
    stop_and_continue(Strategy::leased, Layout::split);
}
TEST_CASE("a worker stopped for long keeps its rows while its connections live, in transactions") {
    stop_and_continue(Strategy::in_transaction);
}
TEST_CASE("case 20, 22: two SIGTERM at any time end a worker in order, and cost no row anything, leased") {
    terminate_workers(Strategy::leased);
}
TEST_CASE("case 37: two SIGTERM at any time end a worker in order, in transactions") {
    terminate_workers(Strategy::in_transaction);
}
