// SPDX-License-Identifier: MIT
// A daemon over the table of a test, to be killed, stopped and cut off:  chaos_worker NAME=VALUE…
//
//   store=postgres|sqlite  where=CONNINFO|FILE  table=NAME   the queue
//   layout=one|split                                           of the table in PostgreSQL
//   strategy=leased|in-transaction  lease=MS  workers=N       how it is drained
//   work=MS-MS  fail=N                                         how long handlers take; one in N fails at first
//   runs=FILE | runs_conninfo=CONNINFO runs_table=NAME         the log of runs
//   effects=TABLE       in transaction: written by the handler through the lent transaction
//   busy_timeout=MS (sqlite)  statement_timeout=MS lock_timeout=MS network_timeout=MS (postgres)
//   ready=DIRECTORY     where a file named after the process says that it has opened the store
//   hard_stop=MS        after SIGTERM, when to leave the handlers behind
//
// Runs until SIGTERM. Prints what it did as NAME=VALUE…, and its log to the standard error.
#include "chaos/attempt_log.hpp"
#include "chaos/chaos_jobs.hpp"
#include "support/options.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/log_observer.hpp>
#include <fila/postgres/postgres_store.hpp>
#include <fila/processor/processor.hpp>
#include <fila/processor/stop_on_signal.hpp>
#include <fila/sqlite/sqlite_store.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef __SANITIZE_ADDRESS__
/// libpqxx 6 forgets the last answer of a connection that breaks: two kilobytes each time.
extern "C" char const* __lsan_default_suppressions();
extern "C" char const* __lsan_default_suppressions() { return "leak:libpqxx-6"; }
#endif

namespace {

using namespace std::chrono_literals;
using fila_chaos::AttemptLog;
using fila_chaos::ChaosJob;
using fila_test::Options;

void write_effect(pqxx::transaction_base& transaction, std::string const& table, std::int64_t key,
                  std::int64_t run) {
    transaction.exec("INSERT INTO " + table + " VALUES (" + std::to_string(key) + ", " + std::to_string(run) +
                     ")");
}
void write_effect(sqlite3* db, std::string const& table, std::int64_t key, std::int64_t run) {
    auto const sql =
        "INSERT INTO " + table + " VALUES (" + std::to_string(key) + ", " + std::to_string(run) + ")";
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error{sqlite3_errmsg(db)};
}

/// The work: takes its time and looks up now and then. Told that the row is somebody else's it says so in the
/// log, and yet answers "complete": it is the store that must refuse.
class Work {
public:
    Work(Options const& options, AttemptLog& log) : log_{log}, effects_{options.text("effects", "")} {
        auto const range = options.text("work", "5-20");
        least_ = std::stol(range), most_ = std::stol(range.substr(range.find('-') + 1));
        fail_ = options.number("fail", 0);
    }

    template <class Context>
    void operator()(ChaosJob& job, Context& context) const {
        job.run = log_.begin(job.id, context.attempt());
        if constexpr (requires { write_effect(context.transaction(), effects_, 0, 0); })
            write_effect(context.transaction(), effects_, job.id, job.run);
        thread_local std::minstd_rand dice{std::random_device{}()};
        auto const work = std::uniform_int_distribution{least_, most_}(dice);
        auto const told = [&] { return context.stop_reason() == fila::StopReason::lease_lost; };
        // The sleep is the work: a piece of 2 ms after the other, since a stopped process does nothing meanwhile.
        for (long done = 0; done < work && !told(); done += 2) std::this_thread::sleep_for(2ms);
        log_.end(job.run, told());
        if (fail_ > 0 && job.id % fail_ == 0 && context.attempt() == 1)
            throw std::runtime_error{"fails at first"};
    }

private:
    AttemptLog& log_;
    std::string effects_;
    long least_ = 0, most_ = 0, fail_ = 0;
};

int serve(Options const& options, auto& store, AttemptLog& log, std::stop_token const& stop) {
    std::ofstream{options.text("ready") + '/' + std::to_string(::getpid())} << "ready\n";
    auto const run = [&](auto strategy) {
        auto const workers = static_cast<std::size_t>(options.number("workers", 4));
        fila::Processor processor{
            store,
            fila::ThreadPool{workers},
            Work{options, log},
            strategy,
            fila::ExponentialBackoff{.base = 50ms, .cap = 1s, .max_attempts = 1000},
            fila::Pace{.interval = 200ms,
                       .soft_stop_timeout = options.time("soft_stop", 10'000),
                       .hard_stop_timeout = options.has("hard_stop")
                                                ? fila::Duration{options.time("hard_stop", 0)}
                                                : fila::forever,
                       .max_backoff = 1s},
            fila::LogObserver{[](fila::LogLevel level, std::string_view line) {
                                  std::clog << to_string(level) << ' ' << line << '\n';
                              },
                              {.level = fila::LogLevel::warning}}};
        return processor.run(stop);
    };
    // A kill is the test's doing and not the row's: no cap.
    auto const report =
        options.text("strategy") == "leased"
            ? run(fila::Leased{.lease = options.time("lease", 1000), .max_crashes = 1'000'000})
            : run(fila::InTransaction{});
    std::cout << "completed=" << report.completed << " retried=" << report.retried << " lost=" << report.lost
              << " in_doubt=" << report.in_doubt << " unsettled=" << report.unsettled
              << " released=" << report.released << " rescued=" << report.rescued
              << " errors=" << report.errors << std::endl;
    // Handlers still run that use static objects: of libpqxx, of the standard library.
    if (report.abandoned > 0) std::quick_exit(0);
    return 0;
}

int serve(Options const& options, std::stop_token const& stop) {
    std::unique_ptr<AttemptLog> log;
    if (options.has("runs"))
        log = std::make_unique<fila_chaos::AttemptFile>(options.text("runs"));
    else
        log = std::make_unique<fila_chaos::AttemptTable>(options.text("runs_conninfo"),
                                                         options.text("runs_table"));
    auto const table = fila_chaos::chaos_jobs(std::string_view{options.text("table")});
    if (options.text("store") == "sqlite") {
        fila::sqlite::SqliteStore store{
            fila::sqlite::Config{.file = options.text("where"),
                                 .busy_timeout = options.time("busy_timeout", 5000),
                                 .create = false},
            table};
        return serve(options, store, *log, stop);
    }
    fila::postgres::Config const config{.conninfo = options.text("where"),
                                        .connections = static_cast<std::size_t>(options.number("workers", 4)),
                                        .statement_timeout = options.time("statement_timeout", 30'000),
                                        .lock_timeout = options.time("lock_timeout", 10'000),
                                        .network_timeout = options.time("network_timeout", 5'000)};
    if (options.text("layout", "one") == "split") {
        fila::postgres::PostgresStore store{
            config, fila_chaos::split_chaos_jobs(std::string_view{options.text("table")})};
        return serve(options, store, *log, stop);
    }
    fila::postgres::PostgresStore store{config, table};
    return serve(options, store, *log, stop);
}

}  // namespace

int main(int argc, char** argv) {
    fila::StopOnSignal stop{SIGTERM};
    try {
        return serve(Options{argc, argv}, stop.token());
    } catch (std::exception const& e) {
        std::cerr << "chaos_worker: " << e.what() << '\n';
        return 1;
    }
}
