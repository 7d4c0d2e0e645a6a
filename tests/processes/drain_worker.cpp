// SPDX-License-Identifier: MIT
// One process of several that drain the same table:
//
//   drain_worker sqlite FILE | postgres CONNINFO  RUN_LOG WORKERS
//
// Each run of a row is one line of the run log, appended by one write, so that processes do not mix their lines.
#include "processes/shared_jobs.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>

namespace {

int drain(auto store, char const* run_log, std::size_t workers) {
    int const log = ::open(run_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (log < 0) return 3;
    fila::Processor processor{
        store, fila::ThreadPool{workers}, [log](fila_test::Job const& job) {
            auto const line = std::to_string(job.id) + ' ' + std::to_string(::getpid()) + '\n';
            if (::write(log, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(4);
        }};
    auto const report = processor.drain({.until = fila::DrainUntil::nothing_open});
    ::close(log);
    std::cout << report.completed << '\n';
    return report.errors + report.lost + report.in_doubt == 0 ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    std::string const kind = argv[1];
    auto const workers = static_cast<std::size_t>(std::stoul(argv[4]));
    try {
        if (kind == "sqlite") return drain(fila_test::sqlite_jobs(argv[2]), argv[3], workers);
        if (kind == "postgres") return drain(fila_test::postgres_jobs(argv[2]), argv[3], workers);
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return 2;
}
