// SPDX-License-Identifier: MIT
// From enqueue to start, on an idle queue:  bench_notify do=WHAT conninfo=… jobs=N
//
//   do=floor     libpq: one connection inserts a row and notifies in one transaction, another that listens wakes
//   do=claim     the same, and what woke claims the row
//   do=fila      a processor runs on one store object, another store object enqueues: as from another process
//   do=local     the store object that the processor runs on enqueues
//
// The median is printed in milliseconds, as "rate".
#include "bench/bench_options.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/postgres/postgres_store.hpp>
#include <fila/processor/processor.hpp>
#include <fila/table/job_table.hpp>

#include <algorithm>
#include <chrono>
#include <libpq-fe.h>
#include <memory>
#include <poll.h>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace fila_bench;
using namespace std::chrono_literals;

namespace {

constexpr auto jobs = fila::job_table<std::string>("jobs");
constexpr auto payload = R"({"to": "user@example.com", "subject": "welcome"})";

/// Jobs one after the other, each into a queue that has been idle for a while.
template <class Enqueue>
void measure(std::size_t n, std::counting_semaphore<>& started, Steady::time_point const& started_at,
             Enqueue enqueue) {
    std::vector<double> waits;
    std::this_thread::sleep_for(500ms);
    for (std::size_t i = 0; i < n; ++i) {
        std::this_thread::sleep_for(20ms);
        auto const start = Steady::now();
        enqueue();
        started.acquire();
        waits.push_back(std::chrono::duration<double, std::milli>(started_at - start).count());
    }
    std::sort(waits.begin(), waits.end());
    std::cout << "{\"items\": " << n << ", \"rate\": " << waits[n / 2] << ", \"p99\": " << waits[n * 99 / 100]
              << "}\n";
}

// ---- libpq --------------------------------------------------------------------------------------

class Connection {
public:
    explicit Connection(std::string const& conninfo) : connection_{PQconnectdb(conninfo.c_str())} {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            throw std::runtime_error{PQerrorMessage(connection_.get())};
    }
    std::size_t execute(char const* sql) { return rows(PQexec(connection_.get(), sql)); }
    void prepare(char const* name, char const* sql) {
        rows(PQprepare(connection_.get(), name, sql, 0, nullptr));
    }
    std::size_t run(char const* name) {
        return rows(PQexecPrepared(connection_.get(), name, 0, nullptr, nullptr, nullptr, 0));
    }
    /// Waits until something was heard.
    void hear() {
        for (;;) {
            if (PQconsumeInput(connection_.get()) == 0)
                throw std::runtime_error{PQerrorMessage(connection_.get())};
            bool heard = false;
            while (auto* const notice = PQnotifies(connection_.get())) PQfreemem(notice), heard = true;
            if (heard) return;
            pollfd readable{PQsocket(connection_.get()), POLLIN, 0};
            poll(&readable, 1, -1);
        }
    }

private:
    struct Finish {
        void operator()(PGconn* c) const noexcept { PQfinish(c); }
    };
    std::size_t rows(PGresult* result) {
        auto const status = PQresultStatus(result);
        auto const n = static_cast<std::size_t>(PQntuples(result));
        PQclear(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            throw std::runtime_error{PQerrorMessage(connection_.get())};
        return n;
    }
    std::unique_ptr<PGconn, Finish> connection_;
};

void floor_of(Options const& o, bool claims) {
    auto const n = count(o, "jobs", 100);
    Connection producer{o.text("conninfo")}, consumer{o.text("conninfo")};
    producer.execute(
        "SET client_min_messages = warning; DROP TABLE IF EXISTS bench_notify; "
        "CREATE TABLE bench_notify (id bigserial PRIMARY KEY, payload text, status text); "
        "CREATE INDEX ON bench_notify (id) WHERE status = 'pending'");
    producer.prepare("insert",
                     "WITH made AS (INSERT INTO bench_notify (payload, status) VALUES "
                     "('{\"to\": \"user@example.com\", \"subject\": \"welcome\"}', 'pending') RETURNING id) "
                     "SELECT pg_notify('bench_notify', '') FROM made");
    consumer.prepare(
        "claim",
        "UPDATE bench_notify SET status = 'processing' WHERE id = (SELECT id FROM bench_notify WHERE "
        "status = 'pending' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, payload");
    consumer.execute("LISTEN bench_notify");
    std::counting_semaphore<> started{0};
    Steady::time_point started_at;
    std::jthread const waiting{[&] {
        for (std::size_t i = 0; i < n; ++i) {
            consumer.hear();
            if (claims && consumer.run("claim") != 1) std::terminate();
            started_at = Steady::now();
            started.release();
        }
    }};
    measure(n, started, started_at, [&] { producer.run("insert"); });
}

// ---- the library --------------------------------------------------------------------------------

void fila_of(Options const& o, bool local) {
    auto const open = [&](fila::OnStart on_start) {
        return fila::postgres::PostgresStore{
            {.conninfo = o.text("conninfo"), .notify = fila::postgres::Notify::after_commit}, jobs, on_start};
    };
    auto store = open(fila::OnStart::migrate), other = open(fila::OnStart::nothing);
    std::counting_semaphore<> started{0};
    Steady::time_point started_at;
    fila::Processor p{store, fila::InlineExecutor{}, [&](auto&) {
                          started_at = Steady::now();
                          started.release();
                      }};
    std::jthread const running{[&] { p.run(); }};
    auto& producer = local ? store : other;
    measure(count(o, "jobs", 100), started, started_at, [&] { producer.enqueue({{.payload = payload}}); });
    p.stop();
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        auto const what = o.text("do");
        if (what == "floor" || what == "claim") return floor_of(o, what == "claim");
        if (what == "fila" || what == "local") return fila_of(o, what == "local");
        throw std::invalid_argument{"do=" + what};
    });
}
