// SPDX-License-Identifier: MIT
// What this program does to a row, whatever store it comes from: the handler's work, and the words around it.
#pragma once

#include "dpkg_root.hpp"
#include "package_table.hpp"
#include "run_log.hpp"
#include <fila/processor/report.hpp>
#include <fila/types/outcome.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// A row for each installed package.
[[nodiscard]] std::vector<Package> packages_of(dpkg::DpkgRoot const& root);

/// One package in, one verdict out. `stopping` is asked between two files; then the package is given back.
fila::Outcome check(Package& package, dpkg::DpkgRoot const& root, RunLog const& log,
                    std::function<bool()> const& stopping);

/// One line a status, then what this process did, and how fast.
void print_summary(std::map<std::string, std::size_t> counts, fila::Report const& report,
                   std::chrono::duration<double> elapsed);
