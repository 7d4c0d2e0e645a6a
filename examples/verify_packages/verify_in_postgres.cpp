// SPDX-License-Identifier: MIT
// The program's work in a PostgreSQL database.
#include "postgres_packages.hpp"
#include "verify_table.hpp"

void verify_in_postgres(Options const& options, dpkg::DpkgRoot const& root, std::stop_token const& stop) {
    verify_table<PostgresPackages>(options, root, stop);
}
