// SPDX-License-Identifier: MIT
// PostgresPackages: the table of packages in a PostgreSQL database, with the little SQL that is this
// program's own.
#pragma once

#include "options.hpp"
#include "package_table.hpp"
#include <fila/postgres/postgres_store.hpp>

#include <pqxx/pqxx>

#include <map>
#include <set>
#include <string>
#include <vector>

class PostgresPackages {
public:
    /// Makes the table if there is none. Throws if the database cannot be reached.
    explicit PostgresPackages(Options const& options)
        : connection_{with_table(options.database)},
          store_{fila::postgres::Config{.conninfo = options.database,
                                        .connections = options.in_transaction ? options.workers : 1},
                 package_mapping} {}

    [[nodiscard]] auto& store() { return store_; }

    /// Puts in the packages that are not in the table yet. One transaction: of two programs that start at
    /// once, the second finds the rows of the first, and a killed one leaves none or all.
    std::size_t enqueue_new(std::vector<Package> const& packages) {
        pqxx::work transaction{connection_};
        transaction.exec("LOCK TABLE packages IN SHARE ROW EXCLUSIVE MODE");
        std::set<std::string> known;
        for (auto const& row :
             transaction.exec("SELECT package || ' ' || version || ' ' || architecture FROM packages"))
            known.insert(row[0].c_str());
        std::vector<Package> fresh;
        for (auto const& p : packages)
            if (!known.contains(p.name + ' ' + p.version + ' ' + p.architecture)) fresh.push_back(p);
        store_.enqueue(transaction, fresh);
        transaction.commit();
        return fresh.size();
    }

    [[nodiscard]] std::map<std::string, std::size_t> counts_by_status() {
        pqxx::work transaction{connection_};
        std::map<std::string, std::size_t> counts;
        for (auto const& row : transaction.exec("SELECT status, count(*) FROM packages GROUP BY status"))
            counts[row[0].c_str()] = row[1].as<std::size_t>();
        return counts;
    }

private:
    /// IF NOT EXISTS alone does not make two CREATE TABLEs at once safe; the lock does.
    static std::string const& with_table(std::string const& conninfo) {
        pqxx::connection connection{conninfo};
        pqxx::work transaction{connection};
        transaction.exec("SET LOCAL client_min_messages = warning");
        transaction.exec("SELECT pg_advisory_xact_lock(hashtext('verify_packages'))");
        transaction.exec(postgres_schema);
        transaction.commit();
        return conninfo;
    }

    pqxx::connection connection_;
    fila::postgres::PostgresStore<std::remove_const_t<decltype(package_mapping)>> store_;
};
