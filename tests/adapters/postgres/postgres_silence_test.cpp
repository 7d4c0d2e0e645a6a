// SPDX-License-Identifier: MIT
// A server that neither answers nor hangs up: no call waits for it longer than it was told to.
#include "adapters/postgres/tasks_table.hpp"
#include "support/catch.hpp"
#include "support/gate.hpp"
#include "support/running.hpp"
#include "support/tcp_proxy.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

using namespace std::chrono_literals;
using namespace fila_test;
namespace pg = fila::postgres;

namespace {

struct Network {
    Session direct;
    TcpProxy proxy{direct.value("SHOW unix_socket_directories") + "/.s.PGSQL." + direct.value("SHOW port")};

    [[nodiscard]] pg::Config config(std::string const& conninfo, std::chrono::milliseconds limit = 300ms) {
        return {.conninfo = conninfo + " connect_timeout=2 " + proxy.address(),
                .statement_timeout = limit,
                .network_timeout = limit};
    }
};

template <class F>
fila::Error error_of(F f) {
    try {
        f();
    } catch (fila::Error const& e) {
        return e;
    }
    FAIL("nothing was thrown");
    return fila::Error{"", {}};
}
auto claim(TaskStore& store, std::size_t rows) {
    fila::Batch<Task, std::int64_t> batch;
    store.claim({rows, {}, 1min}, batch);
    return batch;
}

}  // namespace

TEST_CASE("case 66: an answer that does not come costs the call its connection, and the next call works") {
    Sandbox box;
    create_tasks(box, 3);
    Network network;
    TaskStore store{network.config(box.store_conninfo()), tasks(box.name("tasks"))};
    auto const batch = claim(store, 1);
    REQUIRE(batch.size() == 1);

    network.proxy.stall();
    auto const error = error_of([&] { claim(store, 1); });
    INFO(error.what());
    CHECK(error.retryable());
    CHECK(error.maybe_applied());  // an UPDATE of its own: perhaps the server has done it
    CHECK(std::string_view{error.what()}.find("no answer in 600 ms") != std::string_view::npos);
    CHECK(std::string_view{error.what()}.find("network_timeout") != std::string_view::npos);

    fila::Settlement<Task, std::int64_t> const done{batch.tickets()[0], fila::complete(), nullptr};
    fila::Ack ack = fila::Ack::lost;
    CHECK(error_of([&] { store.settle({&done, 1}, {&ack, 1}); }).maybe_applied());

    network.proxy.pass();
    CHECK(claim(store, 3).size() >= 1);
    // What was sent before the stall arrives after it: settled already, or now.
    store.settle({&done, 1}, {&ack, 1});
    CHECK(box.get("SELECT status FROM {s}.tasks WHERE id = " + std::to_string(batch.tickets()[0].key)) ==
          "completed");
}

TEST_CASE("case 66: a stop ends a run although the server does not answer") {
    Sandbox box;
    create_tasks(box, 200);
    Network network;
    TaskStore store{network.config(box.store_conninfo()), tasks(box.name("tasks"))};
    fila_tests::Gate gate;
    fila::Processor processor{store, fila::ThreadPool{2}, [&](Task const&) { gate.pass(); },
                              fila::Leased{.lease = 1s},
                              fila::Pace{.soft_stop_timeout = 0s, .hard_stop_timeout = 1s}};
    fila_tests::Running running{processor};
    fila_tests::OpenAtEnd const open{gate};
    REQUIRE(eventually([&] { return gate.inside() == 2; }));
    network.proxy.stall();
    running.request_stop();
    gate.open();
    CHECK(eventually([&] { return running.over(); }));
    network.proxy.pass();
    CHECK(fila_tests::adds_up(running.wait()));
}

TEST_CASE("case 66: COMMIT without an answer is in doubt") {
    Network network;
    pg::Connection c{network.config(conninfo())};
    c.begin();
    c.run({"SELECT 1", {}}, {}, [](auto const&) {});
    network.proxy.stall();
    auto const error = error_of([&] { c.commit(); });
    CHECK(error.maybe_applied());
    CHECK(c.lost());
    network.proxy.pass();
}

TEST_CASE("what takes long is not silence: DDL has no limit, and a statement has its own before ours") {
    Network network;
    pg::Connection c{network.config(conninfo(), 100ms)};
    c.script("SELECT pg_sleep(0.5)");
    CHECK_FALSE(c.lost());
    auto const error = error_of([&] { c.run({"SELECT pg_sleep(10)", {}}, {}, [](auto const&) {}); });
    CHECK(error.code() == "57014");
    CHECK_FALSE(c.lost());
}

TEST_CASE("a connection outlives the watch of the one before it, and a limit of none watches nothing") {
    Network network;
    for (int i = 0; i < 20; ++i)
        pg::Connection{network.config(conninfo())}.run({"SELECT 1", {}}, {}, [](auto const&) {});
    auto unwatched = network.config(conninfo());
    unwatched.network_timeout = 0ms;
    CHECK(unwatched.longest_call() == 0ms);
    pg::Connection c{unwatched};
    pg::Connection other{network.config(conninfo())};
    network.proxy.stall();
    error_of([&] { other.run({"SELECT 1", {}}, {}, [](auto const&) {}); });
    network.proxy.pass();
    c.run({"SELECT 1", {}}, {}, [](auto const&) {});
    CHECK_FALSE(c.lost());
}
