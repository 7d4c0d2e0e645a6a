// SPDX-License-Identifier: MIT
// PostgreSQL:  bench_postgres do=WHAT conninfo=… [table=jobs|payments] …
//
//   do=fill rows=N bytes=N      makes the table anew and puts rows into it
//   do=sql                      prints the statements that the store sends, one JSON object
//   do=drain strategy=leased|in-transaction batch=N slots=N connections=N
//                               drains it with a handler that does nothing
//   do=enqueue rows=N bytes=N callers=N   enqueues by the library, from so many threads
//   do=work batch=N slots=N     one of a group (bench_group.hpp) that works until it is told to end
//   do=produce lot=N bytes=N    one that enqueues, so many a call
//
// do=fill autovacuum=on leaves the table to autovacuum.
// jobs is the ready-made job table; payments is a table with a status column as somebody has one, whose rows stay.
#include "bench/bench_group.hpp"
#include "bench/bench_options.hpp"
#include <fila/executor/inline_executor.hpp>
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/counting_observer.hpp>
#include <fila/postgres/postgres_store.hpp>
#include <fila/processor/processor.hpp>
#include <fila/table/job_table.hpp>

#include <ranges>

#include <iostream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace fila_bench;

namespace {

constexpr auto jobs = fila::job_table<std::string>("jobs");

struct Payment {
    std::int64_t id = 0;
    std::string payee;
};
constexpr auto payments = fila::table<Payment>("payments")
                              .key("id", &Payment::id)
                              .column("payee", &Payment::payee)
                              .status("status")
                              .lease_until("lease_until")
                              .fence("fence")
                              .failures("failures")
                              .crashes("crashes")
                              .due_at("due_at")
                              .last_error("last_error");

std::string payload(std::size_t bytes) {
    std::string text = R"({"to": "user@example.com", "subject": "welcome"})";
    text.resize(std::max(bytes, text.size()), ' ');
    return text;
}

template <class T>
void fill(T const& table, Options const& o, std::string const& conninfo) {
    auto const name = o.text("table", "jobs");
    auto const column = name == "jobs" ? "payload" : "payee";
    pqxx::connection c{conninfo};
    std::vector<std::string> tables{name};
    if (name == "jobs") tables.insert(tables.end(), {"jobs_ready", "jobs_leases"});
    for (auto const& t : tables) pqxx::nontransaction{c}.exec("DROP TABLE IF EXISTS " + t);
    fila::postgres::PostgresStore store{{.conninfo = conninfo}, table, fila::OnStart::migrate};
    pqxx::nontransaction tx{c};
    // Autovacuum would come when it likes; measured runs begin on a table that has just been vacuumed.
    if (o.text("autovacuum", "off") == "off")
        for (auto const& t : tables) tx.exec("ALTER TABLE " + t + " SET (autovacuum_enabled = off)");
    tx.exec("INSERT INTO " + name + " (" + column + ") SELECT '" + payload(count(o, "bytes", 120)) +
            "' FROM generate_series(1, " + o.text("rows", "100000") + ")");
    for (auto const& t : tables) tx.exec("VACUUM (ANALYZE) " + t);
    tx.exec("CHECKPOINT");
}

void print_json(std::string const& text) {
    std::cout << '"';
    for (char const c : text) {
        if (c == '"' || c == '\\') std::cout << '\\';
        c == '\n' ? std::cout << "\\n" : std::cout << c;
    }
    std::cout << '"';
}
template <class T>
void print_sql(T const& table) {
    char const* separator = "{";
    fila::render(table, fila::postgres_dialect()).each([&](char const* name, fila::Statement const& s) {
        std::cout << separator;
        print_json(name);
        std::cout << ": [";
        print_json(s.text);
        for (auto const& p : s.parameters) std::cout << ", ", print_json(p);
        std::cout << "]";
        separator = ", ";
    });
    std::cout << "}\n";
}

template <class Store, class Executor>
void drain(Store& store, Executor&& executor, Options const& o) {
    auto const handle = [](auto&) {};
    fila::Pace const pace{.batch = count(o, "batch", 0)};
    fila::Report report;
    auto const start = Steady::now();
    if (o.text("strategy", "leased") == "leased") {
        fila::Processor p{store, executor, handle, fila::Leased{}, pace};
        report = p.drain();
    } else {
        fila::Processor p{store, executor, handle, fila::InTransaction{}, pace};
        report = p.drain();
    }
    print_rate(report.completed, seconds_since(start));
}

template <class Store>
void work_in_group(Store& store, Options const& o) {
    fila::CountingObserver const count;
    fila::ThreadPool pool{fila_bench::count(o, "slots", 2)};
    fila::Processor p{store, pool, [](auto&) {}, count,
                      fila::Pace{.batch = fila_bench::count(o, "batch", 0)}};
    wait_for_go();
    std::jthread const until_told{[&p] {
        std::cin.ignore(std::numeric_limits<std::streamsize>::max());
        p.stop();
    }};
    Progress const progress{[&count] { return count.totals().settled.completed; }};
    p.run();
}
template <class Store>
void produce_in_group(Store& store, Options const& o) {
    auto const lot = count(o, "lot", 1000);
    auto const text = payload(count(o, "bytes", 120));
    auto rows = std::views::iota(std::size_t{0}, lot) |
                std::views::transform([&](std::size_t) { return typename Store::row_type{0, text}; });
    produce_in_lots(lot, [&] { store.enqueue(rows); });
}

template <class T>
void work(T const& table, Options const& o) {
    auto const what = o.text("do"), conninfo = o.text("conninfo", "");
    if (what == "sql") return print_sql(table);
    if (what == "fill") return fill(table, o, conninfo);
    auto const callers = count(o, "callers", 1);
    fila::postgres::PostgresStore store{
        {.conninfo = conninfo, .connections = count(o, "connections", static_cast<long>(callers))},
        table,
        fila::OnStart::nothing};
    if (what == "drain") {
        auto const slots = count(o, "slots", 0);
        if (slots == 0) return drain(store, fila::InlineExecutor{}, o);
        return drain(store, fila::ThreadPool{slots}, o);
    }
    if (what == "work") return work_in_group(store, o);
    if (what == "produce") return produce_in_group(store, o);
    if (what == "enqueue") {
        using Row = typename T::row_type;
        auto const each = count(o, "rows", 100'000) / callers;
        auto const text = payload(count(o, "bytes", 120));
        auto rows = std::views::iota(std::size_t{0}, each) |
                    std::views::transform([&](std::size_t) { return Row{0, text}; });
        auto const start = Steady::now();
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 0; i < callers; ++i) threads.emplace_back([&] { store.enqueue(rows); });
        }
        return print_rate(each * callers, seconds_since(start));
    }
    throw std::invalid_argument{"do=" + what};
}

}  // namespace

int main(int argc, char** argv) {
    return run(argc, argv, [](Options const& o) {
        if (o.text("table", "jobs") == "jobs")
            work(jobs, o);
        else
            work(payments, o);
    });
}
