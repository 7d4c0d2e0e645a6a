// SPDX-License-Identifier: MIT
// A daemon: looks for mails every second, sends four at a time, and ends in order on SIGTERM.
#include <fila/executor/thread_pool.hpp>
#include <fila/observer/log_observer.hpp>
#include <fila/processor/processor.hpp>
#include <fila/processor/stop_on_signal.hpp>
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <unistd.h>

using namespace std::chrono_literals;

int main() {
    fila::StopOnSignal stop{SIGINT, SIGTERM};  // first: threads made later leave these signals to it
    std::remove("mails.db");
    fila::sqlite::SqliteStore store{fila::sqlite::Config{"mails.db"}, fila::job_table<std::string>("mails"),
                                    fila::OnStart::migrate};
    store.enqueue(ranges::views::iota(1, 21) | ranges::views::transform([](int n) {
                      return fila::Job<std::string>{.payload = "mail " + std::to_string(n)};
                  }));

    std::atomic<int> sent = 0;
    auto const send = [&](fila::Job<std::string> const& mail, fila::Context& context) {
        if (mail.payload == "mail 7" && context.attempt() == 1)
            throw std::runtime_error{"greylisted, try again"};
        if (++sent == 20) kill(getpid(), SIGTERM);  // what systemctl stop does
    };
    fila::Processor daemon{store,
                           fila::ThreadPool{4},
                           send,
                           fila::Leased{.lease = 30s},
                           fila::Pace{.interval = 1s},
                           fila::ExponentialBackoff{.base = 50ms, .max_attempts = 5},
                           fila::LogObserver{[](fila::LogLevel level, std::string_view line) {
                               std::clog << to_string(level) << ' ' << line << '\n';
                           }}};
    auto const report = daemon.run(stop.token());

    std::cout << report.completed << " sent, " << report.retried << " tried again, "
              << store.counts(100).open() << " left open\n";
    return report.completed == 20 && report.retried == 1 && store.counts(100).open() == 0 ? 0 : 1;
}
