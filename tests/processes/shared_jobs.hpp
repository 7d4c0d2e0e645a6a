// SPDX-License-Identifier: MIT
// The table that several processes drain together.
#pragma once

#include <fila/postgres/postgres_store.hpp>
#include <fila/sqlite/sqlite_store.hpp>
#include <fila/table/job_table.hpp>

#include <string>

namespace fila_test {

using Job = fila::Job<std::string>;

inline auto sqlite_jobs(std::string const& file) {
    return fila::sqlite::SqliteStore{fila::sqlite::Config{.file = file},
                                     fila::job_table<std::string>("shared_jobs"), fila::OnStart::migrate};
}
inline auto postgres_jobs(std::string const& conninfo) {
    return fila::postgres::PostgresStore{fila::postgres::Config{.conninfo = conninfo},
                                         fila::job_table<std::string>("fila_processes.shared_jobs"),
                                         fila::OnStart::migrate};
}

}  // namespace fila_test
