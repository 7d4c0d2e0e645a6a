// SPDX-License-Identifier: MIT
// A store of one's own, in use: deposits ("account cents") are booked in the database that the queue is in.
//
//   07_lmdb_store                      a directory of its own, and a hundred deposits
//   07_lmdb_store DIRECTORY            goes on with the deposits of this one, beside others who do the same
//   07_lmdb_store DIRECTORY leased     does not book them, but prints them: once each, while nobody dies
#include "lmdb_store.hpp"
#include <fila/executor/thread_pool.hpp>
#include <fila/processor/processor.hpp>

#include <iostream>

using namespace std::chrono_literals;

namespace {

constexpr fila::DrainOptions everything{.until = fila::DrainUntil::nothing_open};

fila::Report book(LmdbStore store) {
    auto const deposit = [](std::string const& row, auto& context) {
        auto const space = row.find(' ');
        auto const account = row.substr(0, space);
        auto const balance = context.transaction().get(account).value_or("0");
        context.transaction().put(account, std::to_string(std::stol(balance) + std::stol(row.substr(space))));
    };
    fila::Processor bank{std::move(store), fila::ThreadPool{2}, deposit, fila::InTransaction{}};
    return bank.drain(everything);
}
fila::Report print(LmdbStore store) {
    auto const show = [](std::string const& row) { std::cout << row + '\n' << std::flush; };
    fila::Processor printer{std::move(store), fila::ThreadPool{2}, show, fila::Leased{.lease = 1s}};
    return printer.drain(everything);
}

int demonstrate(std::filesystem::path const& directory) {
    std::filesystem::remove_all(directory);
    auto const env = lmdb::open(directory);
    LmdbStore deposits{env};
    std::vector<std::string> rows;
    for (int n = 0; n < 100; ++n) rows.push_back("account" + std::to_string(n % 20) + " 7");
    deposits.enqueue(rows);

    auto const report = book(deposits);

    int right = 0;
    lmdb::Txn const txn{*env, MDB_RDONLY};
    for (int n = 0; n < 20; ++n) right += txn.get(env->data, "account" + std::to_string(n)) == "35" ? 1 : 0;
    std::cout << report.completed << " deposits booked, " << right << " of 20 balances right\n";
    return report.completed == 100 && right == 20 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc == 1) return demonstrate("deposits.lmdb");
    LmdbStore const store{lmdb::open(argv[1])};
    bool const leased = argc > 2 && std::string{argv[2]} == "leased";
    auto const report = leased ? print(store) : book(store);
    return report.lost + report.in_doubt == 0 ? 0 : 1;
} catch (fila::Error const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
