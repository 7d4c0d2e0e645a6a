// SPDX-License-Identifier: MIT
// PostgreSQL: what happens on the way to it.
#include "chaos/ordeal.hpp"
#include "chaos/postgres_bed.hpp"
#include "support/tcp_proxy.hpp"

using namespace fila_chaos;
using fila_test::TcpProxy;

namespace {

/// The test's own sessions and the log of runs go to the server directly.
struct ProxiedBed : PostgresBed {
    TcpProxy proxy{value("SHOW unix_socket_directories") + "/.s.PGSQL." + value("SHOW port")};
    ProxiedBed() { through(fila_test::conninfo() + " " + proxy.address()); }

private:
    std::string value(std::string const& sql) { return query(sql)[0][0]; }
};

void cut(Strategy strategy) {
    ProxiedBed bed;
    Ordeal ordeal{"network cut", bed, strategy};
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(20, 200));
        bed.proxy.cut(ordeal.fleet().dice()() % 2 == 0);
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// Two workers behind a network that stands still for longer than a lease, and one that has another way.
void stall(Strategy strategy) {
    ProxiedBed bed;
    Ordeal ordeal{"network stalled for longer than the lease",
                  bed,
                  strategy,
                  {.rows = 60, .options = {"work=20-1500"}}};
    ordeal.fleet().start_with({"where=" + fila_test::conninfo()});
    ordeal.ready();
    while (ordeal.goes_on()) {
        bed.proxy.stall();
        pause(lease * 2);
        bed.proxy.pass();
        pause(300ms);
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    if (strategy == Strategy::leased) {
        CHECK(ordeal.totals()["lost"] > 0);
        CHECK(v.extra_runs > ordeal.totals()["retried"]);
        CHECK(v.told > 0);  // while their own store had no answer for them
    }
}

/// One side hears the end, the other one does not; after a while both do.
void half_close(Strategy strategy) {
    ProxiedBed bed;
    Ordeal ordeal{"network half closed", bed, strategy};
    bool client = false;
    while (ordeal.goes_on()) {
        pause(ordeal.fleet().some_ms(50, 200));
        bed.proxy.half_close((client = !client) ? TcpProxy::Side::client : TcpProxy::Side::server);
        pause(ordeal.fleet().some_ms(50, 300));
        bed.proxy.cut(false);
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// What stands in `text` is lost on its way, or done and not answered, in turns.
void lose(Strategy strategy, std::string const& fault, std::string const& text) {
    ProxiedBed bed;
    Ordeal ordeal{fault, bed, strategy};
    bool reply = false;
    while (ordeal.goes_on()) {
        bed.proxy.arm((reply = !reply) ? TcpProxy::Loss::reply : TcpProxy::Loss::request, text);
        pause(ordeal.fleet().some_ms(10, 100));
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(bed.proxy.losses() > 10);
    CHECK(ordeal.totals()["errors"] > 0);
}

/// Workers that give a call up before the network comes back: they end by themselves, whoever told them to.
void end_in_silence(Strategy strategy) {
    ProxiedBed bed;
    Ordeal ordeal{
        "SIGTERM, and the network stalls until all have ended",
        bed,
        strategy,
        {.options = {"statement_timeout=300", "network_timeout=300", "soft_stop=0", "hard_stop=500"}}};
    while (ordeal.goes_on()) {
        bed.proxy.stall();
        pause(ordeal.fleet().some_ms(0, 700));
        ordeal.fleet().signal_all(SIGTERM);
        ordeal.fleet().farewell();
        bed.proxy.pass();
        for (int i = 0; i < 2; ++i) ordeal.fleet().start();
        ordeal.ready();
    }
    ordeal.ceased();
    ordeal.finish();
    CHECK(ordeal.totals()["errors"] > 0);
}

/// A call of the store has no answer yet: who is told to end then ends when it has one.
void end_in_stall(Strategy strategy) {
    ProxiedBed bed;
    Ordeal ordeal{"SIGTERM while the network is stalled", bed, strategy};
    while (ordeal.goes_on()) {
        bed.proxy.stall();
        pause(ordeal.fleet().some_ms(0, 1500));
        ordeal.fleet().signal_all(SIGTERM);
        pause(ordeal.fleet().some_ms(0, 300));
        bed.proxy.pass();
        ordeal.fleet().farewell();
        for (int i = 0; i < 2; ++i) ordeal.fleet().start();
        ordeal.ready();
    }
    ordeal.ceased();
    auto const v = ordeal.finish();
    CHECK(ordeal.totals()["unsettled"] == 0);
    if (strategy == Strategy::in_transaction) CHECK(v.extra_runs == ordeal.totals()["retried"]);
}

}  // namespace

TEST_CASE("case 28, 118: every connection is cut, again and again, leased") { cut(Strategy::leased); }
TEST_CASE("case 86, 118: every connection is cut, again and again, in transactions") {
    cut(Strategy::in_transaction);
}
TEST_CASE("case 66: the network stalls for longer than a lease, leased") { stall(Strategy::leased); }
TEST_CASE("case 66: the network stalls for longer than a lease, in transactions") {
    stall(Strategy::in_transaction);
}
TEST_CASE("case 66: workers are told to end while the network stalls, leased") {
    end_in_stall(Strategy::leased);
}
TEST_CASE("case 66: workers are told to end while the network stalls, in transactions") {
    end_in_stall(Strategy::in_transaction);
}
TEST_CASE("case 66: workers are told to end and the network does not come back, leased") {
    end_in_silence(Strategy::leased);
}
TEST_CASE("case 66: workers are told to end and the network does not come back, in transactions") {
    end_in_silence(Strategy::in_transaction);
}
TEST_CASE("case 66: connections are half closed, leased") { half_close(Strategy::leased); }
TEST_CASE("case 66: connections are half closed, in transactions") { half_close(Strategy::in_transaction); }
TEST_CASE("case 29: statements are lost on their way, or done and not answered, leased") {
    lose(Strategy::leased, "statement lost, or its answer", "");
}
TEST_CASE("case 29: COMMIT is lost on its way, or done and not answered, in transactions") {
    lose(Strategy::in_transaction, "COMMIT lost, or its answer", "COMMIT");
}
