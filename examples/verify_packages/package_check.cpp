// SPDX-License-Identifier: MIT
// The handler's work.
#include "package_check.hpp"

#include "verify.hpp"

#include <algorithm>
#include <cstdio>

std::vector<Package> packages_of(dpkg::DpkgRoot const& root) {
    std::vector<Package> rows;
    for (auto const& p : root.installed())
        rows.push_back({.name = p.name, .version = p.version, .architecture = p.architecture});
    return rows;
}

fila::Outcome check(Package& package, dpkg::DpkgRoot const& root, RunLog const& log,
                    std::function<bool()> const& stopping) {
    auto const* installed = root.find(package.name, package.version, package.architecture);
    if (installed == nullptr) return fila::discard("no longer installed");
    RunLog::Entry const entry{log, installed->info_stem};
    auto const found = dpkg::verify(root, *installed, stopping);
    if (found.interrupted) return fila::snooze(std::chrono::seconds{0});
    if (!found.has_sums) return fila::dead_letter("the package came without checksums");
    package.differences = found.differences();
    if (!found.missing.empty()) return fila::complete("missing");
    if (!found.modified.empty()) return fila::complete("modified");
    if (!found.unreadable.empty()) return fila::dead_letter("cannot read " + found.unreadable.front());
    return fila::complete();
}

void print_summary(std::map<std::string, std::size_t> counts, fila::Report const& report,
                   std::chrono::duration<double> elapsed) {
    for (auto const* verdict : {"ok", "modified", "missing", "unknown"}) counts.try_emplace(verdict, 0);
    for (auto const& [status, count] : counts) std::printf("%-10s %zu\n", status.c_str(), count);
    auto const checked = report.completed + report.dead_lettered + report.discarded;
    std::printf("checked %zu packages in %.1f s, %.0f packages/s\n", checked, elapsed.count(),
                static_cast<double>(checked) / std::max(elapsed.count(), 1e-3));
    if (auto const open = counts["pending"] + counts["processing"]; open != 0)
        std::printf("stopped; %zu packages are left for the next start\n", open);
}
