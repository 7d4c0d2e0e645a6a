// SPDX-License-Identifier: MIT
// The program's work in an SQLite file.
#include "sqlite_packages.hpp"
#include "verify_table.hpp"

void verify_in_sqlite(Options const& options, dpkg::DpkgRoot const& root, std::stop_token const& stop) {
    verify_table<SqlitePackages>(options, root, stop);
}
