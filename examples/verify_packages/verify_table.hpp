// SPDX-License-Identifier: MIT
// The program's work, on any store of packages: enqueue what is new, check what is open, say what came out.
#pragma once

#include "dpkg_root.hpp"
#include "options.hpp"
#include "package_check.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include <fila/executor.hpp>
#include <fila/processor.hpp>
#include <fila/retry.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>

/// The databases are compiled apart: each instantiates the engine twice, once for each claim strategy.
void verify_in_sqlite(Options const& options, dpkg::DpkgRoot const& root, std::stop_token const& stop);
void verify_in_postgres(Options const& options, dpkg::DpkgRoot const& root, std::stop_token const& stop);

template <class Packages>
void verify_table(Options const& options, dpkg::DpkgRoot const& root, std::stop_token const& stop) {
    using namespace std::chrono_literals;
    auto const packages =
        given("cannot use the database: ", [&] { return std::make_unique<Packages>(options); });
    RunLog const log{options.run_log};
    packages->enqueue_new(packages_of(root));

    auto& store = packages->store();
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
        return processor.drain(stop, {.until = fila::DrainUntil::nothing_open});
    };
    auto const start = std::chrono::steady_clock::now();
    // Whoever kills this program means no harm to the packages in hand: the cap on crashes is far away.
    auto const report =
        options.in_transaction
            ? drain(std::min(options.workers, store.max_transactions()), fila::InTransaction{})
            : drain(options.workers, fila::Leased{.lease = options.lease, .max_crashes = 100});
    progress.flush();
    line.end();
    print_summary(packages->counts_by_status(), report, std::chrono::steady_clock::now() - start);
}
