// SPDX-License-Identifier: MIT
// verify_packages: checks the files of the installed Debian packages against the checksums that came with
// them.
//
// Each package is a row of a table, and the table is the queue. Start it as often as you like on one
// database: the packages are shared. Kill it, and the next start goes on where it stood.
#include "dpkg_root.hpp"
#include "options.hpp"
#include "postgres_packages.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include "sqlite_packages.hpp"
#include "verify.hpp"
#include <fila/fila.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::vector<Package> packages_of(dpkg::DpkgRoot const& root) {
    std::vector<Package> rows;
    for (auto const& p : root.installed())
        rows.push_back({.name = p.name, .version = p.version, .architecture = p.architecture});
    return rows;
}

/// The handler's work: one package in, one verdict out.
fila::Outcome check(Package& package, dpkg::DpkgRoot const& root, RunLog const& log,
                    std::function<bool()> const& stopping) {
    auto const* installed = root.find(package.name, package.version, package.architecture);
    if (installed == nullptr) return fila::discard("no longer installed");
    RunLog::Entry const entry{log, installed->info_stem};
    auto const found = dpkg::verify(root, *installed, stopping);
    if (found.interrupted) return fila::snooze(0s);
    if (!found.has_sums) return fila::dead_letter("the package came without checksums");
    package.differences = found.differences();
    if (!found.missing.empty()) return fila::complete("missing");
    if (!found.modified.empty()) return fila::complete("modified");
    if (!found.unreadable.empty()) return fila::dead_letter("cannot read " + found.unreadable.front());
    return fila::complete();
}

void print_summary(std::map<std::string, std::size_t> counts, fila::Report const& report, double seconds) {
    for (auto const* verdict : {"ok", "modified", "missing", "unknown"}) counts.try_emplace(verdict, 0);
    for (auto const& [status, count] : counts) std::printf("%-10s %zu\n", status.c_str(), count);
    auto const checked = report.completed + report.dead_lettered + report.discarded;
    std::printf("checked %zu packages in %.1f s, %.0f packages/s\n", checked, seconds,
                static_cast<double>(checked) / std::max(seconds, 1e-3));
    if (auto const open = counts["pending"] + counts["processing"]; open != 0)
        std::printf("stopped; %zu packages are left for the next start\n", open);
}

template <class Packages>
int verify_all(Options const& options, dpkg::DpkgRoot const& root, Packages& packages) {
    fila::StopOnSignal stop{SIGINT, SIGTERM};
    RunLog const log{options.run_log};
    packages.enqueue_new(packages_of(root));

    auto& store = packages.store();
    ProgressLine const line{store.counts(1'000'000).open()};
    fila::ProgressObserver progress{line, line.interval()};
    auto const handler = [&](Package& package, auto& context) {
        return check(package, root, log, [&] { return context.stop_requested(); });
    };
    auto const drain = [&](std::size_t workers, auto claim) {
        fila::Processor processor{store,
                                  fila::ThreadPool{workers},
                                  handler,
                                  claim,
                                  fila::ExponentialBackoff{.base = 200ms, .max_attempts = 3},
                                  fila::Pace{.batch = options.batch, .soft_stop_timeout = 2s},
                                  progress};
        // Until nothing is open: what a killed process left behind is waited for and done here.
        return processor.drain(stop.token(), {.until = fila::DrainUntil::nothing_open});
    };
    auto const start = std::chrono::steady_clock::now();
    // Whoever kills this program means no harm to the packages in hand: the cap on crashes is far away.
    auto const report =
        options.in_transaction
            ? drain(std::min(options.workers, store.max_transactions()), fila::InTransaction{})
            : drain(options.workers, fila::Leased{.lease = options.lease, .max_crashes = 100});
    progress.flush();
    line.end();
    print_summary(packages.counts_by_status(), report,
                  std::chrono::duration<double>{std::chrono::steady_clock::now() - start}.count());
    return 0;
}

/// A complaint of several lines (a library's, a server's) as the one line that a terminal or a log wants.
int complain(std::string what, int exit_code) {
    while (what.ends_with('\n')) what.pop_back();
    std::ranges::replace_if(what, [](char c) { return c == '\n' || c == '\t'; }, ' ');
    std::cerr << "verify_packages: " << what << '\n';
    return exit_code;
}

template <class Packages>
int open_and_verify(Options const& options, dpkg::DpkgRoot const& root) {
    std::optional<Packages> packages;
    try {
        packages.emplace(options);
    } catch (std::exception const& e) {
        return complain(std::string{"cannot use the database: "} + e.what(), 2);
    }
    return verify_all(options, root, *packages);
}

}  // namespace

int main(int argc, char** argv) {
    int exit_code = 0;
    auto const options = parse_options(argc, argv, exit_code);
    if (!options) return exit_code;
    std::optional<dpkg::DpkgRoot> root;
    try {
        root.emplace(options->root);
    } catch (std::exception const& e) {
        return complain(e.what(), 2);
    }
    try {
        return options->postgres() ? open_and_verify<PostgresPackages>(*options, *root)
                                   : open_and_verify<SqlitePackages>(*options, *root);
    } catch (std::exception const& e) {
        return complain(e.what(), 1);
    }
}
